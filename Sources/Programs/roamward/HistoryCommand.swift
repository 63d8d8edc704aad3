import ArgumentParser
import ControlProtocol
import FlightRecord
import History
import JSON
import LinuxIO
import NetworkTypes
import RoamwardCore
import Terminal

struct HistoryOfMachine: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "history",
    abstract: "Show past networks, decisions and tunnel states.",
    discussion: """
      Reads the agent's record, in the form of `monitor`. A time is 14:05, "yesterday 14:05", "mon 14:05", "2026-11-22 14:05", \
      "90m ago" or 14d. The policy's key `history` says how much is recorded. Needs root, and no agent.

      Example: `roamward history --since yesterday --tunnel corp`
      """)

  @Option(help: ArgumentHelp("Begin at this time.", valueName: "time")) var since = "24h"
  @Option(help: ArgumentHelp("End at this time.", valueName: "time")) var until = "now"
  @Option(help: ArgumentHelp("Show this tunnel alone.", valueName: "tunnel"), completion: .tunnels) var tunnel: String?
  @Flag(help: "Print one JSON object per line, as monitor does.") var json = false
  @Flag(help: "Evaluate the recorded decisions again, and compare.") var replay = false
  @Option(help: ArgumentHelp("Write a page for a browser instead.", valueName: "file"), completion: .file()) var html: String?
  @OptionGroup var policies: PolicyOptions
  @OptionGroup var record: RecordOptions

  func run() throws {
    let now = Timestamp.now
    let (from, to) = (try pastTime(since, option: "--since", now: now), try pastTime(until, option: "--until", now: now))
    let onDisk = try record.read()
    if replay { return try runReplay(onDisk) }
    if let html {
      // Without policies the page has the record alone.
      let set = try policies.load(mayBeEmpty: true)
      var page = HistoryPage(
        onDisk.revealed(by: set), policies: set, identification: onDisk.identification(of: set), from: from, to: to, .machine)
      return try writePage(page.text(), to: html)
    }
    let history = onDisk.history
    for line in history.defects { writeError("roamward: \(line)\n") }
    var gaps = history.gaps(from: from, to: to)[...]
    var text = ""
    for event in history.events(from: from, to: to) where tunnel == nil || event.tunnel == nil || event.tunnel == tunnel {
      while let gap = gaps.first, gap.to <= event.time {
        if !json { text += gap.text(.machine) + "\n" }
        gaps = gaps.dropFirst()
      }
      text += (json ? JSON(encoding: event).text() : "\(event.time.localTime)  \(event.line)") + "\n"
    }
    if text.isEmpty, !json { text = "nothing is recorded for this time\n" }
    write(text)
  }

  private func runReplay(_ onDisk: RecordOnDisk) throws {
    let set = try policies.load()
    let history = onDisk.revealed(by: set)
    let replay = Replay(history, policies: set, identification: onDisk.identification(of: set))
    var lines = ["\(replay.reproduced) recorded decisions are reproduced"]
    for difference in replay.differences {
      let found = difference.replayed.map { "\($0.outcome.rawValue), rule \($0.rule.map(String.init) ?? "none")" } ?? "no such tunnel"
      lines.append(
        "\(difference.time.localTime)  \(difference.tunnel): recorded \(difference.recorded.outcome.rawValue), rule "
          + "\(difference.recorded.rule.map(String.init) ?? "none"); replayed \(found)")
    }
    for (tunnel, count) in replay.unknown.sorted(by: { $0.key < $1.key }) {
      lines.append("\(tunnel): \(count) recorded decisions cannot be replayed: unknown in the record")
    }
    for other in replay.others {
      lines.append(
        "\(other.from.localTime) to \(other.to.localTime)  \(other.decisions) decisions of other policies, which the record does not have")
    }
    lines += history.leftOut(for: set, known: history.policies).map { "missing in the record: \($0)" } + history.defects
    write(lines.map { $0 + "\n" }.joined())
    if !replay.differences.isEmpty { throw ExitStatus.refused }
  }
}

extension EventReport {
  /// The tunnel that the event is about.
  fileprivate var tunnel: String? {
    switch happening {
    case let event as DecisionEvent: event.tunnel
    case let event as StateEvent: event.tunnel
    case let event as FailureEvent: event.tunnel
    case let event as OverrideEvent: event.tunnel
    case let event as LookupEvent: event.tunnel
    case let event as RepairEvent: event.tunnel
    case let event as WarningEvent: event.tunnel
    default: nil
    }
  }
}
