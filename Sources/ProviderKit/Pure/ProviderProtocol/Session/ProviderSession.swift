internal import JSON
public import NetworkTypes

/// The agent's side of a channel to a provider, as a value: messages, wishes and the time go in, actions come out. It has no descriptor and
/// no clock.
///
/// One value is for one process, from its start to `close`. After each call, perform the actions in their order, and set a timer to
/// `nextDeadline`; call `advance` when it fires. A message that cannot be sent at once waits at the rim. If the other end has closed, call
/// `channelClosed`. Descriptors of requests that ended with their run (`late` answers return no actions) are closed at the rim.
///
/// Each start ends in exactly one `runEnded`, and a breach of the protocol in `violated` and `close`, with any behaviour of the provider. A
/// provider that never says `hello` ends in `neverGreeted` and `close`. Texts in actions are safe to print.
public struct ProviderSession: Sendable {
  /// A request of the provider without an answer.
  enum Request: Hashable, Sendable {
    case settings, device, xfrm, socket, addresses
    case question(Question.Kind)
  }

  public internal(set) var state = State.greeting
  /// The provider's own name and version, from its `hello`.
  public internal(set) var program = ""

  let tunnel: String
  let limits: Limits
  var requests: [UInt32: Request] = [:]
  var lastRequest: UInt32 = 0
  /// Messages of applications without an answer, and until when they may have one.
  var messages: [UInt32: Moment] = [:]
  var lastMessage: UInt32 = 0
  /// Whether settings were applied since the start.
  var hasSettings = false
  var mayAsk = false
  /// Unanswered `sleep` messages.
  var sleeps = 0
  var stateDeadline: Moment?
  var sleepDeadline: Moment?
  /// The rest of the start's time, while a person is asked.
  var pausedStart: Duration?
  var budget: EventBudget

  /// For a provider's process that was started now. `tunnel`: its name, 64 bytes at most.
  public init(tunnel: String, limits: Limits = Limits(), at now: Moment) {
    self.tunnel = tunnel
    self.limits = limits
    budget = EventBudget(at: now)
    stateDeadline = now + limits.hello
  }

  /// When `advance` has to be called, at the latest.
  public var nextDeadline: Moment? { ([stateDeadline, sleepDeadline].compactMap(\.self) + messages.values).min() }

  /// Whether a run has begun and not ended.
  public var isRunning: Bool { [.starting, .connected, .reasserting, .stopping].contains(state) }

  // MARK: What the agent wants

  /// Starts the tunnel. `credentials`: the names under which the agent has descriptors, at most 16 and `kept`, each once.
  public mutating func start(_ request: StartRequest, credentials: [Word] = [], at now: Moment) throws(Unsendable) -> [Action] {
    guard state == .idle else { throw .state(state) }
    guard credentials.count <= ProtocolLimits.credentials + 1, Set(credentials).count == credentials.count else { throw .tooMany }
    var actions: [Action] = []
    for name in credentials { actions.append(try sending(.credential(name: name), attaching: .credential(name))) }
    actions.append(try sending(.start(request)))
    (hasSettings, mayAsk, pausedStart) = (false, request.mayAsk, nil)
    stateDeadline = now + limits.start
    return actions + enter(.starting)
  }

  /// Stops the tunnel. In the states idle and stopping, and after the end, it does nothing.
  public mutating func stop(_ reason: StopReason, at now: Moment) -> [Action] {
    switch state {
    case .greeting, .idle, .stopping, .closed: return []
    case .starting, .connected, .reasserting: break
    }
    let withdrawn = dropRequests()
    stateDeadline = now + limits.stop
    return withdrawn + [sent(.stop(reason))] + enter(.stopping)
  }

  /// Tells that the machine goes to sleep. `asleep` follows, at once if nothing runs; not if `wake` comes first.
  public mutating func sleep(at now: Moment) -> [Action] {
    guard isRunning, state != .stopping else { return [.asleep(inTime: true)] }
    sleeps += 1
    sleepDeadline = now + limits.sleep
    return [sent(.sleep)]
  }

  /// Tells that the machine is awake.
  public mutating func wake() -> [Action] {
    sleepDeadline = nil
    return isRunning && state != .stopping ? [sent(.wake)] : []
  }

  /// Tells that the network below the tunnel changed; the next start has its own.
  public mutating func networkChanged(_ path: NetworkPath?) throws(Unsendable) -> [Action] {
    isRunning && state != .stopping ? [try sending(.network(path))] : []
  }

  /// Sends an application's message, also to a provider that is idle. `replied` follows, at the latest after `limit` with the code
  /// `timeout`. Returns its identifier.
  public mutating func message(
    _ content: MessageContent, limit: Duration = .seconds(5), at now: Moment
  ) throws(Unsendable) -> (id: UInt32, actions: [Action]) {
    guard state != .greeting, state != .closed else { throw .state(state) }
    guard messages.count < ProtocolLimits.requests, lastMessage < ProtocolLimits.identifier else { throw .tooMany }
    let action = try sending(.message(id: lastMessage + 1, content))
    lastMessage += 1
    messages[lastMessage] = now + limit
    return (lastMessage, [action])
  }

  // MARK: Answers of the agent

  /// The settings are in effect, except for those that are listed.
  public mutating func settingsApplied(id: UInt32, refused: [RefusedSetting] = []) throws(Unsendable) -> [Action] {
    guard requests[id] == .settings else { return try late(id) }
    let action = try sending(.applied(id: id, refused: refused))
    requests[id] = nil
    hasSettings = true
    return [action]
  }

  /// Refuses a request of any kind but a question.
  public mutating func refuse(id: UInt32, _ refusal: Refusal) throws(Unsendable) -> [Action] {
    switch requests[id] {
    case nil: return try late(id)
    case .question: throw .noSuchRequest(id)
    default: break
    }
    let action = try sending(.refused(id: id, refusal))
    requests[id] = nil
    return [action]
  }

  /// The TUN device is open: `granted(id)` is its descriptor.
  public mutating func deviceOpened(id: UInt32, interface: String, mtu: Int) throws(Unsendable) -> [Action] {
    guard requests[id] == .device else { return try late(id) }
    let action = try sending(.device(id: id, interface: interface, mtu: mtu), attaching: .granted(id: id))
    requests[id] = nil
    return [action]
  }

  /// The XFRM interface is there.
  public mutating func xfrmOpened(id: UInt32, _ link: XFRMLink) throws(Unsendable) -> [Action] {
    guard requests[id] == .xfrm else { return try late(id) }
    let action = try sending(.xfrm(id: id, link))
    requests[id] = nil
    return [action]
  }

  /// The socket is connected: `granted(id)` is its descriptor.
  public mutating func socketOpened(id: UInt32) throws(Unsendable) -> [Action] {
    guard requests[id] == .socket else { return try late(id) }
    requests[id] = nil
    return [sent(.socket(id: id), attaching: .granted(id: id))]
  }

  /// The addresses of a name, 1 to 64.
  public mutating func resolved(id: UInt32, _ addresses: [IPAddress]) throws(Unsendable) -> [Action] {
    guard requests[id] == .addresses else { return try late(id) }
    requests[id] = nil
    return [sent(.addresses(id: id, Array(addresses.prefix(64))))]
  }

  /// Sends the outcome of a question. For a secret or a text that was given, `secret(id)` is its descriptor.
  public mutating func answer(id: UInt32, _ outcome: AnswerOutcome, at now: Moment) throws(Unsendable) -> [Action] {
    guard case .question(let kind) = requests[id] else { return try late(id) }
    requests[id] = nil
    resumeStart(at: now)
    return [sent(.answer(id: id, outcome), attaching: outcome == .answered && kind.takesText ? .secret(id: id) : nil)]
  }

  // MARK: What happens

  /// The channel is at its end, or cannot be written to: the provider has ended.
  public mutating func channelClosed() -> [Action] {
    guard state != .closed else { return [] }
    if state == .stopping { return close(.stopped(inTime: true)) }
    let text =
      state == .greeting ? "the provider of \(tunnel) ended before its `hello`" : "the provider of \(tunnel) ended by itself; see its log"
    return close(.failed(TunnelFailure(code: "provider-ended", text: text, help: .time)))
  }

  /// Acts on what is due.
  public mutating func advance(to now: Moment) -> [Action] {
    var actions: [Action] = []
    for id in messages.keys.sorted() where messages[id].map({ $0 <= now }) ?? false {
      messages[id] = nil
      actions.append(.replied(id: id, .failure(Refusal(code: "timeout", text: "the provider of \(tunnel) did not reply in time"))))
    }
    if let deadline = sleepDeadline, deadline <= now {
      sleepDeadline = nil
      actions.append(.asleep(inTime: false))
    }
    if let deadline = stateDeadline, deadline <= now { actions += stateExpired() }
    return actions
  }

  private mutating func stateExpired() -> [Action] {
    stateDeadline = nil
    switch state {
    case .greeting:
      // It may be slow, as on a machine that is starting.
      let text = "the provider of \(tunnel) sent no `hello` within \(limits.hello)"
      return [.violated(.silence("`hello`"))] + close(.failed(TunnelFailure(code: "protocol-error", text: text, help: .time)))
    case .starting:
      let failure = TunnelFailure(
        code: "start-timeout", text: "\(tunnel) did not connect within \(limits.start); check the server and the network", help: .time)
      return close(.failed(failure))
    case .stopping: return close(.stopped(inTime: false))
    default: return []
    }
  }
}
