import ArgumentParser
import History
import LinuxIO
import NetworkTypes
import RoamwardCore
import Terminal

struct Why: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "why",
    abstract: "Explain a past decision, rule by rule.",
    discussion: """
      Shows the network of that time, what the agent decided there, and every rule with what it finds on that network. `explain` does so \
      for the present network. Needs root, and no agent.

      Example: `roamward why corp --at "yesterday 14:05"`
      """)

  @Argument(help: "Name of the tunnel or group; without one, all tunnels.", completion: .tunnels) var tunnel: String?
  @Option(help: ArgumentHelp("Explain the decision of a time such as \"yesterday 14:05\".", valueName: "time")) var at = "now"
  @OptionGroup var policies: PolicyOptions
  @OptionGroup var record: RecordOptions

  func run() throws {
    var time = try pastTime(at, option: "--at")
    let onDisk = try record.read()
    let set = try policies.load()
    let history = onDisk.revealed(by: set)
    for line in history.defects { writeError("roamward: \(line)\n") }
    // People read seconds: the first one of the record is that of its beginning.
    if let begin = history.begin, time < begin, time.localTime == begin.localTime { time = begin }
    guard
      let moment = PastMoment(
        history, at: time, policies: set, identification: onDisk.identification(of: set), only: tunnel.map { names(meant: $0, in: set) })
    else {
      let recorded =
        history.begin.flatMap { begin in history.end.map { "; the record is from \(begin.localTime) to \($0.localTime)" } } ?? ""
      writeError("roamward: nothing is recorded for \(time.localTime)\(recorded)\n")
      throw ExitStatus.refused
    }
    if let tunnel, moment.tunnels.isEmpty {
      writeError("roamward: no tunnel was named \"\(tunnel)\" at \(time.localTime)\n")
      throw ExitStatus.refused
    }
    write(moment.text(.machine))
    for line in history.leftOut(for: set, known: [moment.policies]) { write("missing in the record: \(line)\n") }
  }

  /// A tunnel that has no policy any more is in the record all the same.
  private func names(meant name: String, in set: PolicySet) -> Set<String> {
    let meant = set.tunnels(meant: name).map(\.name)
    return meant.isEmpty ? [name] : Set(meant)
  }
}
