import ArgumentParser
import ControlClient
import ControlProtocol
import Glibc

struct AgentOptions: ParsableArguments {
  @Option(help: ArgumentHelp("The agent's socket (also: ROAMWARD_SOCKET).", valueName: "path"))
  var socket: String = getenv("ROAMWARD_SOCKET").map { String(cString: $0) } ?? ControlClient.defaultPath

  /// Connects, or says how to start an agent.
  func connect() throws -> ControlClient {
    do throws(ControlClient.Failure) {
      return try ControlClient(path: socket)
    } catch {
      writeError("roamward: \(error)\nhelp: start it with `systemctl start roamwardd`, or as root `roamwardd`\n")
      throw ExitStatus.noAgent
    }
  }

  /// Whether an agent listens there.
  var isAnswering: Bool { (try? ControlClient(path: socket)) != nil }

  /// One request; a refusal is printed and ends the program.
  func ask(_ request: Request) throws -> JSON {
    let client = try connect()
    do throws(ControlClient.Failure) {
      return try client.ask(request)
    } catch {
      writeError("roamward: \(error)\n")
      throw ExitStatus.refused
    }
  }
}
