internal import JSON
internal import Lives
internal import NetworkTypes
internal import ProgramProvider
internal import ProviderCertificates
package import ProviderLife
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
package final class OpenVPN<Runner: OpenVPNRunner>: ProgramProvider {
  package let host: ProviderHost
  package var life = ProgramLife<OpenVPNRun>()
  private let runner: Runner

  package init(host: ProviderHost) {
    self.host = host
    runner = Runner(host: host)
  }

  // MARK: The agent

  package func start(_ request: StartRequest) {
    let attempt = life.start()
    let login = OpenVPNRun.Login(
      username: request.options["username"]?.string, password: text(of: "password"), keyPassword: text(of: "key-password"))
    guard let bytes = host.credential("config") else {
      return fail("no-config", "the credential `config` is missing: name the client's file, such as `config: corp.ovpn`", .person)
    }
    let file: ClientFile
    do throws(ClientFile.Failure) { file = try ClientFile(bytes) } catch { return fail("invalid-config", "\(error)", .person) }
    if let validity = file.certificate.flatMap({ CertificateValidity(of: $0) })?.told(as: "this machine's certificate") {
      host.validity(validity)
    }
    if !file.leftOut.isEmpty {
      host.log(.info, "config", "left out, because the agent does it: \(file.leftOut.joined(separator: ", "))")
    }
    openDevice(attempt) { [weak self] device in
      // A name in the policy means that the server wants one, whatever the file says.
      let names = login.username == nil || file.asksForLogin ? "" : "auth-user-pass\n"
      // By itself it would turn to the next server after two minutes; the file's own time, which comes later, counts.
      let turn = file.servers > 1 ? "server-poll-timeout 20\n" : ""
      self?.launch(OpenVPNRun(login: login, servers: file.servers), missing: "openvpn-missing") { process in
        self?.runner.start(names + turn + file.text, device: device, line: { self?.take($0, from: process) }) { code in
          self?.ended(process, code: code)
        }
      }
    }
  }

  package func leave(_ reason: StopReason) { runner.send("signal SIGTERM") }

  package func kill() { runner.kill() }

  package func networkChanged(_ path: NetworkPath?) {
    if case .running = life.phase, path != nil { runner.send("signal SIGUSR1") }
  }

  package func receive(_ message: MessageContent, reply: @escaping (MessageReply) -> Void) {
    var isConnected = false
    if case .running(_, let program, _) = life.phase { isConnected = program.isConnected }
    let trouble = life.program?.trouble ?? ""
    let status: JSON = ["connected": .bool(isConnected), "trouble": trouble.isEmpty ? .null : .string(trouble)]
    reply(answer(message, status: .success(.typed("status", status))))
  }

  // MARK: The program

  private func take(_ line: ManagementLine, from process: LifeToken) {
    let (isReady, now) = (life.isReady, host.now)
    // The last words of a program that is not wanted any more are for the log alone.
    let effects = life.update(process) { $0.take(line, isReady: isReady, at: now) } ?? OpenVPNRun.words(of: line)
    for effect in effects { perform(effect, of: process) }
  }

  private func perform(_ effect: OpenVPNRun.Effect, of process: LifeToken) {
    switch effect {
    case .log(let level, let origin, let text): host.log(level, origin, text)
    case .send(let command): runner.send(command)
    case .sendLater(let command, let pause):
      host.after(pause) { [weak self] in
        if let self, life.isRunning(process) { runner.send(command) }
      }
    case .look(let connection, let pause):
      host.after(pause) { [weak self] in
        if let self, life.isRunning(process), life.program?.isConnected(as: connection) == true { runner.send(OpenVPNRun.counting) }
      }
    case .apply(let settings): apply(settings, for: process)
    case .found: perform(life.found())
    case .lost(let code, let text): perform(life.lost(code, text))
    case .doubt(let code, let text): perform(life.doubt(code, text))
    case .page(let url): host.ask(Question(kind: .url, prompt: "Sign in to \(host.tunnel)", url: url)) { _ in }
    case .wants(let what, let challenge): answer(what, challenge, of: process)
    case .challenged(let challenge): answer(challenge, of: process)
    case .fail(let failure): fail(failure)
    }
  }

  private func ended(_ process: LifeToken, code: Int32) {
    if let (program, _) = ended(process) { fail(program.failure(code: code)) }
  }

  // MARK: Signing in

  private func answer(_ what: String, _ challenge: ManagementLine.Challenge?, of process: LifeToken) {
    guard let login = life.program?.login else { return }
    guard what == "Auth" else {
      guard what == "Private Key" else { return fail("unsupported", "openvpn asks for `\(what)`, which is not supported", .person) }
      let prompt = "Password of the private key of \(host.tunnel)"
      return withSecret(login.keyPassword, prompt, credential: "key-password", of: process) { [weak self] in
        self?.give(password: $0, for: what)
      }
    }
    if let (username, password) = login.answer {
      _ = life.update(process) { $0.login.answer = nil }
      return give(username: username, password: password)
    }
    guard let username = login.username else {
      return fail("no-username", "the server asks for a user name: add `username:` to the options", .person)
    }
    let prompt = "Password of \(username) for \(host.tunnel)"
    withSecret(login.password, prompt, credential: "password", of: process) { [weak self] password in
      guard let challenge else { return self?.give(username: username, password: password) ?? () }
      self?.ask(challenge.text, of: process) { [weak self] code in
        let both =
          challenge.isConcatenated
          ? password + code : "SCRV1:\(base64(Array(password.utf8))):\(base64(Array(code.utf8)))"
        self?.give(username: username, password: both)
      }
    }
  }

  private func answer(_ challenge: ManagementLine.DynamicChallenge, of process: LifeToken) {
    ask(challenge.text, of: process) { [weak self] code in
      let answer = (challenge.username, "CRV1::\(challenge.state)::\(code)")
      _ = self?.life.update(process) { $0.login.answer = answer }
      self?.runner.send("hold release")
    }
  }

  private func withSecret(
    _ known: String?, _ prompt: String, credential: String, of process: LifeToken, then use: @escaping (String) -> Void
  ) {
    if let known { return use(known) }
    host.ask(Question(kind: .password, prompt: prompt)) { [weak self] answer in
      guard let self, life.isRunning(process) else { return }
      if case .secret(let bytes) = answer, let text = String(validating: bytes, as: UTF8.self) { return use(text) }
      fail("no-password", "it needs a password, or a file with it: `credentials: { \(credential): FILE }`", .person)
    }
  }

  private func ask(_ prompt: String, of process: LifeToken, then use: @escaping (String) -> Void) {
    host.ask(Question(kind: .code, prompt: prompt.isEmpty ? "Code for \(host.tunnel)" : prompt)) { [weak self] answer in
      guard let self, life.isRunning(process) else { return }
      if case .secret(let bytes) = answer, let text = String(validating: bytes, as: UTF8.self) { return use(text) }
      fail("no-code", "the server asks for a code, and no person answered: \(prompt)", .person)
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
