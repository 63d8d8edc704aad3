internal import LoginProtocol
internal import NetworkTypes
internal import ProviderProtocol
internal import RoamwardProvider

/// A login at the gateway (docs/wire-format.md): TLS over a socket of the agent, which a kill switch lets pass, and questions to the
/// person.
final class SignIn {
  /// The gateway answers a hash within a second; more means that the network is broken.
  private static let patience = Duration.seconds(20)
  /// The gateway waits for its OpenID provider, and says before that a code has ended.
  private static let pagePatience = Duration.seconds(60)
  /// For a connection, which a firewall may swallow.
  private static let connectPatience = Duration.seconds(8)
  /// The second port of logins at gateways that relay packets: the one port that every network lets pass.
  private static let otherPort: UInt16 = 443

  /// More than a gateway asks.
  private static let promptLimit = 16

  private let host: ProviderHost
  private let options: ClientOptions
  private let publicKey: [UInt8]
  private let token: [UInt8]?
  private var password: [UInt8]?
  private let done: (Result<LoginGrant, TunnelFailure>) -> Void
  private var link: Link?
  private var question: UInt32 = 0
  private var hasChangedPassword = false
  private var hasBegunOpenID = false
  private var prompts = 0
  /// Which connection the callbacks are for.
  private var attempt = 0
  /// The failure at the policy's port, while the other one is tried.
  private var firstFailure: TunnelFailure?
  /// Whether the gateway has shown its key.
  private var isKnown = false

  /// One connection.
  private struct Link {
    let socket: any OutsideSocket
    let tls: TLSClient
    var frames = LoginFrameStream()
    var limit: ProviderTimer?
    var hasSentHello = false
  }

  /// `done` is called once.
  init(
    _ host: ProviderHost, _ options: ClientOptions, publicKey: [UInt8], token: [UInt8]?, password: [UInt8]?,
    done: @escaping (Result<LoginGrant, TunnelFailure>) -> Void
  ) {
    self.host = host
    self.options = options
    self.publicKey = publicKey
    self.token = token
    self.password = password
    self.done = done
  }

  func begin() {
    connect(to: firstFailure == nil ? options.server : Endpoint(host: options.server.host, port: Self.otherPort))
  }

  private func connect(to server: Endpoint) {
    attempt += 1
    let number = attempt
    let limit = host.after(Self.connectPatience) { [weak self] in self?.unreachable("unreachable", "there is no answer", number) }
    host.connect(.tcp, to: server) { [weak self] result in
      guard let self, attempt == number else {
        if case .success(let socket) = result { socket.close() }
        return
      }
      limit.cancel()
      switch result {
      case .failure(let refusal): unreachable(refusal.code, refusal.text, number)
      case .success(let socket): talk(by: socket)
      }
    }
  }

  private func unreachable(_ code: Word, _ reason: String, _ number: Int) {
    guard attempt == number else { return }
    let text = "the gateway \(options.server) takes no connection: \(reason); check the network and the gateway"
    guard firstFailure == nil, options.server.port != Self.otherPort else { return fail(code, text, .time) }
    firstFailure = TunnelFailure(code: code, text: text, help: .time)
    connect(to: Endpoint(host: options.server.host, port: Self.otherPort))
  }

  private func talk(by socket: any OutsideSocket) {
    guard let tls = TLSClient(pin: options.pin) else { return fail("no-tls", "OpenSSL cannot make a connection", .nobody) }
    link = Link(socket: socket, tls: tls)
    socket.receive { [weak self] input in
      switch input {
      case .data(let pieces): for piece in pieces { self?.take(piece) }
      case .ended(let reason): self?.ended(reason)
      }
    }
    flush()
    awaitGateway()
  }

  private func ended(_ reason: String) {
    guard link != nil else { return }
    fail("connection-ended", "the gateway \(options.server) ended the login: \(reason)", .time)
  }

  /// It is the gateway's turn.
  private func awaitGateway() {
    let patience = hasBegunOpenID ? Self.pagePatience : Self.patience
    link?.limit?.cancel()
    link?.limit = host.after(patience) { [weak self] in
      guard let self else { return }
      fail("sign-in-timeout", "the gateway \(options.server) has not answered a login within \(patience)", .time)
    }
  }

  private func take(_ bytes: [UInt8]) {
    guard let tls = link?.tls else { return }
    do throws(TLSClient.Failure) {
      let plain = try tls.receive(bytes)
      if tls.isProven, link?.hasSentHello == false {
        link?.hasSentHello = true
        isKnown = true
        send(.hello(LoginHello(device: options.device, publicKey: publicKey)))
      }
      flush()
      try take(plain: plain)
    } catch {
      switch error {
      case .ended:
        fail("no-tls", "\(options.server) does not speak TLS 1.3 as a gateway does, or ended the login; check the address", .time)
      case .otherKey(let found):
        fail(
          "other-key",
          "\(options.server) has another key, \(found): the network intercepts the connection, or the gateway has a new one; "
            + "compare with `roamward-gateway login show` there", .time)
      }
    }
  }

  private func take(plain: [UInt8]) throws(TLSClient.Failure) {
    do throws(LoginFrameError) {
      for frame in try link?.frames.receive(plain) ?? [] {
        // Frames after the end of the login have no meaning.
        guard link != nil else { return }
        take(try GatewayMessage(frame))
      }
    } catch {
      throw .ended
    }
  }

  private func send(_ message: ClientMessage) {
    link?.tls.send(message.frame.bytes)
    flush()
    awaitGateway()
  }

  private func flush() {
    guard let link else { return }
    let bytes = link.tls.takeOutput()
    if !bytes.isEmpty { link.socket.send([bytes]) }
  }

  private func close() {
    link?.limit?.cancel()
    link?.socket.close()
    link = nil
    if question != 0 { host.withdraw(question) }
    question = 0
  }

  private func fail(_ code: Word, _ text: String, _ help: TunnelFailure.Help, after: Duration? = nil) {
    attempt += 1
    close()
    // The other port may belong to another service.
    if let firstFailure, !isKnown { return done(.failure(firstFailure)) }
    done(.failure(TunnelFailure(code: code, text: text, help: help, retryAfter: after)))
  }

  // MARK: The conversation

  private func take(_ message: GatewayMessage) {
    switch message {
    case .welcome(_, let methods): prove(by: methods)
    case .more(let method, let text): answer(method, text)
    case .prompt(let text, let echo): prompt(text, isVisible: echo)
    case .visit(let page): visit(page)
    case .done(let grant):
      close()
      if hasChangedPassword {
        host.log(.notice, "login", "the password was changed; a file with the one before needs the new one")
      }
      done(.success(grant))
    case .failed(let failure, let seconds): refused(failure, seconds)
    case .relaying: fail("format", "the gateway \(options.server) answers a login with a relay; update it", .nobody)
    }
  }

  private func prove(by methods: [LoginMethod]) {
    if let token, methods.contains(.token) { return send(.token(token)) }
    guard let username = options.username else { return signIn(by: methods) }
    guard methods.contains(.password) else {
      return fail("unsupported", "the gateway takes no \(token == nil ? "password" : "token"); ask its administrator", .nobody)
    }
    if let password { return send(.password(user: username, password: password)) }
    // A person takes longer than the gateway waits: it is asked only once the gateway is known to answer, and without a connection.
    close()
    ask(.password, "Password of \(username) at \(options.server)") { [weak self] secret in
      self?.password = secret
      self?.begin()
    }
  }

  /// Without a name, the person signs in at the gateway's OpenID provider.
  private func signIn(by methods: [LoginMethod]) {
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

  private func answer(_ method: LoginMethod, _ text: String) {
    link?.limit?.cancel()
    // That of the page, if the person has signed in by another device.
    if question != 0 { host.withdraw(question) }
    question = 0
    let words = text.isEmpty ? "" : "\(text)\n"
    switch method {
    case .code: ask(.code, "\(words)One-time code for \(options.server)") { [weak self] in self?.send(.answer(.code, $0)) }
    case .newPassword:
      ask(.password, "\(words)New password for \(options.server)") { [weak self] in
        self?.hasChangedPassword = true
        self?.send(.answer(.newPassword, $0))
      }
    case .banner:
      question = host.ask(Question(kind: .confirm, prompt: text.isEmpty ? "Accept the terms of \(options.server)?" : text)) { [weak self] in
        self?.question = 0
        guard case .agreed = $0 else { return self?.unanswered($0) ?? () }
        self?.send(.answer(.banner, []))
      }
    case .password, .token, .openID, .prompt: fail("unsupported", "the gateway asks for a second \(method); update this client", .nobody)
    }
  }

  /// A question of the service that checks the gateway's passwords: for a secret, unless the service says that the answer may be seen.
  private func prompt(_ text: String, isVisible: Bool) {
    link?.limit?.cancel()
    if question != 0 { host.withdraw(question) }
    question = 0
    prompts += 1
    guard prompts <= Self.promptLimit else { return fail("format", "the gateway \(options.server) asks too much", .nobody) }
    ask(isVisible ? .text : .code, text.isEmpty ? "Answer for \(options.server)" : "\(text)\nAnswer for \(options.server)") { [weak self] in
      self?.send(.answer(.prompt, $0))
    }
  }

  /// The person enters a code at the OpenID provider. The gateway learns it from there: no answer is sent.
  private func visit(_ page: SignInPage) {
    guard hasBegunOpenID, question == 0 else { return fail("format", "the gateway \(options.server) does not follow the login", .nobody) }
    link?.limit?.cancel()
    let prompt = "Sign in for \(options.server) with the code \(page.code), at \(page.url)"
    question = host.ask(Question(kind: .url, prompt: prompt, url: page.completeURL ?? page.url)) { [weak self] answer in
      self?.question = 0
      // The gateway waits for as long as the code is valid.
      if answer != .agreed { self?.unanswered(answer) }
    }
    link?.limit = host.after(.seconds(Int64(page.seconds)) + Self.pagePatience) { [weak self] in
      guard let self else { return }
      fail("sign-in-timeout", "the code \(page.code) has ended; `roamward answer \(host.tunnel)` asks for another one", .person)
    }
  }

  private func ask(_ kind: Question.Kind, _ prompt: String, then: @escaping ([UInt8]) -> Void) {
    question = host.ask(Question(kind: kind, prompt: prompt)) { [weak self] answer in
      self?.question = 0
      guard case .secret(let bytes) = answer else { return self?.unanswered(answer) ?? () }
      guard bytes.count <= ClientMessage.secretLimit else {
        return self?.fail("auth-failed", "the answer is longer than \(ClientMessage.secretLimit) bytes", .person) ?? ()
      }
      then(bytes)
    }
  }

  private func unanswered(_ answer: ProviderHost.Answer) {
    let words = answer == .declined ? "the question of the login was declined" : "the question of the login had no answer"
    fail("no-answer-of-person", "\(words); `roamward answer \(host.tunnel)` asks again", .person)
  }

  private func refused(_ failure: LoginFailure, _ seconds: UInt16) {
    let wait = seconds > 0 ? Duration.seconds(Int(seconds)) : nil
    let at = "the gateway \(options.server)"
    switch failure {
    case .wrong where hasBegunOpenID:
      fail(
        "auth-failed",
        "\(at) does not accept this person: the sign-in was refused, or is linked to no user; its administrator reads why with "
          + "`roamward-gateway audit tail`, and links a user with `roamward-gateway user link`", .person)
    case .wrong where token != nil:
      fail("auth-failed", "\(at) does not accept the token: it is used up or too old; ask its administrator for another one", .person)
    case .wrong:
      fail(
        "auth-failed",
        "\(at) does not accept the name, the password or the code: `roamward answer \(host.tunnel)` asks again; or ask its administrator, "
          + "who reads why with `roamward-gateway audit tail`", .person)
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
    case .timeout: fail("sign-in-timeout", "the answer to \(at) took too long; `roamward answer \(host.tunnel)` asks again", .person)
    }
  }
}
