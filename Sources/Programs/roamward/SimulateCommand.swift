import ArgumentParser
import ControlProtocol
import History
import JSON
import LinuxIO
import NetworkTypes
import PolicySource
import RoamwardCore
import Simulation
import Terminal

struct Simulate: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "simulate",
    abstract: "Replay a timeline, or past days, in virtual time.",
    discussion: """
      Runs the agent's own code on a simulated machine with the given policies. A timeline lists networks, manual overrides and \
      expectations. `roamward monitor --record` writes one.

      With --history, lives through the recorded days with --policies, and prints only what would have been different from the policies \
      in force. Gateways are taken to answer at once. Needs root.

      Exit status: 0 all expectations met; 1 policy error or expectation not met; 2 usage error.

      Example: `roamward simulate day.yaml --policies policies`
      """)

  @Argument(help: "Timeline file.", completion: .policies) var timeline: String?
  @OptionGroup var policies: PolicyOptions
  @Flag(help: "Print one JSON object per line.") var json = false
  @Option(help: ArgumentHelp("Live through the recorded days since this time, such as 14d.", valueName: "time")) var history: String?
  @Option(
    help: ArgumentHelp(
      "Trust this network of the policies in force; repeatable.", discussion: "Default: all of `networks:`.", valueName: "name")
  )
  var trusted: [String] = []
  @Option(
    help: ArgumentHelp("Compare with these policies, not those in force; repeatable.", valueName: "path"), completion: .policies)
  var against: [String] = []
  @Option(help: ArgumentHelp("With --history: write a page for a browser.", valueName: "file"), completion: .file()) var html: String?
  @OptionGroup var record: RecordOptions

  func validate() throws {
    if history != nil, timeline != nil || json { throw ValidationError("--history takes neither a timeline nor --json") }
    if history == nil, timeline == nil { throw ValidationError("name a timeline, or give --history 14d") }
    if history == nil, html != nil || !trusted.isEmpty || !against.isEmpty {
      throw ValidationError("--html, --trusted and --against need --history")
    }
    if history != nil, policies.policies.isEmpty {
      throw ValidationError("--history needs --policies: the ones to compare with those in force")
    }
  }

  func run() throws {
    let set = try policies.load(unread: .refused)
    if let history { return try compare(set, since: history) }
    guard let file = timeline else { return }
    let timeline = try readTimeline(file)
    let simulation = Simulation(timeline, policies: set) { entry in
      if let line = json ? JSON(encoding: entry.simulated).text() : entry.line { write(line + "\n") }
    }
    let failures = simulation.run()
    for failure in failures { writeError("\(failure.location): error: \(failure.message)\n") }
    if !failures.isEmpty { throw ExitStatus.policyErrors }
  }

  private func readTimeline(_ timeline: String) throws -> Timeline {
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try TextFile.read(timeline)
    } catch {
      writeError("roamward: \(error)\n")
      throw ExitStatus.policyErrors
    }
    let folder = Folder.parent(of: timeline)
    let (read, problems) = PolicySource.readTimeline(text: bytes, file: timeline) { path in
      try? TextFile.read(path.hasPrefix("/") ? path : "\(folder)/\(path)")
    }
    for problem in problems { writeError(problem.rendered(color: usesColor) + "\n") }
    guard let read else { throw ExitStatus.policyErrors }
    return read
  }
}

extension Simulation.Entry {
  /// `mon 08:00:12  corp: disconnected -> connecting (rule 2: …)`; `nil` for events that are only for programs.
  fileprivate var line: String? {
    if case .snapshot = event { return nil }
    return "\(clock.day) \(clockText(minute: clock.second / 60)):\(two(clock.second % 60))  \(report.line)"
  }

  fileprivate var simulated: SimulatedEventReport {
    SimulatedEventReport(atMilliseconds: at.milliseconds, code: report.code, happening: report.happening)
  }

  private var report: EventReport { Event(time: Timestamp(milliseconds: 0), kind: event).report }
}

private func two(_ number: Int) -> String { (number < 10 ? "0" : "") + String(number) }
