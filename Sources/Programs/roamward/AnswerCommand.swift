import ArgumentParser
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

  func run() throws {
    let dialog = QuestionDialog(agent: agent, tunnel: tunnel, decline: decline)
    switch try dialog.run(try dialog.subscribe(), from: dialog.resume) {
    case .connected: write("\(tunnel): connected\n")
    case .declined, .unanswered: return
    case .refused: throw ExitStatus.refused
    case .silent, .resting:
      writeError("roamward: \(tunnel): no verdict yet; `roamward status` shows what it waits for\n")
      throw ExitStatus.timedOut
    case .interrupted: throw ExitStatus.interrupted
    }
  }
}
