internal import JSON
internal import Lives
internal import ProgramProvider
internal import ProviderCertificates
package import ProviderLife
package import ProviderProtocol
package import RoamwardProvider

/// An output of openconnect(8).
package enum OpenConnectWord: Equatable, Sendable {
  /// A line of its log.
  case line(String)
  /// It waits for an answer.
  case prompt(String)
  /// A line of its result.
  case result(String)
  /// The variables of one call of its script.
  case script([String: String])
}

/// A run of openconnect(8).
package struct OpenConnectCommand: Equatable, Sendable {
  /// Without the program's own name.
  package var arguments: [String]
  /// The text that it reads from its standard input at the start.
  package var input = ""
  /// Contents that it reads as files: the option that takes the file, and its bytes.
  package var files: [String: [UInt8]] = [:]
}

/// openconnect(8), as a provider sees it. One run at a time.
package protocol OpenConnectRunner: AnyObject {
  init(host: ProviderHost)
  /// Starts it. `said` and `ended` are called later; `ended` once, with its exit code. Returns the reason why it cannot be started.
  func start(
    _ command: OpenConnectCommand, said: @escaping (OpenConnectWord) -> Void, ended: @escaping (Int32) -> Void
  ) -> String?
  /// Types a line.
  func answer(_ text: String)
  /// The network has changed: it connects again.
  func reconnect()
  /// It signs out and ends.
  func leave()
  /// It ends, and what it was given stays good for another run.
  func pause()
  func kill()
}

/// OpenConnect as a provider: openconnect(8) without privileges on a device of the agent; addresses, routes and name servers are the
/// agent's.
///
/// It runs twice: to sign in, which ends with a cookie, and to connect with that cookie. The cookie is kept until the tunnel is not wanted
/// any more: a connection that is lost does not ask a person again.
package final class OpenConnect<Runner: OpenConnectRunner>: ProgramProvider {
  package let host: ProviderHost
  package var life = ProgramLife<OpenConnectRun>()
  private let runner: Runner

  package init(host: ProviderHost) {
    self.host = host
    runner = Runner(host: host)
  }

  // MARK: The agent

  package func start(_ request: StartRequest) {
    let attempt = life.start()
    let options = request.options
    let signIn = SignIn(
      username: options["username"]?.string, password: text(of: "password"), keyPassword: text(of: "key-password"),
      group: options["group"]?.string)
    var files: [String: [UInt8]] = [:]
    for (credential, option) in [("certificate", "--certificate"), ("key", "--sslkey"), ("ca", "--cafile")] {
      files[option] = Word(credential).flatMap { host.credential($0) }
    }
    if let validity = files["--certificate"].flatMap({ CertificateValidity(of: $0) })?.told(as: "this machine's certificate") {
      host.validity(validity)
    }
    guard options["server"]?.string != nil else { return fail("no-server", "the option `server` is missing", .person) }
    var wanted = OpenConnectRun.Request(options: options, files: files)
    openDevice(attempt) { [weak self] device in
      guard let self else { return }
      wanted.device = device
      let kept = Ticket(kept: host.credential(ProtocolLimits.keptCredential), for: wanted.sign)
      launch(OpenConnectRun(wanted, signIn: signIn, kept: kept))
    }
  }

  /// Whether a connection that ends for this reason is likely wanted again, without a person.
  private static func isLikelyWantedAgain(_ reason: StopReason) -> Bool {
    [.failed, .timeout, .settingsFailed, .noNetwork, .networkChanged].contains(reason)
  }

  package func stop(_ reason: StopReason) {
    if !Self.isLikelyWantedAgain(reason) { host.keep([]) }
    perform(life.stop(reason))
  }

  package func leave(_ reason: StopReason) {
    guard life.program?.isConnecting == true else { return runner.kill() }
    if Self.isLikelyWantedAgain(reason) { runner.pause() } else { runner.leave() }
  }

  package func kill() { runner.kill() }

  package func networkChanged(_ path: NetworkPath?) {
    if case .running(_, let program, _) = life.phase, program.isConnecting, path != nil { runner.reconnect() }
  }

  package func receive(_ message: MessageContent, reply: @escaping (MessageReply) -> Void) {
    let trouble = life.program?.trouble.map { JSON.string($0.text) } ?? .null
    reply(answer(message, status: .success(.typed("status", ["connected": .bool(life.isReady), "trouble": trouble]))))
  }

  // MARK: The two programs

  private func launch(_ program: OpenConnectRun) {
    launch(program, missing: "openconnect-missing") { process in
      runner.start(program.command, said: { [weak self] in self?.take($0, from: process) }) { [weak self] code in
        self?.ended(process, code: code)
      }
    }
  }

  private func take(_ word: OpenConnectWord, from process: LifeToken) {
    switch word {
    case .line(let line):
      guard let (text, isServers) = OpenConnectRun.text(of: line) else { return }
      _ = life.update(process) { $0.hear(text, isServers: isServers) }
      host.log(.debug, "openconnect", text)
    case .prompt(let text): if let answer = life.update(process, { $0.answer(SignInPrompt(text)) }) { give(answer, to: process) }
    case .result(let text): _ = life.update(process) { $0.take(result: text) }
    case .script(let values): called(values, by: process)
    }
  }

  private func called(_ values: [String: String], by process: LifeToken) {
    guard life.isRunning(process), life.program?.isConnecting == true else { return }
    switch values["reason"] {
    case "connect", "reconnect":
      let sent = ScriptSettings(values)
      for text in sent.unreadable.prefix(20) { host.log(.warning, "settings", "the server's `\(text)` cannot be read") }
      apply(sent.settings, for: process)
      perform(life.found())
    case "attempt-reconnect": perform(life.doubt("reconnecting", "openconnect connects again"))
    default: break
    }
  }

  package func willBeReady() {
    guard case .running(let process, let program, _) = life.phase else { return }
    _ = life.update(process) { $0.becomeReady() }
    host.keep(program.ticket.kept(for: program.request.sign))
  }

  private func ended(_ process: LifeToken, code: Int32) {
    if case .running(process, let program, _) = life.phase, case .signIn(let reason) = program.next(code: code) {
      host.keep([])
      perform(life.doubt("signing-in", reason))
    }
    guard let (program, _) = ended(process) else { return }
    switch program.next(code: code) {
    case .connect: launch(program.following(.connect(isResumed: false)))
    case .signIn: launch(program.following(.signIn))
    case .fail(let failure): fail(failure)
    }
  }

  // MARK: Signing in

  private func give(_ answer: SignIn.Answer, to process: LifeToken) {
    switch answer {
    case .give(let text): runner.answer(text)
    case .fail(let failure): fail(failure)
    case .ask(let kind, let prompt, let credential):
      host.ask(Question(kind: kind, prompt: "\(prompt) (\(host.tunnel))")) { [weak self] answer in
        guard let self, life.isRunning(process) else { return }
        if case .secret(let bytes) = answer, let text = String(validating: bytes, as: UTF8.self) { return runner.answer(text) }
        fail("no-password", "it needs an answer, or a file with it: `credentials: { \(credential): FILE }`", .person)
      }
    }
  }
}
