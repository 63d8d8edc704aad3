internal import JSON
internal import NetworkTypes
internal import ProviderCertificates
package import ProviderProtocol
package import RoamwardProvider

/// openvpn(8), as a provider sees it: a program with a management interface.
package protocol OpenVPNRunner: AnyObject {
  init(host: ProviderHost)
  /// Starts it with this client's configuration, on this TUN device. `line` and `ended` are called later; `ended` once, with its exit code.
  /// Returns the reason why it cannot be started.
  func start(
    _ configuration: String, device: String, line: @escaping (ManagementLine) -> Void, ended: @escaping (Int32) -> Void
  ) -> String?
  /// Sends a command to its management interface.
  func send(_ command: String)
  func kill()
}

/// OpenVPN as a provider: openvpn(8) without privileges on a device of the agent; addresses, routes and name servers are the agent's.
///
/// Each run is one process. What it says decides, never its exit code: that is 0 after a wrong password too.
package final class OpenVPN<Runner: OpenVPNRunner>: TunnelProvider {
  private let host: ProviderHost
  private let runner: Runner
  private var login = Login()
  private var isProcessRunning = false
  private var isConnected = false
  private var areSettingsApplied = false
  private var isReady = false
  private var settings: [(name: String, value: String)] = []
  private var pushReply = ""
  /// The reason that openvpn gave last for having no connection.
  private var trouble = ""
  private var attempts = 0
  /// The trouble that its log has told since the last connection, and the number of servers that it can turn to.
  private var known: OpenVPNTrouble?
  private var servers = 1
  private var lastLine = ""
  private var silence = ServerSilence()
  private var received: UInt64 = 0
  /// The number of the connection of this process.
  private var connections = 0
  private static var counting: String { "status" }

  private struct Login {
    var username: String?
    var password: String?
    var keyPassword: String?
    /// The answer to a dynamic challenge, for the next question.
    var answer: (username: String, password: String)?
  }

  package init(host: ProviderHost) {
    self.host = host
    runner = Runner(host: host)
  }

  // MARK: The agent

  package func start(_ request: StartRequest) {
    (isConnected, areSettingsApplied, isReady, settings, pushReply, trouble, attempts) = (false, false, false, [], "", "", 0)
    (silence, received) = (ServerSilence(), 0)
    connections += 1
    login = Login(
      username: request.options["username"]?.string, password: text(of: "password"), keyPassword: text(of: "key-password"))
    guard let bytes = host.credential("config") else {
      return fail("no-config", "the credential `config` is missing: name the client's file, such as `config: corp.ovpn`", .person)
    }
    let file: ClientFile
    do throws(ClientFile.Failure) { file = try ClientFile(bytes) } catch { return fail("invalid-config", "\(error)", .person) }
    // Each server is tried before what one of them said is the reason.
    (known, servers) = (nil, max(1, file.servers))
    if let validity = file.certificate.flatMap({ CertificateValidity(of: $0) })?.told(as: "this machine's certificate") {
      host.validity(validity)
    }
    if !file.leftOut.isEmpty {
      host.log(.info, "config", "left out, because the agent does it: \(file.leftOut.joined(separator: ", "))")
    }
    host.openDevice { [weak self] result in
      switch result {
      case .failure(let refusal): self?.fail(refusal.code, refusal.text, .time)
      case .success(let flow):
        // A device takes one program at a time: openvpn attaches to it by its name.
        (flow as? any ClosableFlow)?.close()
        // A name in the policy means that the server wants one, whatever the file says.
        let login = self?.login.username == nil || file.asksForLogin ? "" : "auth-user-pass\n"
        // By itself it would turn to the next server after two minutes; the file's own time, which comes later, counts.
        let turn = file.servers > 1 ? "server-poll-timeout 20\n" : ""
        self?.startProcess(login + turn + file.text, device: flow.interface)
      }
    }
  }

  private func startProcess(_ configuration: String, device: String) {
    let failure = runner.start(configuration, device: device, line: { [weak self] in self?.take($0) }) { [weak self] code in
      self?.ended(code)
    }
    if let failure { return fail("openvpn-missing", failure, .person) }
    isProcessRunning = true
  }

  package func stop(_ reason: StopReason) {
    guard isProcessRunning else { return host.stopped() }
    runner.send("signal SIGTERM")
    host.after(.seconds(5)) { [weak self] in self?.runner.kill() }
  }

  package func networkChanged(_ path: NetworkPath?) {
    guard isProcessRunning, path != nil else { return }
    runner.send("signal SIGUSR1")
  }

  package func receive(_ message: MessageContent, reply: @escaping (MessageReply) -> Void) {
    guard case .typed("status", _) = message else {
      return reply(.failure(Refusal(code: "unknown-type", text: "this provider knows `status`")))
    }
    reply(.success(.typed("status", ["connected": .bool(isConnected), "trouble": trouble.isEmpty ? .null : .string(trouble)])))
  }

  private func text(of credential: Word) -> String? {
    guard let bytes = host.credential(credential), var text = String(validating: bytes, as: UTF8.self) else { return nil }
    while text.last?.isNewline == true { text.removeLast() }
    return text
  }

  private func fail(_ code: Word, _ text: String, _ help: TunnelFailure.Help) {
    runner.kill()
    host.fail(TunnelFailure(code: code, text: "\(host.tunnel): \(text)", help: help))
  }

  // MARK: What openvpn says

  private func take(_ line: ManagementLine) {
    switch line {
    case .state(let state, let description): entered(state, description)
    case .hold(let seconds): hold(seconds)
    case .needs(let what, let hasUsername, let challenge): answer(what, hasUsername, challenge)
    case .refused(let what, let challenge): refused(what, challenge)
    case .up: settings = []
    case .down: break
    case .setting(let name, let value): if settings.count < 8192 { settings.append((name, value)) }
    case .endOfSettings: applySettings()
    case .log(let text, let isLoud):
      if text.contains("PUSH_REPLY") { pushReply = text }
      if text == "MANAGEMENT: CMD '\(Self.counting)'" { return }
      lastLine = text
      if !isConnected, let found = OpenVPNTrouble(text) { known = found }
      host.log(isLoud ? .warning : .debug, "openvpn", text)
    case .fatal(let text): fail("openvpn-failed", text, .time)
    case .page(let url): host.ask(Question(kind: .url, prompt: "Sign in to \(host.tunnel)", url: url)) { _ in }
    case .received(let bytes): received = bytes
    case .sent(let bytes): judge(sent: bytes)
    case .failure(let text): host.log(.warning, "management", text)
    case .other: break
    }
  }

  private func entered(_ state: String, _ description: String) {
    switch state {
    case "CONNECTED":
      (isConnected, trouble, attempts, known) = (true, "", 0, nil)
      silence.begin(pings: ServerSettings(settings, pushReply: pushReply).pings)
      connections += 1
      look()
      reportReady()
    case "RECONNECTING":
      (isConnected, trouble) = (false, description)
      if isReady { host.reasserting("reconnecting", "openvpn connects again (\(description))") }
      isReady = false
    case "EXITING": trouble = description
    default: break
    }
  }

  /// Has openvpn count, later.
  private func look() {
    let number = connections
    host.after(silence.pause) { [weak self] in
      if let self, isConnected, connections == number { runner.send(Self.counting) }
    }
  }

  private func judge(sent: UInt64) {
    guard isConnected else { return }
    let time = silence.take(received: received, sent: sent, at: host.now)
    look()
    guard isReady, let time else { return }
    isReady = false
    host.reasserting("peer-timeout", "the server has not answered for \(time.components.seconds) s")
    runner.send("signal SIGUSR1")
  }

  /// Answered at once, a server that refuses connections would be asked hundreds of times a second.
  private func hold(_ seconds: Int) {
    if let known, attempts >= servers { return fail(known.code, known.text, .time) }
    let pause = attempts == 0 ? 0 : max(seconds, min(1 << min(attempts, 6), 60))
    attempts += 1
    host.after(.seconds(pause)) { [weak self] in self?.runner.send("hold release") }
  }

  private func applySettings() {
    guard settings.contains(where: { $0.name == "dev" }) else { return }
    let sent = ServerSettings(settings, pushReply: pushReply)
    for text in sent.unreadable.prefix(20) { host.log(.warning, "settings", "the server's `\(text)` cannot be read") }
    areSettingsApplied = false
    host.apply(sent.settings) { [weak self] result in
      switch result {
      case .success(let refused):
        for setting in refused { self?.host.log(.notice, "settings", "refused: \(setting.setting) \(setting.value) (\(setting.code))") }
        self?.areSettingsApplied = true
        self?.reportReady()
      case .failure(let refusal): self?.fail(refusal.code, refusal.text, .time)
      }
    }
  }

  private func reportReady() {
    guard isConnected, areSettingsApplied, !isReady else { return }
    isReady = true
    host.ready()
  }

  private func ended(_ code: Int32) {
    (isProcessRunning, isConnected) = (false, false)
    // `stopped` does nothing unless the agent waits for it.
    host.stopped()
    if let known { return fail(known.code, known.text, .time) }
    let why = !trouble.isEmpty ? "(\(trouble))" : "with status \(code)" + (lastLine.isEmpty ? "" : ": \(lastLine)")
    host.fail(TunnelFailure(code: "openvpn-ended", text: "\(host.tunnel): openvpn ended \(why); see its log", help: .time))
  }

  // MARK: Signing in

  private func answer(_ what: String, _ hasUsername: Bool, _ challenge: ManagementLine.Challenge?) {
    guard what == "Auth" else {
      guard what == "Private Key" else { return fail("unsupported", "openvpn asks for `\(what)`, which is not supported", .person) }
      return withSecret(login.keyPassword, "Password of the private key of \(host.tunnel)", credential: "key-password") { [weak self] in
        self?.give(password: $0, for: what)
      }
    }
    if let (username, password) = login.answer {
      login.answer = nil
      return give(username: username, password: password)
    }
    guard let username = login.username else {
      return fail("no-username", "the server asks for a user name: add `username:` to the options", .person)
    }
    withSecret(login.password, "Password of \(username) for \(host.tunnel)", credential: "password") { [weak self] password in
      guard let challenge else { return self?.give(username: username, password: password) ?? () }
      self?.ask(challenge.text) { [weak self] code in
        let both =
          challenge.isConcatenated
          ? password + code : "SCRV1:\(base64(Array(password.utf8))):\(base64(Array(code.utf8)))"
        self?.give(username: username, password: both)
      }
    }
  }

  private func refused(_ what: String, _ challenge: ManagementLine.DynamicChallenge?) {
    guard let challenge, what == "Auth" else {
      let which = what == "Auth" ? "the server refused the user name or the password" : "the password of the private key is wrong"
      return fail("auth-failed", "\(which); correct it", .person)
    }
    ask(challenge.text) { [weak self] code in
      self?.login.answer = (challenge.username, "CRV1::\(challenge.state)::\(code)")
      self?.runner.send("hold release")
    }
  }

  private func withSecret(_ known: String?, _ prompt: String, credential: String, then use: @escaping (String) -> Void) {
    if let known { return use(known) }
    host.ask(Question(kind: .password, prompt: prompt)) { [weak self] answer in
      if case .secret(let bytes) = answer, let text = String(validating: bytes, as: UTF8.self) { return use(text) }
      self?.fail("no-password", "it needs a password, or a file with it: `credentials: { \(credential): FILE }`", .person)
    }
  }

  private func ask(_ prompt: String, then use: @escaping (String) -> Void) {
    host.ask(Question(kind: .code, prompt: prompt.isEmpty ? "Code for \(host.tunnel)" : prompt)) { [weak self] answer in
      if case .secret(let bytes) = answer, let text = String(validating: bytes, as: UTF8.self) { return use(text) }
      self?.fail("no-code", "the server asks for a code, and no person answered: \(prompt)", .person)
    }
  }

  private func give(username: String, password: String) {
    guard let word = managementWord(username) else { return fail("invalid-username", "the user name has a control character", .person) }
    runner.send("username \"Auth\" \(word)")
    give(password: password, for: "Auth")
  }

  private func give(password: String, for what: String) {
    guard let word = managementWord(password) else { return fail("invalid-password", "the password has a control character", .person) }
    runner.send("password \"\(what)\" \(word)")
  }
}
