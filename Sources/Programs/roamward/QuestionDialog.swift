import ControlClient
import ControlProtocol
import Glibc
import LinuxIO
import LoginProtocol
import NetworkTypes
import RoamwardCore
import Terminal

/// The questions of a tunnel's provider, asked of a person until there is a verdict.
struct QuestionDialog {
  /// The state of an attempt.
  enum Verdict {
    case question(StatusReport.Question)
    case connected
    case failed(String)
    /// The rules do not want it here; the reason.
    case resting(String)
    /// Nothing yet; the tunnel's reason.
    case silent(String)
  }

  /// The end of the dialog. Failures are printed.
  enum Outcome {
    case connected
    case declined
    /// Standard input has no more answers. The question stays open.
    case unanswered
    case refused
    case resting(String)
    case silent(String)
    /// By Ctrl-C.
    case interrupted
  }

  let agent: AgentOptions
  let tunnel: String
  var decline = false
  /// A question stays open if standard input never had an answer; else it is declined.
  var leavesOpen = false
  /// The token of an invitation: the answer to the first question, if that is for a password. No person is asked then.
  var token: LoginToken?

  /// Subscribes to events. The state is read after that, so that none is missed between them.
  func subscribe() throws -> ControlClient {
    let client = try agent.connect()
    do throws(ControlClient.Failure) { _ = try client.ask(.monitor()) } catch {
      writeError("roamward: \(error)\n")
      throw ExitStatus.refused
    }
    return client
  }

  /// Asks until there is a verdict. From here on, Ctrl-C ends waits alone, so that the terminal is left as it was.
  func run(_ client: ControlClient, from opening: (ControlClient) throws -> Verdict) throws -> Outcome {
    var signals = Interruption.set
    sigprocmask(SIG_BLOCK, &signals, nil)
    do {
      return try converse(client, opening)
    } catch is Interruption {
      return .interrupted
    }
  }

  private func converse(_ client: ControlClient, _ opening: (ControlClient) throws -> Verdict) throws -> Outcome {
    var verdict = try opening(client)
    if let token { verdict = try answer(verdict, with: token, client) }
    var answered: StatusReport.Question?
    while true {
      switch verdict {
      case .question(let question):
        writeError(words(question))
        let reply = decline ? nil : try answer(to: question.kind)
        if reply == nil, !isInteractive, !decline, leavesOpen || answered != nil { return .unanswered }
        _ = try agent.ask(.answer(tunnel: tunnel, question: question.number, answer: reply))
        if reply == nil { return .declined }
        answered = question
        verdict = try next(client, after: question)
      case .connected: return .connected
      case .failed(let reason):
        writeError("roamward: \(reason)\n")
        guard isInteractive, answered != nil else { return .refused }
        answered = nil
        try beginAgain()
        verdict = try next(client, after: nil)
      case .resting(let reason): return .resting(reason)
      case .silent(let reason): return .silent(reason)
      }
    }
  }

  /// Answers the question for a password, if it is open, with a token. A token that is refused is not asked for again.
  private func answer(_ verdict: Verdict, with token: LoginToken, _ client: ControlClient) throws -> Verdict {
    guard case .question(let question) = verdict, question.kind == "password" else { return verdict }
    _ = try agent.ask(.answer(tunnel: tunnel, question: question.number, answer: token.description))
    return try next(client, after: question)
  }

  /// The open question, or the result of an attempt that is on its way, or begins now.
  func resume(_ client: ControlClient) throws -> Verdict {
    let now = try agent.status().tunnels.first { $0.name == tunnel }
    if let question = now?.questions.first { return .question(question) }
    if decline {
      writeError("roamward: \(tunnel) asks nothing now\n")
      throw ExitStatus.refused
    }
    // The agent says what is wrong, or begins another attempt.
    if now?.state != "connecting" || now?.code == .actionNeeded { try beginAgain() }
    return try next(client, after: nil)
  }

  private func beginAgain() throws { _ = try agent.ask(.answer(tunnel: tunnel, question: nil, answer: nil)) }

  /// Follows the agent's events until there is a verdict on an answer, or on a policy (`isFirst`). A page in a browser takes a person
  /// minutes.
  func next(_ client: ControlClient, after question: StatusReport.Question?, isFirst: Bool = false) throws -> Verdict {
    let deadline = Moment.now + .seconds(question?.kind == "url" ? 300 : 30)
    let line = ProgressLine()
    defer { line.clear() }
    while true {
      let report = try agent.status()
      if let verdict = verdict(in: report, after: question, isFirst: isFirst) { return verdict }
      let now = report.tunnels.first { $0.name == tunnel }
      line.show("\(tunnel): \(now?.state ?? "waiting for the agent")")
      while !client.hasLine {
        guard try isReadable(client.descriptor, before: deadline) else { return .silent(now?.reason ?? "it has no policy") }
        break
      }
      guard try client.next() != nil else {
        line.clear()
        writeError("roamward: the agent has stopped; start it with `systemctl start roamwardd`\n")
        throw ExitStatus.noAgent
      }
    }
  }

  private func verdict(in report: StatusReport, after question: StatusReport.Question?, isFirst: Bool) -> Verdict? {
    guard let now = report.tunnels.first(where: { $0.name == tunnel }) else { return .failed("\(tunnel) has no policy any more") }
    if let next = now.questions.first, next != question { return .question(next) }
    if now.state == "connected" { return .connected }
    if now.code == .actionNeeded || now.code == now.failureCode { return .failed(now.failure ?? now.reason) }
    let isDecided = [.ruleMatched, .noRule, .disabled, .ownerAway, .onDemandOff, .excluded, .outerDown].contains(now.code)
    let rests = now.state == "disconnected" && now.override == nil && now.decision != .connect && isDecided
    return isFirst && rests ? .resting(now.reason) : nil
  }

  private func words(_ question: StatusReport.Question) -> String {
    question.prompt + (question.url.map { "\nOpen this page: \($0)" } ?? "") + "\n"
  }

  // MARK: The person

  /// The person's answer; `nil`: declined, or the input has ended.
  private func answer(to kind: String) throws -> String? {
    let isTerminal = isatty(STDIN_FILENO) == 1
    switch kind {
    case "url", "confirm":
      if isTerminal { writeError(kind == "url" ? "Is it open? [y/n] " : "[y/n] ") }
      return ["y", "yes"].contains(try line(isTerminal)?.lowercased() ?? "") ? "" : nil
    case "text":
      if isTerminal { writeError("Answer: ") }
      return try line(isTerminal)
    default:
      return try hidingInput(isTerminal) {
        // Asked for once nothing is shown any more: what is typed at once is no exception.
        if isTerminal { writeError("Answer (not shown): ") }
        return try line(isTerminal)
      }
    }
  }

  /// A line of standard input. Ctrl-C at a terminal is noticed.
  private func line(_ isTerminal: Bool) throws -> String? {
    if isTerminal { _ = try isReadable(STDIN_FILENO) }
    return readLine()
  }
}

/// Runs the body while the terminal does not show what is typed.
private func hidingInput<Value>(_ isTerminal: Bool, _ body: () throws -> Value) throws -> Value {
  var before = termios()
  guard isTerminal, tcgetattr(STDIN_FILENO, &before) == 0 else { return try body() }
  var hidden = before
  hidden.c_lflag &= ~tcflag_t(ECHO)
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden)
  defer {
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
    writeError("\n")
  }
  return try body()
}

/// Asks at the terminal for a line that it does not show, or reads one of standard input; `nil`: the input has ended.
func readHiddenLine(_ question: String) throws -> String? {
  guard isatty(STDIN_FILENO) == 1 else { return readLine() }
  var signals = Interruption.set
  sigprocmask(SIG_BLOCK, &signals, nil)
  defer { sigprocmask(SIG_UNBLOCK, &signals, nil) }
  do {
    return try hidingInput(true) {
      // Asked for once nothing is shown any more: what is typed at once is no exception.
      writeError(question)
      _ = try isReadable(STDIN_FILENO)
      return readLine()
    }
  } catch is Interruption {
    throw ExitStatus.interrupted
  }
}

/// Ctrl-C, or the end of the session, while a command waits.
private struct Interruption: Error {
  static let signals = [SIGINT, SIGTERM, SIGHUP]

  static var set: sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for number in signals { sigaddset(&set, number) }
    return set
  }
}

/// Waits until the descriptor is readable; `false`: not before the deadline.
private func isReadable(_ descriptor: Int32, before deadline: Moment? = nil) throws -> Bool {
  do throws(SystemError) {
    let loop = try DescriptorLoop()
    var sources = [try loop.whenReadable(descriptor) { loop.stop() }]
    for number in Interruption.signals { sources.append(try loop.onSignal(number) { loop.stop(code: 128 + number) }) }
    if let deadline { sources.append(try loop.at(deadline) { loop.stop(code: 1) }) }
    let code = try loop.run()
    withExtendedLifetime(sources) {}
    if code > 1 { throw SystemError(code: EINTR, operation: "wait") }
    return code == 0
  } catch {
    if error.code == EINTR { throw Interruption() }
    writeError("roamward: \(error)\n")
    throw ExitStatus.refused
  }
}
