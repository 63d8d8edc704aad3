import ArgumentParser
import ControlProtocol
import JSON
import LinuxIO
import NetworkTypes
import PolicySource
import RoamwardCore
import Simulation

struct Simulate: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Replay a timeline in virtual time.",
    discussion: """
      Runs the agent's own code on a simulated machine with the given policies. A timeline lists networks, manual overrides and \
      expectations. `roamward monitor --record` writes one.

      Exit status: 0 all expectations met; 1 policy error or expectation not met; 2 usage error.
      """)

  @Argument(help: "Timeline file.", completion: .policies) var timeline: String
  @OptionGroup var policies: PolicyOptions
  @Flag(help: "Print one JSON object per line.") var json = false

  func run() throws {
    let set = try policies.load()
    let timeline = try readTimeline()
    let simulation = Simulation(timeline, policies: set) { entry in
      if let line = json ? entry.json.text() : entry.line { write(line + "\n") }
    }
    let failures = simulation.run()
    for failure in failures { writeError("\(failure.location): error: \(failure.message)\n") }
    if !failures.isEmpty { throw ExitStatus.policyErrors }
  }

  private func readTimeline() throws -> Timeline {
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

  /// The event in the format of `monitor --json`, with the time since the start of the timeline instead of the clock time.
  fileprivate var json: JSON {
    let members = JSON(encoding: report).members ?? []
    return .object(members.map { $0.key == "time" ? JSON.Member(key: "at-ms", value: .integer(at.milliseconds)) : $0 })
  }

  private var report: EventReport { Event(time: Timestamp(milliseconds: 0), kind: event).report }
}

private func two(_ number: Int) -> String { (number < 10 ? "0" : "") + String(number) }
