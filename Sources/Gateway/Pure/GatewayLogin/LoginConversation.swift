package import GatewayCore
package import LoginProtocol
package import NetworkTypes

/// A user who has proven the first factor, as the conversation knows the account.
package struct LoginAccount: Hashable, Sendable {
  /// The user's number in the store.
  package var user: Int64
  /// The number of the token that proved it.
  package var token: Int64?
  /// The questions that are left, in their order.
  package var questions: [Question]

  package init(user: Int64, token: Int64? = nil, questions: [Question] = []) {
    self.user = user
    self.token = token
    self.questions = questions
  }

  /// Whether its first factor alone does not log in.
  var needsCode: Bool { questions.contains(.code) }

  package enum Question: Hashable, Sendable {
    case code
    case newPassword
    case banner(String)

    package var method: LoginMethod {
      switch self {
      case .code: .code
      case .newPassword: .newPassword
      case .banner: .banner
      }
    }
  }
}

/// An action that a conversation asks of the program around it.
package enum LoginEffect: Hashable, Sendable {
  case send(GatewayMessage)
  /// Checks the password. `name`: `nil` if nobody can have it; the time is the same.
  case checkPassword(name: GatewayName?, password: [UInt8])
  /// Has the service that checks passwords check a name without a user, with a random password.
  case checkDecoy
  case checkToken([UInt8])
  /// The answer to a question of the service that checks the password.
  case answerPrompt([UInt8])
  /// Begins a sign-in at the OpenID provider.
  case signIn
  case checkCode(user: Int64, code: [UInt8])
  case setPassword(user: Int64, password: [UInt8])
  case bind(LoginAccount, LoginHello, factors: [LoginMethod])
  /// The client wants no login, but a relay. Nothing follows from this conversation.
  case relay(versions: ClosedRange<UInt8>)
  /// For the audit log: a refusal, with the name as it was given.
  case record(LoginRefusal, name: String)
  /// Nothing follows.
  case close
}

/// The program's answer to an effect.
package enum LoginAnswer: Hashable, Sendable {
  /// The first factor is right.
  case account(LoginAccount)
  /// The page for the person.
  case visit(SignInPage)
  /// The person at the OpenID provider is no user yet. Who proves to be the user of this name is linked to it.
  case link(name: String)
  /// The service that checks the password has a question.
  case prompt(text: String, echo: Bool)
  /// The person took too long at the OpenID provider.
  case expired
  /// The code is right, or the new password is stored.
  case accepted
  case refused(LoginRefusal)
  /// The new password is not good enough; the text says why.
  case unsuitable(String)
  case bound(LoginGrant)
  /// The device cannot be added.
  case unbound
  /// No answer is possible now.
  case unavailable
  /// Too many wait already.
  case busy
}

/// The gateway's side of one login: frames and answers in, effects out. It has no clock and no sockets.
///
/// Answers that reveal whether a name, a password, a code or a token is right are sent at whole multiples of `answerInterval` after the
/// question. So the time of a check does not show. Where a service of the network checks passwords, a refusal waits for a multiple of
/// `slowAnswerInterval`: such services take longer, and delay their refusals.
///
/// There, names whose password the gateway itself has look like all others. If the gateway refuses such a password, the service is asked
/// about a name without a user. The client gets the questions of the service, and waits as long as for another name. The login fails even
/// if the service accepts.
package struct LoginConversation: Sendable {
  package static let version: UInt8 = 1
  package static let answerInterval = Duration.milliseconds(250)
  package static let slowAnswerInterval = Duration.seconds(3)
  /// For the next message of a client.
  package static let patience = Duration.seconds(120)
  /// For the first messages, up to the first factor; and for the first byte.
  package static let firstPatience = Duration.seconds(20)
  package static let silence = Duration.seconds(5)
  /// New passwords that are refused before the login is.
  static let newPasswordTries = 3
  /// For the OpenID provider's first answers; and what is added to the life of its code.
  static let providerPatience = Duration.seconds(30)

  enum State {
    case greeting
    case identifying(LoginHello)
    case checkingPassword(PasswordCheck)
    /// The service that checks the password has asked something.
    case prompting(PasswordCheck)
    case checkingToken(LoginHello, factors: [LoginMethod], since: Moment)
    /// The OpenID provider is asked for a code; then the person is with it.
    case awaitingPage(LoginHello)
    case visiting(LoginHello)
    /// The person is asked for a password or a token of the user of this name.
    case linking(LoginHello, name: String)
    case asking(Session)
    case checkingCode(Session, since: Moment)
    case settingPassword(Session)
    case binding(Session)
    /// A message waits for its time.
    case held(GatewayMessage, until: Moment, then: Next)
    case closed
  }

  enum Next {
    case ask(Session)
    case prompt(PasswordCheck)
    case close
  }

  /// A user who has proven the first factor.
  struct Session {
    var hello: LoginHello
    var account: LoginAccount
    /// As it was given, or nothing with a token or an OpenID provider.
    var name: String?
    var factors: [LoginMethod]
    var tries = 0
  }

  var state = State.greeting
  var limit: Moment
  private let began: Moment
  let address: IPAddress
  /// The methods to begin with.
  private let offers: [LoginMethod]
  /// Of refused passwords.
  let passwordInterval: Duration
  package init(
    from address: IPAddress, at now: Moment, offers: [LoginMethod] = [.password, .token], passwordInterval: Duration = Self.answerInterval
  ) {
    self.address = address
    self.offers = offers
    self.passwordInterval = passwordInterval
    began = now
    limit = now + Self.silence
  }

  /// The client's first byte has come.
  package mutating func hear() {
    if case .greeting = state { limit = began + Self.firstPatience }
  }

  package var isClosed: Bool { stage == .closed }
  /// Whether an answer is awaited from the program.
  package var isWaiting: Bool {
    switch state {
    case .checkingPassword, .checkingToken, .awaitingPage, .visiting, .checkingCode, .settingPassword, .binding: true
    case .greeting, .identifying, .linking, .prompting, .asking, .held, .closed: false
    }
  }

  /// When `expire` has something to do. Without one, an answer is awaited.
  package var deadline: Moment? {
    switch state {
    case .held(_, let until, _): until
    case .awaitingPage, .visiting: limit
    default: isWaiting || isClosed ? nil : limit
    }
  }
}

// From the client.
extension LoginConversation {
  package mutating func receive(_ message: ClientMessage, _ limits: inout LoginLimits, at now: Moment) -> [LoginEffect] {
    switch (state, message) {
    case (.greeting, .hello(let hello)): return greet(hello)
    case (.greeting, .relay(let versions)):
      state = .closed
      return [.relay(versions: versions)]
    case (.identifying(let hello), .password(let user, let password)):
      if let wait = limits.begin(user, from: address, at: now) { return pause(wait, at: now) }
      state = .checkingPassword(PasswordCheck(hello: hello, name: user, since: now))
      return [.checkPassword(name: GatewayName(user), password: password)]
    case (.identifying(let hello), .token(let token)):
      if let wait = limits.begin(nil, from: address, at: now) { return pause(wait, at: now) }
      state = .checkingToken(hello, factors: [.token], since: now)
      return [.checkToken(token)]
    case (.linking(let hello, let name), .answer(.prompt, let proof)): return link(name, by: proof, hello, &limits, at: now)
    case (.identifying(let hello), .begin(.openID)) where offers.contains(.openID):
      if let wait = limits.begin(nil, from: address, at: now) { return pause(wait, at: now) }
      state = .awaitingPage(hello)
      limit = now + Self.providerPatience
      return [.signIn]
    case (.prompting(var check), .answer(.prompt, let value)):
      check.since = now
      check.factors = [.password, .prompt]
      state = .checkingPassword(check)
      return [.answerPrompt(value)]
    case (.asking(let session), .answer(let method, let value)): return take(value, method, of: session, &limits, at: now)
    default: return fail(.format)
    }
  }

  /// The client's bytes are no message.
  package mutating func receiveNonsense() -> [LoginEffect] { isClosed ? [] : fail(.format) }

  private mutating func greet(_ hello: LoginHello) -> [LoginEffect] {
    guard hello.versions.contains(Self.version) else { return fail(.version) }
    let methods = offers.filter(hello.methods.contains)
    guard !methods.isEmpty else { return fail(.unsupported) }
    hear()
    state = .identifying(hello)
    return [.send(.welcome(version: Self.version, methods: methods))]
  }

  private mutating func take(
    _ value: [UInt8], _ method: LoginMethod, of session: Session, _ limits: inout LoginLimits, at now: Moment
  ) -> [LoginEffect] {
    var session = session
    guard let question = session.account.questions.first, question.method == method else { return fail(.format) }
    switch question {
    case .code:
      if let wait = limits.begin(session.name, codeOf: session.account.user, from: address, at: now) { return pause(wait, at: now) }
      state = .checkingCode(session, since: now)
      return [.checkCode(user: session.account.user, code: value)]
    case .newPassword:
      state = .settingPassword(session)
      return [.setPassword(user: session.account.user, password: value)]
    case .banner:
      session.account.questions.removeFirst()
      return proceed(session, at: now)
    }
  }
}

// From the program.
extension LoginConversation {
  package mutating func receive(_ answer: LoginAnswer, _ limits: inout LoginLimits, at now: Moment) -> [LoginEffect] {
    switch (state, answer) {
    case (.checkingPassword(let check), _): return receive(answer, of: check, &limits, at: now)
    case (.checkingToken(let hello, let factors, let since), .account(let account)):
      limits.succeed(nil, from: address, at: now)
      return identified(Session(hello: hello, account: account, name: nil, factors: factors), since: since, at: now)
    case (.awaitingPage(let hello), .visit(let page)):
      state = .visiting(hello)
      limit = now + .seconds(Int64(page.seconds)) + Self.providerPatience
      return [.send(.visit(page))]
    case (.visiting(let hello), .account(let account)):
      limits.succeed(nil, from: address, at: now)
      return identified(Session(hello: hello, account: account, name: nil, factors: [.openID]), since: now, at: now)
    case (.visiting(let hello), .link(let name)): return askForLink(name, hello, at: now)
    // The gateway has noted it: it knows the name.
    case (.visiting, .refused): return hold(.failed(.wrong, retryAfter: 0), now, now, .close)
    case (.visiting, .expired): return fail(.timeout)
    case (.checkingToken(_, _, let since), .refused(let refusal)): return refuse(refusal, "", since: since, at: now)
    case (.checkingCode(let session, let since), .refused(let refusal)):
      return refuse(refusal, session.name ?? "", since: since, at: now)
    case (.checkingCode(var session, let since), .accepted):
      limits.succeed(session.name, codeOf: session.account.user, from: address, at: now)
      session.factors.append(.code)
      session.account.questions.removeFirst()
      return identified(session, since: since, at: now)
    case (.settingPassword(var session), .accepted):
      session.account.questions.removeFirst()
      return proceed(session, at: now)
    case (.settingPassword(var session), .unsuitable(let text)):
      session.tries += 1
      if session.tries >= Self.newPasswordTries { return fail(.wrong) }
      return ask(session, text: text, at: now)
    case (.binding, .bound(let grant)):
      state = .closed
      return [.send(.done(grant)), .close]
    case (.binding, .unbound): return fail(.device)
    // The gateway has noted it: it knows the user.
    case (.binding, .refused(.deviceLimit)): return fail(.deviceLimit)
    case (_, .unavailable) where isWaiting, (_, .busy) where isWaiting:
      withdraw(&limits)
      return answer == .busy ? fail(.later, retryAfter: 5) : fail(.unavailable, retryAfter: 15)
    // An answer to a conversation that has ended, or to another question, tells nothing.
    default: return []
    }
  }

  private func withdraw(_ limits: inout LoginLimits) {
    switch state {
    case .checkingToken, .awaitingPage, .visiting: limits.withdraw(nil, from: address)
    case .checkingCode(let session, _): limits.withdraw(session.name, codeOf: session.account.user, from: address)
    default: break
    }
  }

  /// Goes on behind a right factor: what the client can see of it waits for its time.
  mutating func identified(_ session: Session, since: Moment, at now: Moment) -> [LoginEffect] {
    guard let question = session.account.questions.first else { return proceed(session, at: now) }
    guard session.hello.methods.contains(question.method) else { return hold(.failed(.unsupported, retryAfter: 0), since, now, .close) }
    return hold(.more(question.method, text: question.text), since, now, .ask(session))
  }

  private mutating func proceed(_ session: Session, at now: Moment) -> [LoginEffect] {
    guard session.account.questions.isEmpty else { return ask(session, at: now) }
    state = .binding(session)
    return [.bind(session.account, session.hello, factors: session.factors)]
  }

  private mutating func ask(_ session: Session, text: String? = nil, at now: Moment) -> [LoginEffect] {
    guard let question = session.account.questions.first else { return proceed(session, at: now) }
    guard session.hello.methods.contains(question.method) else { return fail(.unsupported) }
    state = .asking(session)
    limit = now + Self.patience
    return [.send(.more(question.method, text: text ?? question.text))]
  }
}

// Ends, and times.
extension LoginConversation {
  /// At its deadline.
  package mutating func expire(at now: Moment) -> [LoginEffect] {
    guard let deadline, now >= deadline else { return [] }
    guard case .held(let message, _, let next) = state else { return fail(.timeout) }
    switch next {
    case .close:
      state = .closed
      return [.send(message), .close]
    case .ask(let session):
      state = .asking(session)
      limit = now + Self.patience
      return [.send(message)]
    case .prompt(let check):
      state = .prompting(check)
      limit = now + Self.patience
      return [.send(message)]
    }
  }

  private mutating func refuse(_ refusal: LoginRefusal, _ name: String, since: Moment, at now: Moment) -> [LoginEffect] {
    [.record(refusal, name: name)] + hold(.failed(.wrong, retryAfter: 0), since, now, .close)
  }

  /// Not noted: the failures before it are, and further attempts would fill the audit log.
  mutating func pause(_ wait: UInt16, at now: Moment) -> [LoginEffect] {
    hold(.failed(.later, retryAfter: wait), now, now, .close)
  }

  private mutating func fail(_ failure: LoginFailure, retryAfter: UInt16 = 0) -> [LoginEffect] {
    state = .closed
    return [.send(.failed(failure, retryAfter: retryAfter)), .close]
  }

  mutating func hold(
    _ message: GatewayMessage, _ since: Moment, _ now: Moment, _ next: Next, interval: Duration = Self.answerInterval
  ) -> [LoginEffect] {
    state = .held(message, until: Self.sendTime(after: since, now, interval: interval), then: next)
    return []
  }

  /// The first multiple of `interval` after `since` that has not passed.
  static func sendTime(after since: Moment, _ now: Moment, interval: Duration = Self.answerInterval) -> Moment {
    var end = since + interval
    while end < now { end = end + interval }
    return end
  }
}

extension LoginAccount.Question {
  /// The text of the question for the person.
  var text: String {
    switch self {
    case .code: "Enter the 6-digit code of your authenticator app, or a recovery code."
    case .newPassword: "Your password has to be changed. Choose one of at least \(NewPassword.shortest) characters."
    case .banner(let text): text
    }
  }
}
