internal import ConfinedProcess
internal import GatewayCore
internal import GatewayPage
internal import GatewaySockets
internal import GatewayStore
internal import Glibc
internal import JSON
internal import KernelModel
internal import KeyMemory
internal import LinuxIO
internal import LoginProtocol
internal import NetworkTypes
internal import PageProtocol
internal import SystemdIO

/// The gateway's side of the page: accepts connections on its link, passes them to `roamward-gateway-web`, answers what that process asks,
/// and makes the changes of users.
///
/// That process reads strangers' bytes, so it says only which connection asks. Whose that is, and what this user may do, is decided here:
/// by the source address of the connection, which WireGuard has authenticated, since the socket is bound to the link.
final class PageService {
  static let program = "roamward-gateway-web"
  /// The parts of the gateway that its services use.
  struct Host {
    let folder: StateFolder
    let loop: EventLoop
    let store: GatewayStore
    /// The directory as the gateway knows it.
    let directory: () -> Directory
    /// The state of the link with its peers.
    let device: () -> WireGuardState?
    /// The same at the last comparison with the store.
    let lastDevice: () -> WireGuardState?
    /// After a change of the store.
    let changed: () -> Void
    /// After a failure of the process.
    let failed: () -> Void
    let log: (String) -> Void
  }

  /// The sockets of a run of the process.
  private struct Running {
    /// One for each address: another one's port may belong to a web server.
    let listeners: [FileDescriptor]
    var accepting: [EventSource] = []
  }

  private let host: Host
  private var life = PageLife()
  private var running: Running?
  private lazy var worker = WorkerSupervisor(
    Self.program, on: host.loop, take: { [weak self] in self?.take(try PageRequest(LoginFrame(message: $0))) },
    tell: { [weak self] in self?.hear($0) })
  private var restart: EventSource?
  /// Of the settings: it is logged once.
  private var lastTrouble: GatewayError?
  private var limits = PageLimits()
  /// The link's state is read again after this time: with many peers that takes a while.
  private static let deviceAge = Duration.seconds(2)
  private var device: (state: WireGuardState?, at: Moment)?
  private var connections = ConnectionLedger()

  init(_ host: Host) { self.host = host }

  /// Starts or stops as the state folder says.
  func refresh() {
    connections.look(at: host.lastDevice(), Timestamp.now.wholeSecond)
    take(.wanted(wantedSetting()))
  }

  private func wantedSetting() -> PageLife.Setting? {
    let directory = host.directory()
    guard let page = pageSettings(), let link = directory.site?.link.description else { return nil }
    return PageLife.Setting(
      page: page, link: link, index: if_nametoindex(link), addresses: directory.sortedPools.compactMap { $0.gateway?.address })
  }

  /// Damaged ones change nothing.
  private func pageSettings() -> PageSettings? {
    do throws(GatewayError) {
      let settings = try host.folder.pageSettings()
      lastTrouble = nil
      return settings
    } catch {
      if lastTrouble != error { host.log("page: \(error)") }
      lastTrouble = error
      return life.setting?.page
    }
  }

  // MARK: Effects

  private func take(_ event: PageLife.Event) { for effect in life.take(event, at: .now) { perform(effect) } }

  private func perform(_ effect: PageLife.Effect) {
    switch effect {
    case .start(let setting): start(setting)
    case .stop:
      worker.end()
      (running, restart) = (nil, nil)
    case .wait(let pause, let moment):
      restart = try? host.loop.at(moment) { [weak self] in
        guard let self else { return }
        restart = nil
        take(.again(pause, wantedSetting()))
      }
    case .record(let trouble): host.folder.record(trouble: trouble, of: .page)
    case .log(let text): host.log("page: \(text)")
    }
  }

  private func start(_ setting: PageLife.Setting) {
    do throws(SystemError) {
      let listeners = try setting.addresses.map { address throws(SystemError) in
        try ListeningSocket.make(port: setting.page.port, at: address, link: setting.link)
      }
      try worker.start()
      running = Running(listeners: listeners)
    } catch { worker.fail("\(error)") }
  }

  private func hear(_ news: WorkerSupervisor.News) {
    // The page's own life has the pause too.
    guard case .failed(let text) = news else { return }
    host.failed()
    take(.failed(text, again: worker.mayStart ?? .now))
  }

  /// The process has greeted: it gets connections from now on.
  private func accept() {
    guard case .starting(let setting) = life.phase, let listeners = running?.listeners, !listeners.isEmpty else { return }
    send(.start(hosts: setting.page.hosts(of: setting.addresses.map { $0.family == .v4 ? "\($0)" : "[\($0)]" })))
    let accepting = listeners.compactMap { listener in
      try? host.loop.whenReadable(listener.number) { [weak self, weak listener] in listener.map { self?.accept(from: $0) } }
    }
    guard accepting.count == listeners.count else { return worker.fail("the socket cannot be watched") }
    running?.accepting = accepting
    take(.accepting)
  }

  private func send(_ reply: PageReply, passing file: FileDescriptor? = nil) {
    worker.send(reply.frame, passing: file)
  }

  private func take(_ request: PageRequest) {
    switch request {
    case .hello(let trouble): if worker.greet(trouble) { accept() }
    case .ended(let connection): life.connections?.close(connection)
    case .ask(let number, let connection, let question):
      let answer = answer(question, of: connection)
      let text = answer.body.text()
      let isShort = text.utf8.count <= PageReply.bodyLimit
      send(.answer(number: number, status: isShort ? answer.status : 500, body: isShort ? text : #"{"error":"the answer is too long"}"#))
    }
  }
}

// Connections.
extension PageService {
  private func accept(from listener: FileDescriptor) {
    for _ in 0..<16 {
      guard let file = try? listener.accept() else { return }
      // Connections from addresses without a device's user are closed unread.
      guard let address = file.remoteAddress, let asker = asker(at: address) else { continue }
      let holder = PageConnections.Holder(user: asker.user.id, device: asker.device.id)
      guard let number = life.connections?.open(from: address, by: holder, at: .now) else { continue }
      send(.connection(number), passing: file)
    }
  }

  private func asker(at address: IPAddress) -> PageAsker? {
    PageAsker(host.directory(), from: address, life.setting?.page, at: Timestamp.now.wholeSecond)
  }

  private func presentDevice() -> WireGuardState? {
    if let device, Moment.now - device.at < Self.deviceAge { return device.state }
    let state = host.device()
    device = (state, .now)
    return state
  }
}

// Answers.
extension PageService {
  private func answer(_ question: PageQuestion, of connection: UInt32) -> PageAnswer {
    // The address may belong to another device now, or its user be locked.
    guard let known = life.connections?.connection(connection, at: .now), let asker = asker(at: known.address),
      asker.device.id == known.holder.device
    else {
      return .refusal(403, "this device may not connect")
    }
    let now = Timestamp.now.wholeSecond
    guard limits.admit(user: asker.user.id, isChange: question.isChange, at: now) else {
      return .refusal(429, "too many questions", help: "wait a minute")
    }
    guard asker.may(question) else { return .refusal(403, "only \(question.leastRole)s may ask this") }
    let directory = host.directory()
    switch question {
    case .me:
      let takesLogins = ((try? host.folder.loginIdentity()) ?? nil) != nil
      return PageAnswer(status(at: now).page(of: asker, life.setting?.page, takesLogins: takesLogins))
    case .link: return link(of: asker)
    case .addDevice(let name, let key): return add(name, key, by: asker)
    case .removeDevice(let name):
      return change(by: asker) { work throws(GatewayError) in
        try work.removeOwnDevice(name, by: asker)
        return PageAnswer(["device": .string(name.description)])
      }
    case .invite(let name): return invite(name, by: asker)
    case .lock(let name, let reason): return setLocked(true, name, reason, by: asker)
    case .unlock(let name): return setLocked(false, name, by: asker)
    case .devices(let search, let isConnected):
      return PageAnswer(status(at: now).report(search: search, isConnected: isConnected, within: Self.listLimit))
    case .endSession(let path):
      return change(by: asker) { work throws(GatewayError) in
        try work.endSession(of: path, by: asker, life.setting?.page)
        return PageAnswer(["device": .string(path.description)])
      }
    case .groups(let search): return PageAnswer(directory.page(search: search, at: now, within: Self.listLimit))
    case .rules: return PageAnswer(directory.rules(within: Self.listLimit))
    case .audit:
      do throws(StoreError) {
        return PageAnswer(AuditReport(try host.store.newestEntries(100), within: Self.listLimit))
      } catch { return .refusal(503, "the store is away") }
    case .access(let name, let destination, let transport, let port):
      guard let user = directory.user(named: name) else { return .refusal(404, "there is no user \(name)") }
      let question = AccessQuestion(user: user.id, destination: destination, transport: transport, port: port)
      return PageAnswer(directory.page(of: question, within: Self.listLimit))
    }
  }

  /// The bytes of a list: the rest of an answer is short.
  private static let listLimit = PageReply.bodyLimit - 2000

  private func status(at now: Timestamp) -> GatewayStatus {
    var status = GatewayStatus(directory: host.directory(), isServing: true, device: presentDevice(), now: now)
    connections.look(at: status.device, now)
    status.connectedSince = connections.since
    return status
  }

  private func change(
    by asker: PageAsker, _ body: (inout Administration) throws(GatewayError) -> PageAnswer
  ) -> PageAnswer {
    do throws(GatewayStore.Refusal) {
      let answer = try host.store.change(as: asker.actor, at: Timestamp.now.wholeSecond, body)
      host.changed()
      device = nil
      return answer
    } catch {
      switch error {
      case .request(let refusal): return .refusal(refusal)
      case .store(let failure):
        host.log("page: \(failure)")
        return .refusal(503, "the store is away", help: "try again later")
      }
    }
  }

  /// A key that is made here is in the answer alone.
  private func add(_ name: GatewayName, _ publicKey: WireGuardKey?, by asker: PageAsker) -> PageAnswer {
    let key = publicKey == nil ? SecretKey.random() : nil
    guard let known = publicKey ?? key?.publicKey else { return .refusal(503, "no key can be made") }
    return change(by: asker) { work throws(GatewayError) in
      let content = try work.addOwnDevice(name, known, by: asker)
      let text = content.text(privateKey: key?.base64 ?? "(the device's own private key)")
      return PageAnswer(AddedDeviceReport(device: "\(name)", secret: key != nil, file: text, code: key == nil ? nil : code(of: text)))
    }
  }

  /// The rows of a QR code, 1 is dark.
  private func code(of text: String) -> [String]? { QRCode.modules(text)?.map { row in String(row.map { $0 ? "1" : "0" }) } }

  private func setLocked(_ isLocked: Bool, _ name: GatewayName, _ reason: String = "", by asker: PageAsker) -> PageAnswer {
    change(by: asker) { work throws(GatewayError) in
      try work.setLocked(isLocked, name, reason: reason, by: asker, life.setting?.page)
      return PageAnswer(["user": .string(name.description)])
    }
  }

  private func link(of asker: PageAsker) -> PageAnswer {
    do throws(GatewayError) {
      let link = try link(for: host.directory().nameInLink(of: asker.user))
      return PageAnswer(LinkReport(user: asker.user.name, link: link, code: code(of: link)))
    } catch { return .refusal(error) }
  }

  /// A token that is made here is in the answer alone; the store has its hash.
  private func invite(_ name: GatewayName, by asker: PageAsker) -> PageAnswer {
    let new = NewToken()
    return change(by: asker) { work throws(GatewayError) in
      let link = try link(for: name, new.token)
      let invitation = try work.invite(name, withHash: new.hash, by: asker, life.setting?.page)
      return PageAnswer(LinkReport(user: name, link: link, code: code(of: link), invitation: invitation))
    }
  }

  private func link(for user: GatewayName?, _ token: LoginToken? = nil) throws(GatewayError) -> String {
    do {
      return try LoginLink(to: host.folder, host.directory(), user: user, token: token).text
    } catch let error as GatewayError {
      throw error
    } catch {
      throw GatewayError("there is no link now: \(error)")
    }
  }
}
