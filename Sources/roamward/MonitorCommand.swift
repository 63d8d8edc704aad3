import ArgumentParser
import ControlClient
import ControlProtocol
import LinuxIO

struct Monitor: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Tells what happens as it happens: networks, decisions, tunnels.",
    discussion: "A recording is a timeline: `roamward simulate` lives through it again, and checks that it decides the same.")

  @OptionGroup var agent: AgentOptions
  @Flag(help: "A JSON object a line.") var json = false
  @Option(help: ArgumentHelp("Also record what is seen, said and decided, into a file that does not exist yet.", valueName: "file"))
  var record: String?

  func run() throws {
    let client = try agent.connect()
    do throws(ControlClient.Failure) {
      let reply = try client.ask(.monitor(snapshots: record != nil))
      var recording = try record.map { path throws(ControlClient.Failure) in try Recording(path, beginning: reply) }
      while let event = try client.next() {
        try recording?.add(event)
        guard event["event"]?.string != "snapshot" else { continue }
        write((json ? event.text() : "\(localTime(event["time"]?.integer ?? 0))  \(Event.line(event))") + "\n")
      }
    } catch {
      writeError("roamward: \(error)\n")
      throw ExitStatus.refused
    }
    writeError("roamward: the agent has ended\n")
    throw ExitStatus.noAgent
  }
}

/// A timeline that is written as it happens: an element of its `steps` a line.
private struct Recording {
  private let path: String
  private let beginning: Int64
  /// Decisions of the same moment go into one expectation.
  private var lastTime: Int64 = -1

  init(_ path: String, beginning reply: JSON) throws(ControlClient.Failure) {
    self.path = path
    beginning = reply["time"]?.integer ?? 0
    let head = "# Recorded by `roamward monitor --record` on \(localTime(beginning)).\nversion: 1\nstart: \(weekTime(beginning))\nsteps:\n"
    do throws(SystemError) {
      try TextFile.create(path, with: Array(head.utf8), mode: 0o600)
    } catch {
      throw .broken(error.description)
    }
    if let network = reply["network"] { try append(["network": network], at: 0) }
  }

  mutating func add(_ event: JSON) throws(ControlClient.Failure) {
    let at = max(0, (event["time"]?.integer ?? beginning) - beginning)
    let tunnel = event["tunnel"] ?? .null
    switch event["event"]?.string {
    case "snapshot": try append(["network": event["network"] ?? .null], at: at)
    case "hold" where event["said"]?.bool == true:
      guard let wants = event["hold"]?.string else { return try append(["resume": tunnel], at: at) }
      try append([wants == "up" ? "up" : "down": tunnel, "until": event["until"] ?? .null, "reason": event["reason"] ?? .null], at: at)
    // A decision that waits passes by itself, and may have passed within the second that a recording tells apart.
    case "decision" where event["decision"]?.string == "pending": break
    case "decision":
      // What is decided at a moment is looked at when the network has settled.
      guard let name = tunnel.string else { return }
      try append(["expect": .object([JSON.Member(key: name, value: event["decision"] ?? .null)])], at: at + 1)
    default: break
    }
  }

  private func append(_ step: JSON, at seconds: Int64) throws(ControlClient.Failure) {
    guard case .object(let members) = step else { return }
    let all = [JSON.Member(key: "at", value: .string("\(seconds)s"))] + members.filter { $0.value != .null }
    do throws(SystemError) {
      try TextFile.append(path, Array("- \(JSON.object(all).text())\n".utf8))
    } catch {
      throw .broken(error.description)
    }
  }
}
