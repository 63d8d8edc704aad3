internal import Lives
internal import LoginProtocol
internal import ProviderProtocol

// The gateway's messages, and the person's answers.
extension SignInMachine {
  mutating func take(_ message: GatewayMessage) {
    switch message {
    case .welcome(_, let methods): prove(by: methods)
    case .more(let method, let text): answer(method, text)
    case .prompt(let text, let echo): prompt(text, isVisible: echo)
    case .visit(let page): visit(page)
    case .done(let grant): done(grant)
    case .failed(let failure, let seconds): refused(failure, seconds)
    case .relaying: fail("format", "the gateway \(options.server) answers a login with a relay; update it", .nobody)
    }
  }

  private mutating func prove(by methods: [LoginMethod]) {
    if let token, methods.contains(.token) { return send(.token(token)) }
    guard let username = options.username else { return signIn(by: methods) }
    guard methods.contains(.password), !hasOfferedToken else {
      return fail("unsupported", "the gateway takes no \(token == nil ? "password" : "token"); ask its administrator", .nobody)
    }
    if let password { return send(.password(user: username, password: password)) }
    // Only once the gateway is known to answer, and without a connection.
    withdraw()
    effects.append(.close)
    ask(.password, Question(kind: .password, prompt: "Password of \(username) at \(options.server)"))
  }

  /// Without a name, the person signs in at the gateway's OpenID provider.
  private mutating func signIn(by methods: [LoginMethod]) {
    guard token == nil else { return fail("unsupported", "the gateway takes no token; ask its administrator", .nobody) }
    guard methods.contains(.openID) else {
      return fail(
        "no-user",
        "there is neither a user nor a token, and the gateway has no OpenID provider; name `username:` in its options, or `token:` in its "
          + "credentials", .person)
    }
    hasBegunOpenID = true
    send(.begin(.openID))
  }

  private mutating func done(_ grant: LoginGrant) {
    if hasChangedPassword { effects.append(.log("the password was changed; a file with the one before needs the new one")) }
    end(.success(grant))
  }

  // MARK: Questions

  private mutating func ask(_ method: LoginMethod, _ question: Question) {
    let attempt = LifeToken()
    phase = .asking(attempt, method)
    effects += [.unlimited, .ask(attempt, question)]
  }

  private mutating func answer(_ method: LoginMethod, _ text: String) {
    // That of the page, if the person has signed in by another device.
    withdraw()
    let words = text.isEmpty ? "" : "\(text)\n"
    switch method {
    case .code: ask(.code, Question(kind: .code, prompt: "\(words)One-time code for \(options.server)"))
    case .newPassword: ask(.newPassword, Question(kind: .password, prompt: "\(words)New password for \(options.server)"))
    case .banner: ask(.banner, Question(kind: .confirm, prompt: text.isEmpty ? "Accept the terms of \(options.server)?" : text))
    case .password, .token, .openID, .prompt: refuse("unsupported", "the gateway asks for a second \(method); update this client")
    }
  }

  /// A question of the service that checks the gateway's passwords: for a secret, unless the service says that the answer may be seen.
  private mutating func prompt(_ text: String, isVisible: Bool) {
    withdraw()
    prompts += 1
    guard prompts <= Self.promptLimit else { return refuse("format", "the gateway \(options.server) asks too much") }
    let prompt = text.isEmpty ? "Answer for \(options.server)" : "\(text)\nAnswer for \(options.server)"
    ask(.prompt, Question(kind: isVisible ? .text : .code, prompt: prompt))
  }

  private mutating func visit(_ page: SignInPage) {
    guard hasBegunOpenID, !hasQuestion else { return refuse("format", "the gateway \(options.server) does not follow the login") }
    let attempt = LifeToken()
    phase = .visiting(attempt, code: page.code, isOpen: true)
    let prompt = "Sign in for \(options.server) with the code \(page.code), at \(page.url)"
    effects += [
      .ask(attempt, Question(kind: .url, prompt: prompt, url: page.completeURL ?? page.url)),
      .limit(attempt, .seconds(Int64(page.seconds)) + Self.pagePatience),
    ]
  }

  mutating func answered(_ method: LoginMethod, _ answer: Answer) {
    phase = .waiting(LifeToken())
    if method == .banner {
      guard answer == .agreed else { return unanswered(answer) }
      return send(.answer(.banner, []))
    }
    guard case .secret(let bytes) = answer else { return unanswered(answer) }
    guard bytes.count <= ClientMessage.secretLimit else {
      return fail("auth-failed", "the answer is longer than \(ClientMessage.secretLimit) bytes", .person)
    }
    let isToken = LoginToken(String(decoding: bytes, as: UTF8.self)) != nil
    if method == .password {
      // An invitation has a token in place of a password.
      if isToken { (token, hasOfferedToken) = (bytes, true) } else { password = bytes }
      return connect()
    }
    if method == .newPassword {
      if isToken { return fail("auth-failed", "a token is no new password; `roamward answer \(tunnel)` asks again", .person) }
      hasChangedPassword = true
    }
    send(.answer(method, bytes))
  }

  mutating func unanswered(_ answer: Answer) {
    let words = answer == .declined ? "the question of the login was declined" : "the question of the login had no answer"
    fail("no-answer-of-person", "\(words); `roamward answer \(tunnel)` asks again", .person)
  }

  private mutating func refuse(_ code: Word, _ text: String) { fail(code, text, .nobody) }

  private mutating func refused(_ failure: LoginFailure, _ seconds: UInt16) {
    let wait = seconds > 0 ? Duration.seconds(Int(seconds)) : nil
    let at = "the gateway \(options.server)"
    switch failure {
    case .wrong where hasBegunOpenID:
      fail(
        "auth-failed",
        "\(at) does not accept this person: the sign-in was refused, or is linked to no user; its administrator reads why with "
          + "`roamward-gateway audit`, and links a user with `roamward-gateway user set`", .person)
    case .wrong where token != nil:
      fail("auth-failed", "\(at) does not accept the token: it is used up or too old; ask its administrator for another one", .person)
    case .wrong:
      fail(
        "auth-failed",
        "\(at) does not accept the name, the password or the code: `roamward answer \(tunnel)` asks again; or ask its administrator, "
          + "who reads why with `roamward-gateway audit`", .person)
    case .later: fail("too-many-logins", "\(at) has had too many logins; the next is after \(seconds) s", .time, after: wait)
    case .unsupported: fail("unsupported", "\(at) asks for a method that this client does not have; update it", .nobody)
    case .version: fail("no-common-version", "\(at) and this client have no version in common; update the older one", .nobody)
    case .device:
      fail(
        "device-refused",
        "\(at) cannot add the device \(options.device): the name is not possible, or there is no free address; ask its administrator",
        .person)
    case .deviceLimit:
      fail(
        "too-many-devices",
        "\(at) adds no device: the user has as many as it allows; remove one at the gateway's page, or have its administrator run "
          + "`roamward-gateway device remove USER/NAME`", .person)
    case .unavailable: fail("gateway-unavailable", "\(at) cannot log anybody in now", .time, after: wait)
    case .format: fail("format", "\(at) does not understand this client; update the older one", .nobody)
    case .timeout: fail("sign-in-timeout", "the answer to \(at) took too long; `roamward answer \(tunnel)` asks again", .person)
    }
  }
}
