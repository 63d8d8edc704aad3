public import JSON
public import NetworkTypes
public import ProviderProtocol
public import RoamwardProvider

/// An agent and a machine in memory, for tests of a provider: no process, no descriptor, no waiting.
///
/// The provider is the same as in production. Between it and this value all messages go as bytes, through both sides of the protocol. The
/// clock stands still until `advance`; each call returns when the provider has nothing more to do at that time.
public final class MemoryHost<Provider: TunnelProvider> {
  /// The provider.
  public private(set) var provider: Provider
  /// The agent's side of the channel.
  public private(set) var session: ProviderSession
  public var state: ProviderSession.State { session.state }

  /// The ends of runs, the first first.
  public private(set) var ends: [ProviderSession.RunEnd] = []
  /// The settings that were applied last.
  public private(set) var settings: TunnelSettings?
  /// The device of this run. `nil`: the provider has none.
  public private(set) var flow: MemoryFlow?
  /// All sockets, the first first.
  public private(set) var sockets: [MemorySocket] = []
  public private(set) var log: [LogLine] = []
  public private(set) var events: [(name: Word, data: JSON)] = []
  public private(set) var replies: [UInt32: MessageReply] = [:]
  /// The reason why the last `reasserting` was sent.
  public private(set) var reassertion: Word?
  /// Answers to `sleep`: whether each came in time.
  public private(set) var sleeps: [Bool] = []
  /// The transport of the tunnel's packets, as the provider said last.
  public private(set) var transport = ""
  /// The validity of certificates, as the provider has told it.
  public private(set) var validities: [Validity] = []
  /// Breaches of the protocol by the provider.
  public private(set) var violations: [ProtocolViolation] = []
  /// The bytes that the provider has the agent keep: the next start brings them as the credential `kept`.
  public var kept: [UInt8] = []
  /// Questions without an answer, if `answers` has none.
  public private(set) var questions: [(id: UInt32, question: Question)] = []

  /// The addresses of names outside of the tunnel. Others are refused with `unresolved`.
  public var names: [DomainName: [IPAddress]] = [:]
  /// Addresses that sockets cannot be connected to: refused with `unreachable`.
  public var unreachable: Set<IPAddress> = []
  /// Ports that sockets cannot be connected to, at any address.
  public var unreachablePorts: Set<UInt16> = []
  /// The refusal of all settings; `nil`: they are applied.
  public var settingsRefusal: Refusal?
  /// Returns the settings that the policy refuses.
  public var refusedSettings: (TunnelSettings) -> [RefusedSetting] = { _ in [] }
  /// The answer to a question; `nil`: it stays open, for `answer`.
  public var answers: (Question) -> Answer? = { _ in nil }

  /// A person's answer.
  public enum Answer: Hashable, Sendable {
    case secret([UInt8])
    case outcome(AnswerOutcome)
  }

  private let backend: MemoryBackend
  private let host: ProviderHost
  private var credentials: [Word: [UInt8]] = [:]
  private var secrets: [UInt32: [UInt8]] = [:]
  private var granted: [UInt32: AnyObject] = [:]
  private var remotes: [UInt32: Transport] = [:]
  private var toProvider: [(bytes: [UInt8], descriptor: AnyObject?)] = []

  /// Starts the provider's program.
  public init(_ type: Provider.Type, tunnel: String = "test", limits: ProviderSession.Limits = .init()) {
    backend = MemoryBackend()
    host = ProviderHost(backend: backend)
    session = ProviderSession(tunnel: tunnel, limits: limits, at: backend.now)
    provider = host.begin(type, program: "test")
    settle()
  }

  // MARK: The agent's wishes

  /// Starts the tunnel; stops the test if a run is not over.
  public func start(
    _ options: JSON = [:], credentials: [Word: [UInt8]] = [:], network: NetworkPath? = MemoryHost.network, mayAsk: Bool = true
  ) {
    self.credentials = credentials
    if !kept.isEmpty { self.credentials[ProtocolLimits.keptCredential] = kept }
    do throws(ProviderSession.Unsendable) {
      perform(
        try session.start(
          StartRequest(options: options, network: network, mayAsk: mayAsk), credentials: self.credentials.keys.sorted(), at: backend.now))
    } catch {
      preconditionFailure("the tunnel cannot be started: \(error)")
    }
    settle()
  }

  public func stop(_ reason: StopReason = .person) { settle(session.stop(reason, at: backend.now)) }

  public func sleep() { settle(session.sleep(at: backend.now)) }

  public func wake() { settle(session.wake()) }

  public func networkChanged(_ path: NetworkPath?) { if let actions = try? session.networkChanged(path) { settle(actions) } }

  /// Sends a message, and returns its number for `replies`; 0 if it cannot be sent.
  @discardableResult
  public func send(_ content: MessageContent, limit: Duration = .seconds(5)) -> UInt32 {
    guard let (id, actions) = try? session.message(content, limit: limit, at: backend.now) else { return 0 }
    settle(actions)
    return id
  }

  /// Answers a question that is open.
  public func answer(_ id: UInt32, _ answer: Answer) {
    questions.removeAll { $0.id == id }
    give(answer, to: id)
    settle()
  }

  /// Lets time pass: timers of the provider and limits of the agent come in their order. By zero it delivers what the test made the
  /// provider do by a call of its own.
  public func advance(by duration: Duration) {
    settle()
    let end = backend.now + duration
    while let next = [backend.wakeTime, session.nextDeadline].compactMap(\.self).min(), next <= end {
      backend.now = max(backend.now, next)
      if let wake = backend.wakeTime, wake <= backend.now {
        backend.wakeTime = nil
        host.advance()
      }
      settle(session.advance(to: backend.now))
    }
    backend.now = end
  }

  /// A network for starts.
  public static var network: NetworkPath { NetworkPath(interface: "wlan0", kind: .wifi, isMetered: false) }

  // MARK: Inside

  private func settle(_ actions: [ProviderSession.Action] = []) {
    perform(actions)
    while true {
      if !backend.toAgent.isEmpty {
        perform(session.receive(backend.toAgent.removeFirst(), at: backend.now))
      } else if !toProvider.isEmpty {
        let (bytes, descriptor) = toProvider.removeFirst()
        host.receive(bytes, descriptor)
      } else if let reason = backend.endReason {
        backend.endReason = nil
        if state != .closed { log.append(LogLine(level: .error, origin: "program", text: reason)) }
        perform(session.channelClosed())
      } else {
        return
      }
    }
  }

  private func perform(_ actions: [ProviderSession.Action]) {
    for action in actions { perform(action) }
  }

  private func perform(_ action: ProviderSession.Action) {
    switch action {
    case .send(let bytes, let attachment): toProvider.append((bytes, attachment.flatMap(descriptor)))
    case .apply(let id, let wanted): apply(id, wanted)
    case .openDevice(let id): openDevice(id)
    case .openXFRM(let id):
      reply { try $0.xfrmOpened(id: id, XFRMLink(interface: "test", identifier: 7, mark: 0x5200_0000, mask: 0xff00_0000)) }
    case .openSocket(let id, let transport, let remote): openSocket(id, transport, remote)
    case .resolve(let id, let name): resolve(id, name)
    case .ask(let id, let question): ask(id, question)
    case .withdraw(let id): questions.removeAll { $0.id == id }
    case .runEnded(let end):
      ends.append(end)
      (flow, settings) = (nil, nil)
    default: record(action)
    }
  }

  private func record(_ action: ProviderSession.Action) {
    switch action {
    case .reasserting(let code, _): reassertion = code
    case .replied(let id, let reply): replies[id] = reply
    case .asleep(let inTime): sleeps.append(inTime)
    case .event(let name, let data): events.append((name, data))
    case .log(let line): log.append(line)
    case .keep(let bytes): kept = bytes
    case .transport(let text): transport = text
    case .validity(let validity): validities.append(validity)
    case .violated(let violation): violations.append(violation)
    default: break
    }
  }

  private func descriptor(_ attachment: ProviderSession.Attachment) -> AnyObject? {
    switch attachment {
    case .credential(let name): MemorySecret(credentials[name] ?? [])
    case .secret(let id): MemorySecret(secrets.removeValue(forKey: id) ?? [])
    case .granted(let id): granted.removeValue(forKey: id)
    }
  }

  /// The session's answer to a request that it has just reported cannot fail; a refusal of it would show as a silent provider in the test.
  private func reply(_ make: (inout ProviderSession) throws -> [ProviderSession.Action]) {
    do { perform(try make(&session)) } catch { preconditionFailure("the session refuses its own request: \(error)") }
  }

  private func apply(_ id: UInt32, _ wanted: TunnelSettings) {
    if let settingsRefusal { return reply { try $0.refuse(id: id, settingsRefusal) } }
    settings = wanted
    let refused = refusedSettings(wanted)
    reply { try $0.settingsApplied(id: id, refused: refused) }
  }

  private func openDevice(_ id: UInt32) {
    let flow = MemoryFlow(mtu: settings?.mtu ?? 1420) { [weak self] in self?.settle() }
    self.flow = flow
    granted[id] = flow
    reply { try $0.deviceOpened(id: id, interface: flow.interface, mtu: flow.mtu) }
  }

  private func openSocket(_ id: UInt32, _ transport: Transport, _ remote: Endpoint) {
    if unreachablePorts.contains(remote.port) || remote.address.map(unreachable.contains) ?? false {
      return reply { try $0.refuse(id: id, Refusal(code: "unreachable", text: "\(remote) cannot be reached")) }
    }
    let socket = MemorySocket(transport, remote: remote) { [weak self] in self?.settle() }
    sockets.append(socket)
    granted[id] = socket
    reply { try $0.socketOpened(id: id) }
  }

  private func resolve(_ id: UInt32, _ name: DomainName) {
    guard let addresses = names[name] else {
      return reply { try $0.refuse(id: id, Refusal(code: "unresolved", text: "\(name) has no address")) }
    }
    reply { try $0.resolved(id: id, addresses) }
  }

  private func ask(_ id: UInt32, _ question: Question) {
    if let answer = answers(question) { give(answer, to: id) } else { questions.append((id, question)) }
  }

  private func give(_ answer: Answer, to id: UInt32) {
    let now = backend.now
    switch answer {
    case .secret(let bytes):
      secrets[id] = bytes
      reply { try $0.answer(id: id, .answered, at: now) }
    case .outcome(let outcome): reply { try $0.answer(id: id, outcome, at: now) }
    }
  }
}
