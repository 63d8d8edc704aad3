internal import JSON
internal import NetworkTypes
internal import ProviderCertificates
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
package final class OpenConnect<Runner: OpenConnectRunner>: TunnelProvider {
  private enum Phase { case idle, signingIn, connecting }

  private let host: ProviderHost
  private let runner: Runner
  private var options: JSON = .null
  private var files: [String: [UInt8]] = [:]
  private var device = ""
  private var phase = Phase.idle
  private var signIn = SignIn()
  private var ticket = Ticket()
  private var trouble: OpenConnectTrouble?
  private var lastLine = ""
  private var isReady = false
  private var signIns = 0
  private var isLeaving = false
  /// Whether the ticket is that of an earlier run.
  private var isResumed = false

  package init(host: ProviderHost) {
    self.host = host
    runner = Runner(host: host)
  }

  // MARK: The agent

  package func start(_ request: StartRequest) {
    (options, phase, isReady, signIns, isLeaving) = (request.options, .idle, false, 0, false)
    signIn = SignIn(
      username: options["username"]?.string, password: text(of: "password"), keyPassword: text(of: "key-password"),
      group: options["group"]?.string)
    files = [:]
    for (credential, option) in [("certificate", "--certificate"), ("key", "--sslkey"), ("ca", "--cafile")] {
      files[option] = Word(credential).flatMap { host.credential($0) }
    }
    if let validity = files["--certificate"].flatMap({ CertificateValidity(of: $0) })?.told(as: "this machine's certificate") {
      host.validity(validity)
    }
    guard options["server"]?.string != nil else { return fail("no-server", "the option `server` is missing", .person) }
    host.openDevice { [weak self] result in
      switch result {
      case .failure(let refusal): self?.fail(refusal.code, refusal.text, .time)
      case .success(let flow):
        // A device takes one program at a time: openconnect attaches to it by its name.
        (flow as? any ClosableFlow)?.close()
        self?.device = flow.interface
        self?.begin()
      }
    }
  }

  /// With the ticket of an earlier run, or by signing in.
  private func begin() {
    guard let kept = Ticket(kept: host.credential(ProtocolLimits.keptCredential), for: sign) else { return authenticate() }
    (ticket, isResumed) = (kept, true)
    connect()
  }

  /// The server and the person of a sign-in: another one needs another ticket.
  private var sign: String {
    let names = ["server", "username", "group", "protocol", "server-certificate", "user-agent"]
    return JSON.array(names.map { options[$0] ?? .null }).text()
  }

  package func stop(_ reason: StopReason) {
    isLeaving = true
    let isLater = [.failed, .timeout, .settingsFailed, .noNetwork, .networkChanged].contains(reason)
    if !isLater { host.keep([]) }
    switch phase {
    case .idle: host.stopped()
    case .signingIn: runner.kill()
    case .connecting:
      if isLater { runner.pause() } else { runner.leave() }
      host.after(.seconds(5)) { [weak self] in self?.runner.kill() }
    }
  }

  package func networkChanged(_ path: NetworkPath?) { if phase == .connecting, path != nil { runner.reconnect() } }

  package func receive(_ message: MessageContent, reply: @escaping (MessageReply) -> Void) {
    guard case .typed("status", _) = message else {
      return reply(.failure(Refusal(code: "unknown-type", text: "this provider knows `status`")))
    }
    let trouble = trouble.map { JSON.string($0.text) } ?? .null
    reply(.success(.typed("status", ["connected": .bool(isReady), "trouble": trouble])))
  }

  private func text(of credential: Word) -> String? {
    guard let bytes = host.credential(credential), var text = String(validating: bytes, as: UTF8.self) else { return nil }
    while text.last?.isNewline == true { text.removeLast() }
    return text
  }

  private func fail(_ code: Word, _ text: String, _ help: TunnelFailure.Help) {
    runner.kill()
    phase = .idle
    host.fail(TunnelFailure(code: code, text: "\(host.tunnel): \(text)", help: help))
  }

  // MARK: The two runs

  private func authenticate() {
    (phase, ticket, isResumed, trouble, lastLine) = (.signingIn, Ticket(), false, nil, "")
    (signIn.notes, signIn.hasGivenPassword, signIn.isRefused) = ([], false, false)
    signIns += 1
    // Its own lines begin with the time, those of the server do not.
    var arguments = ["--authenticate", "--timestamp", "--protocol", options["protocol"]?.string ?? "anyconnect"]
    for (option, name) in [
      ("--user", "username"), ("--authgroup", "group"), ("--servercert", "server-certificate"), ("--useragent", "user-agent"),
    ] {
      if let value = options[name]?.string { arguments += [option, value] }
    }
    run(OpenConnectCommand(arguments: arguments + ["--", options["server"]?.string ?? ""], files: files))
  }

  private func connect() {
    (phase, trouble, lastLine) = (.connecting, nil, "")
    var arguments = [
      "--cookie-on-stdin", "--non-inter", "--interface", device, "--script", "env -0 >&3; printf '\\0' >&3",
      "--protocol", options["protocol"]?.string ?? "anyconnect", "--servercert", ticket.fingerprint,
      // Else a server that is dead is noticed when the server itself wants it: after minutes, or never.
      "--force-dpd", "10",
    ]
    if !ticket.resolve.isEmpty { arguments += ["--resolve", ticket.resolve] }
    if let agent = options["user-agent"]?.string { arguments += ["--useragent", agent] }
    run(OpenConnectCommand(arguments: arguments + ["--", ticket.server], input: "\(ticket.cookie)\n", files: files))
  }

  private func run(_ command: OpenConnectCommand) {
    let failure = runner.start(command, said: { [weak self] in self?.take($0) }) { [weak self] code in self?.ended(code) }
    if let failure { fail("openconnect-missing", failure, .person) }
  }

  private func take(_ word: OpenConnectWord) {
    switch word {
    case .line(let text): hear(text)
    case .prompt(let text): answer(SignInPrompt(text))
    case .result(let text): ticket.take(text[...])
    case .script(let values): called(values)
    }
  }

  private func hear(_ line: String) {
    let end = line.first == "[" ? line.firstIndex(of: "]").map { line.index(after: $0) } : nil
    let text = line[(end ?? line.startIndex)...].drop { $0 == " " }
    if text.isEmpty { return }
    hear(String(text), isServers: end == nil)
  }

  private func hear(_ text: String, isServers: Bool) {
    lastLine = text
    if let found = OpenConnectTrouble(text) {
      // The first one is the cause.
      if trouble == nil { trouble = found }
      if found.code == "auth-failed" { signIn.isRefused = true }
    }
    if phase == .signingIn, isServers { signIn.notes.append(text) }
    host.log(.debug, "openconnect", text)
  }

  private func called(_ values: [String: String]) {
    switch values["reason"] {
    case "connect", "reconnect": apply(ScriptSettings(values))
    case "attempt-reconnect":
      if isReady { host.reasserting("reconnecting", "openconnect connects again") }
      isReady = false
    default: break
    }
  }

  private func apply(_ sent: ScriptSettings) {
    for text in sent.unreadable.prefix(20) { host.log(.warning, "settings", "the server's `\(text)` cannot be read") }
    host.apply(sent.settings) { [weak self] result in
      switch result {
      case .success(let refused):
        for setting in refused { self?.host.log(.notice, "settings", "refused: \(setting.setting) \(setting.value) (\(setting.code))") }
        self?.reportReady()
      case .failure(let refusal): self?.fail(refusal.code, refusal.text, .time)
      }
    }
  }

  private func reportReady() {
    guard phase == .connecting, !isReady else { return }
    (isReady, isResumed, trouble, signIns) = (true, false, nil, 0)
    host.keep(ticket.kept(for: sign))
    host.ready()
  }

  private func ended(_ code: Int32) {
    let before = phase
    phase = .idle
    if isLeaving { return host.stopped() }
    if before == .signingIn, ticket.isComplete { return connect() }
    // An old ticket may be refused in any words.
    let isOld = isResumed && trouble?.code != "unreachable"
    if before == .connecting, isOld || trouble?.isCookie == true, signIns < 2 {
      host.keep([])
      if isReady { host.reasserting("signing-in", trouble?.text ?? "the server has ended the session") }
      isReady = false
      return authenticate()
    }
    if let trouble { return fail(trouble.code, trouble.text, trouble.help) }
    fail("openconnect-ended", "openconnect ended with status \(code)" + (lastLine.isEmpty ? "" : ": \(lastLine)") + "; see its log", .time)
  }

  // MARK: Signing in

  private func answer(_ prompt: SignInPrompt) {
    defer { signIn.notes = [] }
    if signIn.isRefused, signIn.hasGivenPassword, let trouble { return fail(trouble.code, trouble.text, trouble.help) }
    switch prompt {
    case .username:
      guard let username = signIn.username else {
        return fail("no-username", "the server asks for a user name: add `username:` to the options", .person)
      }
      runner.answer(username)
    case .password(let label):
      let isFirst = !signIn.hasGivenPassword
      signIn.hasGivenPassword = true
      secret(isFirst ? signIn.password : nil, label, isFirst ? .password : .code, "password")
    case .keyPassword: secret(signIn.keyPassword, "Pass phrase of the private key", .password, "key-password")
    case .group(let groups):
      guard let group = signIn.group, groups.contains(group) else {
        let offered = groups.prefix(20).joined(separator: ", ")
        return fail("no-group", "the server asks for a group: add `group:` to the options, one of \(offered)", .person)
      }
      runner.answer(group)
    case .certificate:
      fail("certificate-unknown", trouble?.text ?? "no authority vouches for the server", .person)
    case .other(let label): secret(nil, label, .code, "password")
    }
  }

  /// Gives a secret that is known, or asks a person for it.
  private func secret(_ known: String?, _ label: String, _ kind: Question.Kind, _ credential: String) {
    if let known { return runner.answer(known) }
    host.ask(Question(kind: kind, prompt: signIn.prompt(label, host.tunnel))) { [weak self] answer in
      if case .secret(let bytes) = answer, let text = String(validating: bytes, as: UTF8.self) { self?.runner.answer(text); return }
      self?.fail("no-password", "it needs an answer, or a file with it: `credentials: { \(credential): FILE }`", .person)
    }
  }
}
