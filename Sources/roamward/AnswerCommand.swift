import ArgumentParser
import ControlProtocol
import Glibc
import RoamwardCore

struct Answer: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "answer",
    abstract: "Give a tunnel's provider what it asks a person for.",
    discussion: """
      `status` and `monitor` show open questions. The answer is read from the terminal, without showing a secret, or from standard input. \
      The answer to a question of the kind `text` is no secret, and shown.
      """)

  @OptionGroup var agent: AgentOptions
  @Argument(help: "Name of the tunnel.", completion: .tunnels) var tunnel: String
  @Flag(help: "Say no.") var decline = false

  func run() throws {
    let report = try agent.status()
    let question = report.tunnels.first { $0.name == tunnel }?.questions.first
    if let question { writeError(words(question)) }
    // Without a question the agent says what is wrong.
    let answer = decline || question == nil ? nil : try answer(to: question?.kind ?? "")
    _ = try agent.ask(.answer(tunnel: tunnel, question: question?.number, answer: answer))
  }

  private func words(_ question: StatusReport.Question) -> String {
    question.prompt + (question.url.map { "\nOpen this page: \($0)" } ?? "") + "\n"
  }

  /// What the person says; `nil`: no.
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
