import ArgumentParser
import ControlClient
import ControlProtocol
import JSON
import LinuxIO
import NetworkTypes
import RoamwardCore

struct Monitor: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Stream network, decision and tunnel events.",
    discussion: "--record writes a timeline. `roamward simulate` replays it and checks that the decisions are the same.")

  @OptionGroup var agent: AgentOptions
  @Flag(help: "Print one JSON object per line.") var json = false
  @Option(help: ArgumentHelp("Record networks, overrides and decisions to a new file.", valueName: "file"))
  var record: String?

  func run() throws {
    let client = try agent.connect()
    do throws(ControlClient.Failure) {
      var recording: Recording?
      if let record {
        recording = try Recording(record, beginning: try client.network(.monitor(snapshots: true)))
      } else {
        _ = try client.ask(.monitor())
      }
      while let event = try client.next() {
        try recording?.add(event)
        if event.happening is SnapshotEvent { continue }
        write((json ? JSON(encoding: event).text() : "\(event.time.localTime)  \(event.line)") + "\n")
      }
    } catch {
      writeError("roamward: \(error)\n")
      throw ExitStatus.refused
    }
    writeError("roamward: the agent has stopped; start it with `systemctl start roamwardd`\n")
    throw ExitStatus.noAgent
  }
}

/// A timeline that is recorded live: one element of its `steps` per line.
private struct Recording {
  private let path: String
  private let beginning: Timestamp

  init(_ path: String, beginning reply: NetworkReply) throws(ControlClient.Failure) {
    self.path = path
    beginning = reply.time
    let head =
      "# Recorded by `roamward monitor --record` on \(beginning.localTime).\nversion: 1\nstart: \(weekTime(beginning))\nsteps:\n"
    do throws(SystemError) {
      try TextFile.create(path, with: Array(head.utf8), mode: 0o600)
    } catch {
      throw .broken(error.description)
    }
    try append(["network": reply.network], at: 0)
  }

  mutating func add(_ event: EventReport) throws(ControlClient.Failure) {
    // Both as a clock with a resolution of seconds shows them.
    let at = max(0, event.time.seconds - beginning.seconds)
    switch event.happening {
    case let seen as SnapshotEvent: try append(["network": seen.network], at: at)
    case let said as OverrideEvent where said.isSaid:
      guard let wants = said.override else { return try append(["resume": .string(said.tunnel)], at: at) }
      try append([wants: .string(said.tunnel), "until": said.until, "reason": JSON(said.reason)], at: at)
    // Pending decisions end by themselves, possibly within the recording's resolution of one second.
    case let decided as DecisionEvent where decided.decision != Decision.Outcome.pending.rawValue:
      // Decisions are checked after the network has settled.
      try append(["expect": .object([JSON.Member(key: decided.tunnel, value: .string(decided.decision))])], at: at + 1)
    default: break
    }
  }

  private func append(_ step: JSON, at seconds: Int64) throws(ControlClient.Failure) {
    let all = [JSON.Member(key: "at", value: .string("\(seconds)s"))] + (step.members ?? []).filter { $0.value != .null }
    do throws(SystemError) {
      try TextFile.append(path, Array("- \(JSON.object(all).text())\n".utf8))
    } catch {
      throw .broken(error.description)
    }
  }
}

extension OverrideEvent {
  /// The lifetime in the form of a timeline, which counts in seconds.
  fileprivate var until: JSON {
    switch lifetime {
    case .network?: "network-change"
    case .resume?: "resume"
    case .time?: .integer(max(1, (self.milliseconds ?? 0) / 1000))
    case nil: .null
    }
  }
}
