import ArgumentParser
import ControlClient
import ControlProtocol
import Glibc
import LinuxIO
import NetworkTypes
import RoamwardCore
import Terminal

struct Answer: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "answer",
    abstract: "Give a tunnel's provider what it asks a person for.",
    discussion: """
      `status` and `monitor` show open questions. The answer is read from the terminal, without showing a secret, or from standard input. \
      The answer to a question of the kind `text` is no secret, and shown.

      Waits for the verdict: the tunnel connects, its provider asks for more, or it refuses the answer. At a terminal a refused answer is \
      asked for again. If the last attempt waits for a person, another one begins. The rules of the tunnel stay in charge.

      Exit status: 0 connected, declined, or asked for more than standard input has; 1 refused; 3 no verdict.

      Example: `roamward answer corp`
      """)

  @OptionGroup var agent: AgentOptions
  @Argument(help: "Name of the tunnel.", completion: .tunnels) var tunnel: String
  @Flag(help: "Say no.") var decline = false

  /// The outcome of an answer.
  private enum Verdict {
    case question(StatusReport.Question)
    case connected
    case failed(String)
    case silent
  }

  func run() throws {
    let client = try agent.connect()
    // First the events, then the state, so that none is missed between them.
    do throws(ControlClient.Failure) { _ = try client.ask(.monitor()) } catch {
      writeError("roamward: \(error)\n")
      throw ExitStatus.refused
    }
    var verdict = try opening(client)
    var answered: StatusReport.Question?
    while true {
      switch verdict {
      case .question(let question):
        writeError(words(question))
        let reply = decline ? nil : try answer(to: question.kind)
        if reply == nil, answered != nil, !isInteractive { return }
        _ = try agent.ask(.answer(tunnel: tunnel, question: question.number, answer: reply))
        if reply == nil { return }
        answered = question
        verdict = try next(client, after: question)
      case .connected:
        write("\(tunnel): connected\n")
        return
      case .failed(let reason):
        writeError("roamward: \(reason)\n")
        guard isInteractive, answered != nil else { throw ExitStatus.refused }
        answered = nil
        try beginAgain()
        verdict = try next(client, after: nil)
      case .silent:
        writeError("roamward: \(tunnel): no verdict yet; `roamward status` shows what it waits for\n")
        throw ExitStatus.timedOut
      }
    }
  }

  /// The open question, or what an attempt that is on its way, or begins now, comes to.
  private func opening(_ client: ControlClient) throws -> Verdict {
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

  /// Follows the agent's events until there is a verdict on an answer. A page in a browser takes a person minutes.
  private func next(_ client: ControlClient, after question: StatusReport.Question?) throws -> Verdict {
    let deadline = Moment.now + .seconds(question?.kind == "url" ? 300 : 30)
    while true {
      if let verdict = verdict(in: try agent.status(), after: question) { return verdict }
      while !client.hasLine {
        let left = deadline - .now
        guard left > .zero else { return .silent }
        var poller = pollfd(fd: client.descriptor, events: Int16(POLLIN), revents: 0)
        if poll(&poller, 1, Int32(clamping: left.milliseconds + 1)) > 0 { break }
      }
      guard try client.next() != nil else {
        writeError("roamward: the agent has stopped; start it with `systemctl start roamwardd`\n")
        throw ExitStatus.noAgent
      }
    }
  }

  private func verdict(in report: StatusReport, after question: StatusReport.Question?) -> Verdict? {
    guard let now = report.tunnels.first(where: { $0.name == tunnel }) else { return .failed("\(tunnel) has no policy any more") }
    if let next = now.questions.first, next != question { return .question(next) }
    if now.state == "connected" { return .connected }
    return now.code == .actionNeeded || now.code == now.failureCode ? .failed(now.failure ?? now.reason) : nil
  }

  private func words(_ question: StatusReport.Question) -> String {
    question.prompt + (question.url.map { "\nOpen this page: \($0)" } ?? "") + "\n"
  }

  /// The person's answer; `nil`: declined, or the input has ended.
  private func answer(to kind: String) throws -> String? {
    let isTerminal = isatty(STDIN_FILENO) == 1
    switch kind {
    case "url", "confirm":
      if isTerminal { writeError(kind == "url" ? "Is it open? [y/n] " : "[y/n] ") }
      return ["y", "yes"].contains(readLine()?.lowercased() ?? "") ? "" : nil
    case "text":
      if isTerminal { writeError("Answer: ") }
      return readLine()
    default:
      return hidingInput(isTerminal) {
        // Asked for once nothing is shown any more: what is typed at once is no exception.
        if isTerminal { writeError("Answer (not shown): ") }
        return readLine()
      }
    }
  }

  /// Runs the body while the terminal does not show what is typed.
  private func hidingInput<Value>(_ isTerminal: Bool, _ body: () -> Value) -> Value {
    var before = termios()
    guard isTerminal, tcgetattr(STDIN_FILENO, &before) == 0 else { return body() }
    var hidden = before
    hidden.c_lflag &= ~tcflag_t(ECHO)
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden)
    defer {
      tcsetattr(STDIN_FILENO, TCSAFLUSH, &before)
      writeError("\n")
    }
    return body()
  }
}
