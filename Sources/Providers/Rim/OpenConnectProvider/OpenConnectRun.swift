package import JSON
package import ProviderProtocol

/// openconnect(8) while it signs in, or while it connects with the ticket of a sign-in, by what it prints. A sign-in is followed by a
/// connection, and a connection whose ticket is not good any more by another sign-in.
package struct OpenConnectRun: Sendable {
  /// The purpose of the process.
  package enum Step: Equatable, Sendable {
    case signIn
    /// `isResumed`: whether the ticket is that of an earlier run.
    case connect(isResumed: Bool)
  }

  /// All that the agent has given to a run of the tunnel.
  package struct Request: Sendable {
    var options: JSON
    /// Contents that openconnect reads as files, by option.
    var files: [String: [UInt8]]
    var device = ""

    package init(options: JSON, files: [String: [UInt8]]) {
      self.options = options
      self.files = files
    }

    /// The server and the person of a sign-in: another one needs another ticket.
    package var sign: String {
      let names = ["server", "username", "group", "protocol", "server-certificate", "user-agent"]
      return JSON.array(names.map { options[$0] ?? .null }).text()
    }
  }

  /// The process that follows an end, or the failure that the end is.
  package enum Next: Equatable, Sendable {
    case connect
    /// Another sign-in, for this reason.
    case signIn(String)
    case fail(TunnelFailure)
  }

  /// Sign-ins without a connection that is ready in between.
  private static let mostSignIns = 2

  let request: Request
  private(set) var step: Step
  private(set) var signIn: SignIn
  private(set) var ticket: Ticket
  /// The first trouble of this process: it is the cause of others.
  package private(set) var trouble: OpenConnectTrouble?
  private var lastLine = ""
  private var signIns = 0

  /// The first process of a run: with the ticket of an earlier one, or to sign in.
  package init(_ request: Request, signIn: SignIn, kept: Ticket?) {
    self.request = request
    self.signIn = signIn
    step = kept == nil ? .signIn : .connect(isResumed: true)
    ticket = kept ?? Ticket()
    if kept == nil { signIns = 1 }
  }

  /// The next process of a run.
  package func following(_ step: Step) -> OpenConnectRun {
    var next = self
    (next.step, next.trouble, next.lastLine) = (step, nil, "")
    if step == .signIn {
      next.ticket = Ticket()
      next.signIn.begin()
      next.signIns += 1
    }
    return next
  }

  package var isConnecting: Bool { step != .signIn }

  /// The command line of the process.
  package var command: OpenConnectCommand {
    let (options, files) = (request.options, request.files)
    let kind = options["protocol"]?.string ?? "anyconnect"
    switch step {
    case .signIn:
      // Its own lines begin with the time, those of the server do not.
      var arguments = ["--authenticate", "--timestamp", "--protocol", kind]
      for (option, name) in [
        ("--user", "username"), ("--authgroup", "group"), ("--servercert", "server-certificate"), ("--useragent", "user-agent"),
      ] {
        if let value = options[name]?.string { arguments += [option, value] }
      }
      return OpenConnectCommand(arguments: arguments + ["--", options["server"]?.string ?? ""], files: files)
    case .connect:
      var arguments = [
        "--cookie-on-stdin", "--non-inter", "--interface", request.device, "--script", "env -0 >&3; printf '\\0' >&3",
        "--protocol", kind, "--servercert", ticket.fingerprint,
        // Else a server that is dead is noticed when the server itself wants it: after minutes, or never.
        "--force-dpd", "10",
      ]
      if !ticket.resolve.isEmpty { arguments += ["--resolve", ticket.resolve] }
      if let agent = options["user-agent"]?.string { arguments += ["--useragent", agent] }
      return OpenConnectCommand(arguments: arguments + ["--", ticket.server], input: "\(ticket.cookie)\n", files: files)
    }
  }

  /// The text of a line of its log, and whether it is the server's; `nil`: there is none.
  static func text(of line: String) -> (text: String, isServers: Bool)? {
    let end = line.first == "[" ? line.firstIndex(of: "]").map { line.index(after: $0) } : nil
    let text = line[(end ?? line.startIndex)...].drop { $0 == " " }
    return text.isEmpty ? nil : (String(text), end == nil)
  }

  /// Takes a line of its log.
  package mutating func hear(_ text: String, isServers: Bool) {
    lastLine = text
    if let found = OpenConnectTrouble(text) {
      if trouble == nil { trouble = found }
      if found.code == "auth-failed" { signIn.isRefused = true }
    }
    if step == .signIn, isServers { signIn.notes.append(text) }
  }

  /// Takes a line of its result.
  package mutating func take(result: String) { ticket.take(result[...]) }

  /// The tunnel is ready: its ticket is good.
  package mutating func becomeReady() { (step, trouble, signIns) = (.connect(isResumed: false), nil, 0) }

  /// Returns the answer to a prompt.
  package mutating func answer(_ prompt: SignInPrompt) -> SignIn.Answer {
    defer { signIn.notes = [] }
    if let trouble, signIn.isPasswordWrong { return .fail(trouble.failure) }
    return signIn.answer(prompt, trouble: trouble)
  }

  /// The meaning of its end, which the agent did not want. `code`: its exit code.
  package func next(code: Int32) -> Next {
    switch step {
    case .signIn where ticket.isComplete: return .connect
    case .connect(let isResumed) where signIns < Self.mostSignIns:
      // An old ticket may be refused in any words.
      if isResumed && trouble?.code != "unreachable" || trouble?.isCookie == true {
        return .signIn(trouble?.text ?? "the server has ended the session")
      }
    default: break
    }
    if let trouble { return .fail(trouble.failure) }
    let words = "openconnect ended with status \(code)" + (lastLine.isEmpty ? "" : ": \(lastLine)")
    return .fail(TunnelFailure(code: "openconnect-ended", text: "\(words); see its log", help: .time))
  }
}
