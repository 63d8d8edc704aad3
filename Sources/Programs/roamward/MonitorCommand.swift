import ArgumentParser
import ControlClient
import ControlProtocol
import JSON
import LinuxIO
import NetworkTypes
import RoamwardCore
import Terminal

struct Monitor: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "monitor",
    abstract: "Stream network, decision and tunnel events.",
    discussion: """
      --record writes a timeline. `roamward simulate` replays it and checks that the decisions are the same.

      Example: `roamward monitor --json`
      """)

  @OptionGroup var agent: AgentOptions
  @Flag(help: "Print one JSON object per line.") var json = false
  @Option(help: ArgumentHelp("Record networks, overrides and decisions to a new file.", valueName: "file"), completion: .file())
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
  private var recorder: TimelineRecorder

  init(_ path: String, beginning reply: NetworkReply) throws(ControlClient.Failure) {
    self.path = path
    recorder = TimelineRecorder(beginning: reply.time)
    let head =
      "# Recorded by `roamward monitor --record` on \(reply.time.localTime).\nversion: 1\nstart: \(reply.time.weekTime)\nsteps:\n"
    do throws(SystemError) {
      try TextFile.create(path, with: Array(head.utf8), mode: 0o600)
    } catch {
      throw .broken(error.description)
    }
    try append(recorder.first(reply.network))
  }

  mutating func add(_ event: EventReport) throws(ControlClient.Failure) {
    guard let step = recorder.step(for: event) else { return }
    try append(step)
  }

  private func append(_ step: JSON) throws(ControlClient.Failure) {
    do throws(SystemError) {
      try TextFile.append(path, Array("- \(step.text())\n".utf8))
    } catch {
      throw .broken(error.description)
    }
  }
}
