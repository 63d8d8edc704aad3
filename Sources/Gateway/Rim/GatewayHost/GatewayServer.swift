internal import GatewayCore
internal import GatewaySource
internal import GatewayStore
internal import Glibc
internal import KernelModel
internal import KeyMemory
internal import LinuxIO
internal import NetworkTypes
internal import SystemdIO

/// A running gateway: joins the store that it follows with the link that it keeps, and with its services. It ends without changing
/// anything: links, peers and rules stay, and everybody stays connected.
package final class GatewayServer {
  private let folder: StateFolder
  private let lock: FileDescriptor
  private let loop: EventLoop
  private let key: SecretKey
  private let followed: FollowedStore
  private let link: ServedLink
  private var notices: Notices
  private var trouble = LastingTrouble()
  private var pace: RefreshPace
  private var timer: EventSource?
  private let files: FileFollower
  /// `nil`: it has not begun to run.
  private var services: Services?

  /// The notices of a gateway that runs: for commands, and for the other gateways of the store.
  private struct Notices {
    var note: ServedNote
    var publisher = SitePublisher()
  }

  /// The services of a gateway that runs, and the signals and files that it watches.
  private struct Services {
    let logins: LoginService
    let page: PageService
    let tunnel: TunnelService
    /// `nil`: the store is a file, which no other gateway has.
    var pair: PairService?
    let sources: [EventSource]
  }

  /// The reason why a gateway cannot start.
  package struct StartFailure: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
  }

  /// `files`: those that declare the gateway, which begins with them if it is not there yet.
  package init(_ folder: StateFolder, _ files: DeclaredFiles) throws {
    self.folder = folder
    Privileges.forbidDumps()
    let isNew = try !folder.hasStoreFile && folder.storeServer() == nil
    let declared = isNew ? files.load() : LoadedGatewayFiles()
    if isNew, declared.files.isEmpty { throw GatewayError.notInitialised }
    if !declared.files.isEmpty { try folder.make() }
    guard let lock = try folder.lock(patience: .seconds(1)) else {
      throw StartFailure(description: "another gateway runs with \(folder.path)")
    }
    self.lock = lock
    notices = Notices(note: ServedNote(folder))
    if isNew { _ = try files.apply(declared) }
    let (store, server) = try folder.openStore(waiting: true)
    guard let key = try folder.privateKey() else { throw GatewayError.notInitialised }
    self.key = key
    followed = try FollowedStore(folder, store, server)
    pace = RefreshPace(followed.place)
    if followed.directory.sites.isEmpty { throw GatewayError.notInitialised }
    guard key.publicKey == followed.directory.site?.publicKey else {
      throw StartFailure(description: "\(folder.keyPath) is not the key that clients know; put the right one back")
    }
    guard Privileges.canChangeNetwork else {
      throw StartFailure(
        description: "the gateway needs CAP_NET_ADMIN; " + Container.cure("--cap-add NET_ADMIN", onMachine: "run it as root"))
    }
    if !Privileges.canChangeUser { GatewayJournal.log("\(GatewayCondition.sharedUser); `roamward-gateway doctor` has the cure") }
    loop = try EventLoop()
    link = try ServedLink(folder, on: loop, followed, key)
    self.files = FileFollower(folder, files, store, on: loop)
  }

  /// Runs until SIGTERM or SIGINT.
  package func run() throws -> Int32 {
    services = try makeServices()
    files.begin()
    followed.follow(on: loop) { [weak self] in self?.refresh() }
    refresh()
    ServiceManager.ready(status: trouble.text ?? deviceCount)
    return try loop.run()
  }

  private func makeServices() throws -> Services {
    let (followed, link) = (followed, link)
    let directory = { followed.directory }
    let changed = { [weak self] in self?.refresh() ?? () }
    let sources = try [SIGTERM, SIGINT].map { try loop.onSignal($0) { [weak self] in self?.stop() } } + [watchFolder()]
    let logins = LoginService(
      LoginService.Host(
        folder: folder, loop: loop, store: followed.store, directory: directory, isAway: { followed.isAway }, changed: changed,
        log: GatewayJournal.log))
    let page = PageService(
      PageService.Host(
        folder: folder, loop: loop, store: followed.store, directory: directory, device: { link.presentDevice },
        lastDevice: { link.lastDevice }, changed: changed, failed: { [weak logins] in logins?.countFailure(of: .page) },
        log: GatewayJournal.log))
    let tunnel = TunnelService(on: loop, key, relayPort: { [weak logins] in logins?.relayPort }, directory: directory)
    return Services(logins: logins, page: page, tunnel: tunnel, pair: try makePair(), sources: sources)
  }

  private func makePair() throws -> PairService? {
    let followed = followed
    return followed.place == .file
      ? nil
      : try PairService(
        folder, on: loop, followed.store, link.kernel, key, directory: { followed.directory }, log: GatewayJournal.log)
  }

  /// After `store move`: everything goes on with the store at its new place.
  private func followMove() {
    do {
      guard try followed.followMove() else { return }
      notices.note = ServedNote(folder)
      pace = RefreshPace(followed.place)
      followed.follow(on: loop) { [weak self] in self?.refresh() }
      services?.pair = try makePair()
      GatewayJournal.log("the store was moved; the gateway uses it at its new place")
    } catch {
      // A server that is away is in the journal already.
      if !followed.isAway { GatewayJournal.log("\(error)") }
    }
  }

  private func watchFolder() throws -> EventSource {
    try loop.onChange(in: folder.path, mask: UInt32(IN_MOVED_TO)) { [weak self] name, _ in
      if name.isEmpty || name == "changed" { self?.refresh() }
      if name.isEmpty || FileTrial.isSign(name) { self?.files.look() }
      if name == self?.folder.takeOverName { self?.services?.pair?.takeOver() }
    }
  }

  private func stop() {
    ServiceManager.stopping()
    services?.logins.keepCounts(isApplied: link.isApplied, isLast: true)
    loop.stop()
  }

  /// Reads what has changed in the store, and makes the kernel so: for a few devices by themselves, otherwise, and on time, all of it.
  /// Without the store the last state stays in force.
  private func refresh(onTime: Bool = false) {
    if services != nil { followMove() }
    guard let services else { return }
    if onTime { files.look() }
    // Before anything of it is read: what comes later is another note.
    let (settings, before) = (notices.note.present, followed.access)
    do throws(StoreError) { take(try followed.read(), services, onTime: onTime) } catch {
      let isStale = followed.isStale
      tell(isStale ? "\(error); all sessions end, as `store.stale-after` says" : "\(error); the gateway goes on with what it has read")
      converge()
    }
    services.logins.refresh()
    services.page.refresh()
    publish()
    notices.note.record(settings)
    if let next = pace.plan(isOnTime: onTime, from: before, to: followed.access, at: .now) {
      services.logins.keepCounts(isApplied: link.isApplied)
      timer = try? loop.at(next) { [weak self] in self?.refresh(onTime: true) }
    }
  }

  private func take(_ reading: FollowedStore.Reading, _ services: Services, onTime: Bool) {
    tellEnds(reading.change?.ended ?? [], services.tunnel)
    link.follow(reading)
    // A trouble may have kept the kernel from being as wanted.
    if onTime || trouble.text != nil || !(reading.change.map(link.apply) ?? false) { converge() }
    services.tunnel.record(reading.pushed)
    // The kernel has it already.
    followed.keep(reading.update)
    if onTime { services.pair?.exchange(link.lastDevice) }
  }

  /// Tells devices the end of their sessions. Their peers go once that has left.
  private func tellEnds(_ ended: [EndedLogin], _ tunnel: TunnelService) {
    let told = tunnel.connected(ended)
    if told.isEmpty { return }
    link.beginLeaving(Set(told.map(\.publicKey)))
    tunnel.end(told)
  }

  private func converge() {
    guard let tunnel = services?.tunnel else { return }
    switch link.converge(tunnel, retry: { [weak self] in self?.converge() }) {
    // The trouble of a store that is away stays.
    case .applied(let closed): if !followed.isAway { tell(closed) }
    case .trouble(let text): tell(text)
    case .nothing: break
    }
  }

  /// Tells the other gateways of the store what this one offers.
  private func publish() {
    guard !followed.isAway else { return }
    do throws(GatewayStore.Refusal) {
      if try notices.publisher.publish(folder, followed.directory, to: followed.store) {
        GatewayJournal.log("told the other gateways of logins and relay")
      }
    } catch { GatewayJournal.log("\(error)") }
  }

  private var deviceCount: String { "\(followed.directory.devices.count) devices" }

  /// Logs a trouble once, and its end.
  private func tell(_ text: String?) {
    guard trouble.isNew(text) else { return }
    GatewayJournal.log(text ?? "no trouble any more")
    ServiceManager.status(text ?? deviceCount)
  }
}
