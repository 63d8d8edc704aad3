import ArgumentParser
import ControlClient
import ControlProtocol
import Glibc
import JSON
import StatusDisplay
import Terminal

struct AgentOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("Path of the agent's socket (also: ROAMWARD_SOCKET).", valueName: "path"), completion: .file())
  var socket: String = AgentOptions.standardSocket

  /// The agent's socket where no option names one.
  static var standardSocket: String { getenv("ROAMWARD_SOCKET").map { String(cString: $0) } ?? ControlClient.defaultPath }

  /// Connects to the agent; a failure says how to start one.
  func connect() throws -> ControlClient {
    do throws(ControlClient.Failure) {
      return try ControlClient(path: socket)
    } catch {
      writeError("roamward: \(error)\nhelp: start the agent with `systemctl start roamwardd`, or run `roamwardd` as root\n")
      throw ExitStatus.noAgent
    }
  }

  /// True if an agent is listening on the socket.
  var isAnswering: Bool { (try? ControlClient(path: socket)) != nil }

  /// Sends one request. A refusal is printed and ends the program. `progress`: what the agent does meanwhile; a terminal shows it.
  func ask(_ request: Request, progress: String? = nil) throws -> JSON {
    let line = ProgressLine()
    defer { line.clear() }
    guard let progress, line.isVisible else {
      return try with { client throws(ControlClient.Failure) in try client.ask(request) }
    }
    return try with { client throws(ControlClient.Failure) in
      let show = { (passed: Duration) in line.show("\(progress), \(age(passed))") }
      do throws(ControlClient.Failure) { return try client.ask(request, whileWaiting: show) } catch {
        line.clear()
        throw error
      }
    }
  }

  /// The agent's counts; if there is none, the program ends.
  func metrics() throws -> MetricsReport {
    try with { client throws(ControlClient.Failure) in try client.metrics() }
  }

  /// The agent's report; if there is none, the program ends.
  func status() throws -> StatusReport {
    try with { client throws(ControlClient.Failure) in try client.status() }
  }

  private func with<Value>(_ ask: (ControlClient) throws(ControlClient.Failure) -> Value) throws -> Value {
    let client = try connect()
    do throws(ControlClient.Failure) {
      return try ask(client)
    } catch {
      writeError("roamward: \(error)\n")
      throw ExitStatus.refused
    }
  }
}
