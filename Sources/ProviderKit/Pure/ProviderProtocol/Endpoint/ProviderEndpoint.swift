internal import JSON
public import NetworkTypes

/// The provider's side of the channel, as a value: bytes and wishes go in, events and bytes come out. It has no descriptor and no clock.
///
/// It holds both sides to the protocol: a breach by the agent, or a message that the provider must not send now, is an error.
public struct ProviderEndpoint: Sendable {
  /// The state of the channel, as the provider sees it.
  public enum State: String, Hashable, Sendable, CaseIterable {
    /// The agent has not answered `hello`.
    case greeting
    /// Nothing runs.
    case idle
    /// `start` came.
    case starting
    /// `ready` was sent.
    case connected
    /// `reasserting` was sent.
    case reasserting
    /// `stop` came.
    case stopping
  }

  /// A request of the provider without an answer.
  enum Request: String, Hashable, Sendable {
    case settings, device, xfrm, socket, addresses, secret, consent
  }

  /// The meaning of a message of the agent. A descriptor belongs to the event of its message.
  public enum Event: Hashable, Sendable {
    /// The channel is open: the tunnel's name.
    case greeted(tunnel: String)
    /// A credential of the next start; its descriptor came with it.
    case credential(Word)
    case start(StartRequest)
    /// Answer by `stopped`. Requests without an answer get none.
    case stop(StopReason)
    /// Answer by `asleep`.
    case sleep
    case wake
    case network(NetworkPath?)
    case applied(id: UInt32, refused: [RefusedSetting])
    case refused(id: UInt32, Refusal)
    /// The descriptor is a TUN device: IP packets without a header, one for each read or write.
    case device(id: UInt32, interface: String, mtu: Int)
    /// The XFRM interface is there.
    case xfrm(id: UInt32, XFRMLink)
    /// The descriptor is a connected socket.
    case socket(id: UInt32)
    case addresses(id: UInt32, [IPAddress])
    /// For a secret that was given, the descriptor contains it.
    case answer(id: UInt32, AnswerOutcome)
    /// Answer by `reply`.
    case message(id: UInt32, MessageContent)
    /// An answer to a request that is over, or a message that crossed with the end of the run: close a descriptor that came with it.
    case late
  }

  /// Messages without a reply that a provider can still reply to.
  private static let longestMemory = 1024

  public internal(set) var state = State.greeting
  private var requests: [UInt32: Request] = [:]
  private var lastRequest: UInt32 = 0
  private var messages: Set<UInt32> = []
  private var lastMessage: UInt32 = 0
  private var credentials: Set<Word> = []
  private var sleeps = 0
  private var hasSettings = false

  public init() {}

  /// The first message. `program`: the provider's name and version, 256 bytes at most.
  public static func hello(program: String) throws(ProtocolViolation) -> [UInt8] {
    try encoded(.hello(versions: ProtocolLimits.version...ProtocolLimits.version, program: program))
  }

  /// An identifier for the next request. It has to be used before another one is taken.
  public var nextRequest: UInt32 { lastRequest + 1 }

  /// Whether a message has no reply yet.
  public func isWaiting(forReply id: UInt32) -> Bool { messages.contains(id) }

  // MARK: Receiving

  /// Reads a message of the agent.
  public mutating func receive(_ bytes: [UInt8], hasDescriptor: Bool = false) throws(ProtocolViolation) -> Event {
    let message: AgentMessage
    do throws(MessageError) { message = try AgentMessage(decoding: bytes) } catch { throw .malformed(error) }
    try checkDescriptor(message, hasDescriptor)
    if case .hello(let version, let tunnel) = message {
      guard state == .greeting else { throw outOfOrder(message.type) }
      guard version == ProtocolLimits.version else { throw .noCommonVersion(version...version) }
      state = .idle
      return .greeted(tunnel: tunnel)
    }
    guard state != .greeting else { throw outOfOrder(message.type) }
    switch message {
    case .credential, .start, .stop, .sleep, .wake, .network: return try control(message)
    case .message(let id, let content):
      guard id > lastMessage else { throw .identifierReused(id) }
      lastMessage = id
      messages.insert(id)
      // The agent has long forgotten those that were never answered.
      if messages.count > Self.longestMemory, let oldest = messages.min() { messages.remove(oldest) }
      return .message(id: id, content)
    default: return try answered(message)
    }
  }

  private mutating func control(_ message: AgentMessage) throws(ProtocolViolation) -> Event {
    switch message {
    case .credential(let name):
      guard state == .idle else { throw outOfOrder(message.type) }
      guard credentials.count <= ProtocolLimits.credentials, credentials.insert(name).inserted else { throw .tooManyCredentials }
      return .credential(name)
    case .start(let request):
      guard state == .idle else { throw outOfOrder(message.type) }
      credentials = []
      hasSettings = false
      state = .starting
      return .start(request)
    case .stop(let reason):
      guard state != .stopping else { throw outOfOrder(message.type) }
      // It crossed with `failed`.
      guard state != .idle else { return .late }
      requests = [:]
      state = .stopping
      return .stop(reason)
    case .sleep:
      sleeps += 1
      return .sleep
    case .wake: return state == .idle ? .late : .wake
    case .network(let path): return state == .idle ? .late : .network(path)
    default: throw outOfOrder(message.type)
    }
  }

  private mutating func answered(_ message: AgentMessage) throws(ProtocolViolation) -> Event {
    guard let (id, event, kinds) = Self.answer(message) else { throw outOfOrder(message.type) }
    guard id <= lastRequest else { throw .unknownIdentifier(id) }
    guard let request = requests[id] else { return .late }
    guard kinds.contains(request) else { throw .wrongAnswer(type: message.type, id: id) }
    requests[id] = nil
    if request == .settings, case .applied = message { hasSettings = true }
    return event
  }

  /// The identifier that a message answers, its event, and the requests that it can answer.
  private static func answer(_ message: AgentMessage) -> (UInt32, Event, Set<Request>)? {
    switch message {
    case .applied(let id, let refused): (id, .applied(id: id, refused: refused), [.settings])
    case .refused(let id, let refusal): (id, .refused(id: id, refusal), [.settings, .device, .xfrm, .socket, .addresses])
    case .device(let id, let interface, let mtu): (id, .device(id: id, interface: interface, mtu: mtu), [.device])
    case .xfrm(let id, let link): (id, .xfrm(id: id, link), [.xfrm])
    case .socket(let id): (id, .socket(id: id), [.socket])
    case .addresses(let id, let addresses): (id, .addresses(id: id, addresses), [.addresses])
    case .answer(let id, let outcome): (id, .answer(id: id, outcome), [.secret, .consent])
    default: nil
    }
  }

  private func checkDescriptor(_ message: AgentMessage, _ hasDescriptor: Bool) throws(ProtocolViolation) {
    switch message {
    case .credential, .device, .socket: if !hasDescriptor { throw .missingDescriptor(message.type) }
    case .answer(let id, let outcome):
      // A late answer may have one: its kind is forgotten.
      guard let request = requests[id] else { return }
      let needs = request == .secret && outcome == .answered
      if needs, !hasDescriptor { throw .missingDescriptor(message.type) }
      if !needs, hasDescriptor { throw .unexpectedDescriptor(message.type) }
    default: if hasDescriptor { throw .unexpectedDescriptor(message.type) }
    }
  }

  private func outOfOrder(_ type: String) -> ProtocolViolation { .outOfOrder(type: type, state: state.rawValue) }

  // MARK: Sending

  /// The bytes of a message, if it may be sent now; all but `hello`. Throws what the agent would object to.
  public mutating func send(_ message: ProviderMessage) throws(ProtocolViolation) -> [UInt8] {
    let next = try state(after: message)
    let bytes = try Self.encoded(message)
    if let (id, request) = Self.request(of: message) {
      guard id == nextRequest else { throw .identifierReused(id) }
      let isQuestion = request == .secret || request == .consent
      let questions = requests.values.count { $0 == .secret || $0 == .consent }
      guard requests.count < ProtocolLimits.requests, !isQuestion || questions < ProtocolLimits.questions else { throw .tooManyRequests }
      lastRequest = id
      requests[id] = request
    }
    switch message {
    case .withdraw(let id): requests[id] = nil
    case .reply(let id, _): messages.remove(id)
    case .asleep: sleeps -= 1
    case .failed, .stopped: requests = [:]
    default: break
    }
    state = next
    return bytes
  }

  private func state(after message: ProviderMessage) throws(ProtocolViolation) -> State {
    let isRunning = state == .starting || state == .connected || state == .reasserting
    switch message {
    case .hello: throw outOfOrder(message.type)
    case .log, .event, .keep, .transport, .validity: if state != .greeting { return state }
    case .reply(let id, _):
      guard messages.contains(id) else { throw .unknownIdentifier(id) }
      return state
    case .asleep: if sleeps > 0 { return state }
    case .withdraw(let id):
      guard requests[id] == .secret || requests[id] == .consent else { throw .unknownIdentifier(id) }
      return state
    case .ready:
      if state == .starting || state == .reasserting, hasSettings, !requests.values.contains(.settings) { return .connected }
    case .reasserting: if state == .connected || state == .reasserting { return .reasserting }
    case .failed: if isRunning { return .idle }
    case .stopped: if state == .stopping { return .idle }
    default: if isRunning { return state }
    }
    throw outOfOrder(message.type)
  }

  private static func encoded(_ message: ProviderMessage) throws(ProtocolViolation) -> [UInt8] {
    do throws(MessageError) {
      let bytes = try message.encoded()
      // The agent would end the channel for a value out of bounds: it is an error here, with its member.
      _ = try ProviderMessage(decoding: bytes)
      return bytes
    } catch {
      throw .malformed(error)
    }
  }

  private static func request(of message: ProviderMessage) -> (UInt32, Request)? {
    switch message {
    case .settings(let id, _): (id, .settings)
    case .openDevice(let id): (id, .device)
    case .openXFRM(let id): (id, .xfrm)
    case .openSocket(let id, _, _): (id, .socket)
    case .resolve(let id, _): (id, .addresses)
    case .ask(let id, let question): (id, question.kind.takesText ? .secret : .consent)
    default: nil
    }
  }
}
