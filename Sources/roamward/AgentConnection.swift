import ArgumentParser
import ControlClient
import ControlProtocol
import Glibc
import JSON

struct AgentOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Path of the agent's socket (also: ROAMWARD_SOCKET).", valueName: "path"))
  var socket: String = getenv("ROAMWARD_SOCKET").map { String(cString: $0) } ?? ControlClient.defaultPath

  /// Connects, or says how to start an agent.
  func connect() throws -> ControlClient {
    do throws(ControlClient.Failure) {
      return try ControlClient(path: socket)
    } catch {
      writeError("roamward: \(error)\nhelp: start the agent with `systemctl start roamwardd`, or run `roamwardd` as root\n")
      throw ExitStatus.noAgent
    }
  }

  /// Whether an agent listens there.
  var isAnswering: Bool { (try? ControlClient(path: socket)) != nil }

  /// One request; a refusal is printed and ends the program.
  func ask(_ request: Request) throws -> JSON {
    try with { client throws(ControlClient.Failure) in try client.ask(request) }
  }

  /// The agent's report; without one the program ends.
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
