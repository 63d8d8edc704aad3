internal import Lives
internal import LoginProtocol
internal import NetworkTypes
internal import ProviderProtocol

/// A login at the gateway without IO: messages, answers of a person and times go in, effects come out (docs/wire-format.md).
struct SignInMachine {
  enum Phase: Equatable {
    case idle
    /// A connection is made.
    case connecting(LifeToken)
    /// TLS has begun, and the gateway has not shown its key.
    case greeting(LifeToken)
    /// It is the gateway's turn.
    case waiting(LifeToken)
    /// It is the person's turn. Only for a password is there no connection meanwhile: a person takes longer than the gateway waits.
    case asking(LifeToken, LoginMethod)
    /// The person enters a code at the OpenID provider. The gateway learns it from there: no answer is sent. `isOpen`: the question is.
    case visiting(LifeToken, code: String, isOpen: Bool)
    case over

    /// The name of what is awaited: of a connection, a limit or a question.
    var attempt: LifeToken? {
      switch self {
      case .connecting(let attempt), .greeting(let attempt), .waiting(let attempt), .asking(let attempt, _),
        .visiting(let attempt, _, _):
        attempt
      case .idle, .over: nil
      }
    }
  }

  enum Event: Equatable {
    case begin
    case connected(LifeToken)
    case unreachable(LifeToken, code: Word, text: String)
    /// The limit has passed.
    case timeout(LifeToken)
    /// The gateway has shown its key.
    case proven
    case received(GatewayMessage)
    /// The connection has ended: the reason.
    case closed(String)
    /// The other side does not follow TLS or the login; or it has another key, of this pin.
    case broken(otherKey: String?)
    /// There is no TLS on this machine.
    case noTLS
    case answered(LifeToken, Answer)

    /// The attempt that it answers.
    var attempt: LifeToken? {
      switch self {
      case .connected(let attempt), .unreachable(let attempt, _, _), .timeout(let attempt), .answered(let attempt, _): attempt
      case .begin, .proven, .received, .closed, .broken, .noTLS: nil
      }
    }
  }

  enum Answer: Equatable {
    case secret([UInt8])
    case agreed
    case declined
    case unanswered
  }

  enum Effect: Equatable {
    /// `connected` or `unreachable` follows.
    case connect(LifeToken, Endpoint)
    case send(ClientMessage)
    /// `timeout` follows after so long. It replaces the limit before.
    case limit(LifeToken, Duration)
    case unlimited
    /// `answered` follows.
    case ask(LifeToken, Question)
    case withdraw
    /// End the connection.
    case close
    case log(String)
    /// The login is over.
    case done(Result<LoginGrant, TunnelFailure>)
  }

  /// The server of the login.
  private enum Server {
    /// The policy's port, where the gateway has not shown its key; and where it has.
    case policy, known
    /// The second port. `doubt`: the failure at the policy's, while this one may belong to another service.
    case other(doubt: TunnelFailure?)
  }

  /// The gateway answers a hash within a second; more means that the network is broken.
  static let patience = Duration.seconds(20)
  /// The gateway waits for its OpenID provider, and says before that a code has ended.
  static let pagePatience = Duration.seconds(60)
  /// For a connection, which a firewall may swallow.
  static let connectPatience = Duration.seconds(8)
  /// The second port of logins at gateways that relay packets: the one port that every network lets pass.
  private static let otherPort: UInt16 = 443
  /// More than a gateway asks.
  static let promptLimit = 16

  let tunnel: String
  let options: ClientOptions
  private let hello: LoginHello
  /// Of the policy, or the answer to the question for a password.
  var token: [UInt8]?
  var password: [UInt8]?
  var phase = Phase.idle
  private var server = Server.policy
  var hasBegunOpenID = false
  var hasChangedPassword = false
  /// Whether the token is an answer: no password is asked for then.
  var hasOfferedToken = false
  var prompts = 0
  var effects: [Effect] = []

  init(_ tunnel: String, _ options: ClientOptions, publicKey: [UInt8], token: [UInt8]?, password: [UInt8]?) {
    self.tunnel = tunnel
    self.options = options
    hello = LoginHello(device: options.device, publicKey: publicKey)
    self.token = token
    self.password = password
  }

  /// Takes an event, and returns its effects in their order. Answers to an earlier attempt have none.
  mutating func take(_ event: Event) -> [Effect] {
    effects = []
    if let attempt = event.attempt, attempt != phase.attempt { return [] }
    switch (event, phase) {
    case (_, .over): break
    case (.begin, .idle): connect()
    case (.connected, .connecting):
      let attempt = LifeToken()
      phase = .greeting(attempt)
      effects.append(.limit(attempt, Self.patience))
    case (.unreachable(_, let code, let text), .connecting): unreachable(code, text)
    case (.timeout, _): timeout()
    case (.proven, .greeting): proven()
    case (.received(let message), .waiting), (.received(let message), .asking), (.received(let message), .visiting): take(message)
    case (.closed(let reason), _): fail("connection-ended", "the gateway \(options.server) ended the login: \(reason)", .time)
    case (.broken(let otherKey), _): broken(otherKey)
    case (.noTLS, _): fail("no-tls", "OpenSSL cannot make a connection", .nobody)
    case (.answered(_, let answer), .asking(_, let method)): answered(method, answer)
    case (.answered(_, let answer), .visiting(let attempt, let code, true)):
      phase = .visiting(attempt, code: code, isOpen: false)
      // The gateway waits for as long as the code is valid.
      if answer != .agreed { unanswered(answer) }
    default: break
    }
    return effects
  }

  // MARK: The connection

  mutating func connect() {
    let attempt = LifeToken()
    phase = .connecting(attempt)
    effects.append(.limit(attempt, Self.connectPatience))
    if case .other = server {
      effects.append(.connect(attempt, Endpoint(host: options.server.host, port: Self.otherPort)))
    } else {
      effects.append(.connect(attempt, options.server))
    }
  }

  private mutating func unreachable(_ code: Word, _ reason: String) {
    let text = "the gateway \(options.server) takes no connection: \(reason); check the network and the gateway"
    switch server {
    case .other: return fail(code, text, .time)
    case _ where options.server.port == Self.otherPort: return fail(code, text, .time)
    case .policy: server = .other(doubt: TunnelFailure(code: code, text: text, help: .time))
    case .known: server = .other(doubt: nil)
    }
    connect()
  }

  private mutating func timeout() {
    switch phase {
    case .connecting: unreachable("unreachable", "there is no answer")
    case .greeting, .waiting:
      fail("sign-in-timeout", "the gateway \(options.server) has not answered a login within \(gatewayPatience)", .time)
    case .visiting(_, let code, _):
      fail("sign-in-timeout", "the code \(code) has ended; `roamward answer \(tunnel)` asks for another one", .person)
    case .idle, .asking, .over: break
    }
  }

  private var gatewayPatience: Duration { hasBegunOpenID ? Self.pagePatience : Self.patience }

  private mutating func proven() {
    if case .other = server { server = .other(doubt: nil) } else { server = .known }
    send(.hello(hello))
  }

  mutating func send(_ message: ClientMessage) {
    // A gateway that speaks out of turn.
    withdraw()
    let attempt = LifeToken()
    phase = .waiting(attempt)
    effects += [.send(message), .limit(attempt, gatewayPatience)]
  }

  private mutating func broken(_ otherKey: String?) {
    guard let otherKey else {
      let text = "\(options.server) does not speak TLS 1.3 as a gateway does, or ended the login; check the address"
      return fail("no-tls", text, .time)
    }
    fail(
      "other-key",
      "\(options.server) has another key, \(otherKey): the network intercepts the connection, or the gateway has a new one; "
        + "compare with `roamward-gateway login show` there", .time)
  }

  /// Whether a question is open.
  var hasQuestion: Bool {
    switch phase {
    case .asking, .visiting(_, _, true): true
    default: false
    }
  }

  /// Takes an open question back.
  mutating func withdraw() {
    guard hasQuestion else { return }
    phase = .waiting(LifeToken())
    effects.append(.withdraw)
  }

  mutating func end(_ result: Result<LoginGrant, TunnelFailure>) {
    effects.append(.close)
    withdraw()
    phase = .over
    effects.append(.done(result))
  }

  mutating func fail(_ code: Word, _ text: String, _ help: TunnelFailure.Help, after: Duration? = nil) {
    // The other port may belong to another service.
    if case .other(let doubt?) = server { return end(.failure(doubt)) }
    end(.failure(TunnelFailure(code: code, text: text, help: help, retryAfter: after)))
  }
}
