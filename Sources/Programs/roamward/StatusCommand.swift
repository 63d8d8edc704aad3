import ArgumentParser
import ControlProtocol
import JSON
import LinuxIO
import LinuxPlatform
import NetworkTypes
import RoamwardCore
import StatusDisplay
import Terminal

struct Status: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Show tunnels, their networks and reasons; problems first.",
    discussion: """
      --field prints one member of `status --json`, such as state, link or received-bytes; a dot leads further: rule.line. With --watch it \
      is printed again when it changes.

      Exit status with --exit-code: 0 every wanted tunnel is up; 4 a wanted tunnel is not up yet; 5 trouble: a failure, a question to a \
      person, blocked traffic or an error in a policy; 8 the agent is not running.

      Example: `roamward status corp --field state`
      """)

  @OptionGroup var agent: AgentOptions
  @Argument(help: "Name of the tunnel; without one, all tunnels.", completion: .tunnels) var tunnel: String?
  @Flag(help: "Print JSON.") var json = false
  @Option(help: ArgumentHelp("Print one value for scripts.", valueName: "name"), completion: .fields)
  var field: String?
  @Flag(help: "Report by the exit status whether all is as wanted.") var exitCode = false
  @Flag(help: "Follow the agent until Ctrl-C, also through restarts.") var watch = false

  func validate() throws {
    if json, field != nil { throw ValidationError("--field and --json exclude each other; use one of them") }
    if watch, exitCode { throw ValidationError("--watch and --exit-code exclude each other; use one of them") }
  }

  func run() throws {
    if !agent.isAnswering, let blocked = BlockedTraffic.current, field == nil {
      write(
        json
          ? JSON(encoding: blocked.report(at: .now)).text(indented: true) + "\n"
          : "blocked: \(blocked.text); no agent is running\n         `sudo roamward release` suspends the kill switch\n")
    }
    if watch { return try follow() }
    let report = try agent.status()
    if let field {
      write(try value(of: field, in: report))
    } else if json {
      write(JSON(encoding: try limited(report)).text(indented: true) + "\n")
    } else {
      let terminal = OutputTerminal()
      writeRaw(try lines(report).rendered(width: terminal?.columns, isColored: terminal?.isColored ?? false))
    }
    let verdict = StatusVerdict(report, tunnel: tunnel)
    if exitCode, verdict != .asWanted { throw ExitCode(verdict.rawValue) }
  }

  private func follow() throws {
    let watch = try StatusWatch(agent)
    if let field {
      try watch.run { report, _ in try value(of: field, in: report) }
    } else if json {
      try watch.run { report, _ in JSON(encoding: try limited(report)).text() + "\n" }
    } else {
      try watch.run(onScreen: true) { report, time in try lines(report, at: time) }
    }
  }

  private func value(of field: String, in report: StatusReport) throws -> String {
    do throws(StatusField.Unknown) {
      return try StatusField.text(field, of: report, tunnel: tunnel) + "\n"
    } catch {
      throw ValidationError("--field: \(error)")
    }
  }

  /// The report with the chosen tunnel alone.
  private func limited(_ report: StatusReport) throws -> StatusReport {
    guard let tunnel else { return report }
    var report = report
    guard report.tunnels.contains(where: { $0.name == tunnel }) else { throw unknown(tunnel, in: report) }
    report.tunnels.removeAll { $0.name != tunnel }
    return report
  }

  private func lines(_ report: StatusReport, at time: Timestamp? = nil) throws -> [StyledLine] {
    let text = StatusText(report, at: time, localTime: \.localTime)
    guard let tunnel else { return text.lines }
    guard let lines = text.lines(ofTunnel: tunnel) else { throw unknown(tunnel, in: report) }
    return lines
  }

  private func unknown(_ tunnel: String, in report: StatusReport) -> ValidationError {
    ValidationError("\(StatusField.unknownTunnel(tunnel, in: report))")
  }
}
