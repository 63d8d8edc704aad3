import ArgumentParser
import ControlClient
import ControlProtocol

struct Monitor: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Tells what happens as it happens: networks, decisions, tunnels.")

  @OptionGroup var agent: AgentOptions
  @Flag(help: "A JSON object a line.") var json = false

  func run() throws {
    let client = try agent.connect()
    do throws(ControlClient.Failure) {
      _ = try client.ask(.monitor)
      while let event = try client.next() {
        let time = localTime(event["time"]?.integer ?? 0)
        write((json ? event.text() : "\(time)  \(Event.line(event))") + "\n")
      }
    } catch {
      writeError("roamward: \(error)\n")
      throw ExitStatus.refused
    }
    writeError("roamward: the agent has ended\n")
    throw ExitStatus.noAgent
  }
}
