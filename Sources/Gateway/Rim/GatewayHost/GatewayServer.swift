internal import GatewayCore
internal import GatewayStore
internal import Glibc
internal import KernelModel
internal import KernelNetwork
internal import KeyMemory
internal import LinuxIO
internal import LoginProtocol
internal import NetworkTypes
internal import SystemdIO

/// A running gateway: follows the store, and keeps the kernel as the store wants it. It ends without changing anything: links, peers and
/// rules stay, and everybody stays connected.
package final class GatewayServer {
  private let folder: StateFolder
  private let lock: FileDescriptor
  private let loop: EventLoop
  private let store: GatewayStore
  /// The way to a store that is no file here.
  private let server: StoreProcess?
  /// Of the store that it was started with.
  private let storeDigest: String
  /// The last note.
  private var served: StateFolder.Served?
  private let key: SecretKey
  private let kernel: GatewayKernel
  private let firewall: GatewayFirewall
  private let connections: Conntrack
  private var view: GatewayStore.View
  private var desired = FollowedState()
  private var sources: [EventSource] = []
  private var timer: EventSource?
  private var lastTrouble: String?
  /// The engine of the link; `nil`: the kernel was not found as wanted at the last comparison.
  private var engine: WireGuardEngine?
  private var logins: LoginService?
  private var page: PageService?
  private var sender: SettingsSender?
  private var publisher = SitePublisher()
  private var pair: PairService?
  private var pairTrouble: String?
  /// The link's device at the last comparison.
  private var device: WireGuardState?
  /// The replica with which the gateway starts while the store's server is away.
  private let replica: StoreReplica?
  /// Whether the store could not be read at the last attempt.
  private var isAway = false
  /// Whether the replica is as the view.
  private var hasKept = false
  private var port: TunnelPort?
  private var questions: QuestionDesk
  /// Devices that are told the end of their sessions.
  private var leaving = LeavingPeers()
  private var leavingTimer: EventSource?

  /// The time between two comparisons of the store and the kernel without an event: they make up for a lost one.
  private static let period = Duration.seconds(15)
  /// The same with a store on a server, where other gateways change it. With the time until a silent connection is given up, and the pause
  /// until a new one, it is below 15: what no notification tells is in force by then.
  private static let serverPeriod = Duration.seconds(5)

  /// The reason why a gateway cannot start.
  package struct StartFailure: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) { self.description = description }
  }

  package init(_ folder: StateFolder) throws {
    self.folder = folder
    Privileges.forbidDumps()
    guard let lock = try folder.lock(patience: .seconds(1)) else {
      throw StartFailure(description: "another gateway runs with \(folder.path)")
    }
    self.lock = lock
    storeDigest = folder.storeDigest
    // Of settings, none is taken yet.
    folder.note(StateFolder.Served(store: storeDigest, settings: [:]))
    (store, server) = try folder.openStore(waiting: true)
    guard let key = try folder.privateKey() else { throw GatewayError.notInitialised }
    self.key = key
    questions = QuestionDesk(key)
    replica = server == nil ? nil : folder.replica
    do throws(StoreError) {
      view = try store.load()
    } catch {
      guard let last = (try? replica?.load()) ?? nil else { throw error }
      view = last
    }
    if view.directory.sites.isEmpty { throw GatewayError.notInitialised }
    guard key.publicKey == view.directory.site?.publicKey else {
      throw StartFailure(description: "\(folder.keyPath) is not the key that clients know; put the right one back")
    }
    guard Privileges.canChangeNetwork else { throw StartFailure(description: "the gateway needs CAP_NET_ADMIN; run it as root") }
    loop = try EventLoop()
    kernel = try GatewayKernel(folder, on: loop) { log($0) }
    firewall = try GatewayFirewall(folder)
    connections = try Conntrack()
  }

  /// Runs until SIGTERM or SIGINT.
  package func run() throws -> Int32 {
    for signal in [SIGTERM, SIGINT] {
      sources.append(
        try loop.onSignal(signal) { [weak self] in
          ServiceManager.stopping()
          self?.logins?.keepCounts(isLast: true)
          self?.loop.stop()
        })
    }
    sources.append(
      try loop.onChange(in: folder.path, mask: UInt32(IN_MOVED_TO)) { [weak self] name, _ in
        if name.isEmpty || name == "changed" { self?.refresh() }
        if name == self?.folder.takeOverName { self?.pair?.takeOver() }
      })
    logins = LoginService(
      LoginService.Host(
        folder: folder, loop: loop, store: store, directory: { [weak self] in self?.view.directory ?? Directory() },
        isAway: { [weak self] in self?.isAway ?? true }, changed: { [weak self] in self?.refresh() }, log: { log($0) }))
    page = PageService(
      PageService.Host(
        folder: folder, loop: loop, store: store, directory: { [weak self] in self?.view.directory ?? Directory() },
        device: { [weak self] in self?.presentDevice }, changed: { [weak self] in self?.refresh() }, log: { log($0) }))
    let port = TunnelPort(on: loop) { [weak self] in self?.answer($0, from: $1) }
    self.port = port
    sender = SettingsSender(
      on: loop, key, by: port, relayPort: { [weak self] in self?.logins?.relayPort },
      directory: { [weak self] in self?.view.directory ?? Directory() })
    if server != nil {
      pair = try PairService(
        folder, on: loop, store, kernel, key, directory: { [weak self] in self?.view.directory ?? Directory() }, log: { log($0) })
    }
    server?.follow(on: loop) { [weak self] in self?.refresh() }
    refresh()
    ServiceManager.ready(status: lastTrouble ?? "\(view.directory.devices.count) devices")
    return try loop.run()
  }

  private func answer(_ question: [UInt8], from source: IPAddress) {
    if question.isEmpty { return sender?.greet(from: source) ?? () }
    guard let answer = questions.answer(question, from: source, view.directory) else { return }
    port?[source.family]?.send(answer, to: source, port: SettingsPush.port)
  }

  private var presentDevice: WireGuardState? {
    view.directory.site.flatMap { kernel.device($0.link.description, kernel.engine(of: $0.link.description)) }
  }

  /// Reads what has changed in the store, and makes the kernel so: for a few devices by themselves, otherwise, and on time, all of it.
  /// Without the store the last state stays in force.
  private func refresh(onTime: Bool = false) {
    // Before anything of it is read: what comes later is another note.
    let settings = folder.present(store: storeDigest)
    var change: DeviceChange?
    var pushed = ChangeReach.devices([])
    let (wasAway, lastAttempt) = (isAway, server?.nextAttempt)
    do throws(StoreError) {
      let now = Timestamp.now.seconds
      let update = try store.refresh(&view) { old, changes in
        change = DeviceChange(of: changes, from: old, at: now)
        pushed = ChangeReach(ofSettings: changes, in: old)
      }
      isAway = false
      if server != nil { folder.noteReading() }
      change?.complete(view.directory, at: now)
      tellEnds(change?.ended ?? [])
      if !update.isEmpty { desired.follow(change, at: now) }
      if case .rows(let changes) = update {
        pushed = pushed.union(ChangeReach(ofSettings: changes, in: view.directory))
      } else {
        pushed = .everything
      }
      if onTime || !(change.map(apply) ?? false) { converge() }
      if pushed != .devices([]) { sender?.note(pushed) }
      keep(update)
      if onTime { exchangeWithPair() }
    } catch {
      isAway = true
      trouble(isStale ? "\(error); all sessions end, as `store stale-after` says" : "\(error); the gateway goes on with what it has read")
      converge()
    }
    logins?.refresh()
    page?.refresh()
    publish()
    if settings != served {
      folder.note(settings)
      served = settings
    }
    // Of the reading, or of what this gateway says in the store.
    let isFirstFailure = isAway ? !wasAway : server?.nextAttempt.map { $0 != lastAttempt } ?? false
    if onTime || timer == nil || isFirstFailure {
      logins?.keepCounts()
      var next = Moment.now + (server == nil ? Self.period : Self.serverPeriod)
      // The server may be well, and only its connection lost.
      if isFirstFailure, let soon = server?.nextAttempt { next = min(next, soon) }
      timer = try? loop.at(next) { [weak self] in self?.refresh(onTime: true) }
    }
  }

  /// Tells devices the end of their sessions. Their peers go once that has left.
  private func tellEnds(_ ended: [EndedLogin]) {
    guard let told = sender?.connected(ended), !told.isEmpty else { return }
    leaving.begin(Set(told.map(\.publicKey)), presentDevice, at: .now)
    sender?.end(told)
    awaitLeaving()
  }

  private func awaitLeaving() {
    guard leavingTimer == nil, !leaving.isEmpty else { return }
    leavingTimer = try? loop.at(.now + LeavingPeers.interval) { [weak self] in self?.removeLeaving() }
  }

  private func removeLeaving() {
    leavingTimer = nil
    guard let site = view.directory.site else { return }
    let gone = leaving.look(at: presentDevice, .now)
    if !gone.isEmpty {
      let device = WireGuardDevice(
        engine: kernel.engine(of: site.link.description), privateKey: key, publicKey: site.publicKey, listenPort: site.endpoint.port)
      // The next comparison removes a peer for which this fails.
      _ = kernel.change(site.link.description, from: gone, to: [], of: device)
    }
    awaitLeaving()
  }

  /// The gateway serves as well without this.
  private func exchangeWithPair() {
    var trouble: String?
    do throws(StoreError) { try pair?.exchange(device) } catch { trouble = "\(error)" }
    if let trouble, trouble != pairTrouble { log("the other gateway is not told of devices: \(trouble)") }
    pairTrouble = trouble
  }

  /// Whether what was read is older than it may be: no device may connect then.
  private var isStale: Bool {
    guard isAway, server != nil, let limit = folder.staleAfter else { return false }
    return Timestamp.now.seconds - (folder.lastReading ?? 0) > limit
  }

  /// Writes what was read for a start without the server. The kernel has it already.
  private func keep(_ update: GatewayStore.Update) {
    do throws(StoreError) { try replica?.write(view, after: hasKept ? update : .everything) } catch {
      hasKept = false
      return log("what was read is not kept for a start without the store: \(error)")
    }
    hasKept = true
  }

  /// Applies what differs of a few devices. Returns whether that is all that had to be done.
  private func apply(_ change: DeviceChange) -> Bool {
    guard lastTrouble == nil, let engine, let site = view.directory.site, case .devices = change.reach, let after = change.after,
      firewall.applied?.ownPorts == folder.ownPorts(site)
    else { return false }
    if change.before == after { return true }
    do {
      guard let changes = try firewall.replace(change.before.table, with: after.table) else { return false }
      if !changes.isEmpty { log(changes.split(separator: "\n").joined(separator: "; ")) }
    } catch {
      log("\(error)")
      return false
    }
    let device = WireGuardDevice(engine: engine, privateKey: key, publicKey: site.publicKey, listenPort: site.endpoint.port)
    defer { forgetConnections(of: Set(change.before.table.sources.keys).subtracting(after.table.sources.keys)) }
    _ = leaving.joined(to: after.peers)
    return kernel.change(
      site.link.description, from: change.before.peers, to: after.peers + leaving.among(change.before.peers), of: device)
  }

  /// Makes connections of devices that may not connect any more end for good: they do not go on when the addresses may connect again.
  /// The firewall refuses their packets already, so none comes back meanwhile.
  private func forgetConnections(of addresses: Set<IPAddress>) {
    if addresses.isEmpty { return }
    do throws(NetlinkError) { try connections.forgetConnections(of: addresses) } catch { log("\(error)") }
  }

  private func forgetConnections(refusedBy state: GatewayState) {
    do throws(NetlinkError) {
      try connections.forgetConnections { state.isRefused($0) || state.isRefused($1) }
    } catch { log("\(error)") }
  }

  private func forgetShadows(of state: GatewayState) {
    do throws(NetlinkError) {
      try connections.forgetConnections(
        from: state.table.translated + state.table.routed, translatedTo: Set(state.table.ownPorts.ports))
    } catch { log("\(error)") }
  }

  /// Tells the other gateways of the store what this one offers.
  private func publish() {
    guard !isAway else { return }
    do throws(GatewayStore.Refusal) {
      if try publisher.publish(folder, view.directory, to: store) { log("told the other gateways of logins and relay") }
    } catch { log("\(error)") }
  }

  private func converge() {
    // Until the kernel was seen as wanted.
    engine = nil
    guard let site = view.directory.site else { return trouble("the store does not have this gateway any more; nothing is changed") }
    let present = kernel.engine(of: site.link.description)
    guard let state = desiredState(present, at: Timestamp.now.seconds) else { return }
    do {
      // Packets are refused before they can arrive.
      let (before, portsBefore) = (firewall.applied?.sources, firewall.applied?.ownPorts)
      let drift = try firewall.apply(state.table)
      switch drift {
      case .none: break
      case .elements(let changes): log(changes.split(separator: "\n").joined(separator: "; "))
      case .table: log("nft table \(GatewayTable.name): replaced")
      }
      let closed = turnOnForwarding()
      let (plan, device) = try kernel.examine(for: state)
      self.device = device
      sender?.look(at: device)
      if let conflict = plan.conflict { return trouble(conflict) }
      kernel.apply(plan) { [weak self] in self?.converge() }
      if drift != .none, before.map({ !$0.keys.allSatisfy { state.table.sources[$0] != nil } }) ?? true {
        forgetConnections(refusedBy: state)
      }
      // Flows that are on these ports already: of another setting, or of an earlier version.
      if portsBefore != state.table.ownPorts { forgetShadows(of: state) }
      port?.open(on: state.link, view.directory.families)
      if try isVerified(plan, state) { engine = present }
      // The trouble of a store that is away stays.
      if !isAway { trouble(closed) }
    } catch { trouble("\(error)") }
  }

  private func desiredState(_ engine: WireGuardEngine, at now: Int64) -> GatewayState? {
    guard let site = view.directory.site else { return nil }
    var state =
      isStale
      ? GatewayState(view.directory.withoutDevices, privateKey: key, engine: engine, at: now)
      : desired.state(of: view.directory, privateKey: key, engine: engine, at: now)
    state?.table.ownPorts = folder.ownPorts(site)
    if let peers = state?.device.peers, !leaving.isEmpty { state?.device.peers = leaving.joined(to: peers) }
    return state
  }

  /// Whether the link is as wanted after a plan's steps: the next change of a few devices then needs no look at all others.
  private func isVerified(_ plan: GatewayPlan, _ state: GatewayState) throws(NetlinkError) -> Bool {
    if plan.steps.isEmpty { return true }
    let (rest, device) = try kernel.examine(for: state)
    self.device = device
    return rest.steps.isEmpty
  }

  /// Returns why packets are not forwarded: the unit has /proc/sys read-only, and turns forwarding on before the gateway's start.
  private func turnOnForwarding() -> String? {
    let closed = view.directory.families.filter { !Forwarding.isOn($0) }
    do throws(SystemError) {
      for family in closed {
        try Forwarding.turnOn(family)
        log("sysctl \(Forwarding.name(family))=1")
      }
      return nil
    } catch {
      return "the kernel forwards no packets (\(closed.map(Forwarding.name).joined(separator: ", "))): run `roamward-gateway forward`"
    }
  }

  /// Logs a trouble once, and its end.
  private func trouble(_ text: String?) {
    guard text != lastTrouble else { return }
    lastTrouble = text
    log(text ?? "no trouble any more")
    ServiceManager.status(text ?? "\(view.directory.devices.count) devices")
  }
}

/// A line for the journal, which adds time and process. `plan` shows the whole of a long one before it is done.
private func log(_ text: String) {
  let longest = 500
  let isLong = text.utf8.count > longest
  var line = Array("roamward-gateway: \(isLong ? "\(text.prefix(longest)) … (\(text.utf8.count) bytes)" : text)\n".utf8)
  line.withUnsafeMutableBytes { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
}
