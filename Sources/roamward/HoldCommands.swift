import ArgumentParser
import ControlProtocol

struct Up: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Brings a tunnel up by hand, whatever the rules say.",
    discussion: "Lasts until the network changes, or until `roamward resume`.")

  @OptionGroup var agent: AgentOptions
  @Argument(help: "The tunnel's name.") var tunnel: String
  @Option(help: ArgumentHelp("Wait until it is connected, at most this many seconds.", valueName: "seconds")) var wait: Int?

  func run() throws {
    _ = try agent.ask(.up(tunnel: tunnel))
    write("\(tunnel) is held up until the network changes or `roamward resume \(tunnel)`\n")
    if let wait { try waitFor("connected", of: tunnel, seconds: Double(wait), agent) }
  }
}

struct Down: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Takes a tunnel down by hand, and keeps it down.",
    discussion: "Lasts until the network changes, or until `roamward resume`.")

  @OptionGroup var agent: AgentOptions
  @Argument(help: "The tunnel's name.") var tunnel: String
  @Option(help: ArgumentHelp("Wait until it is down, at most this many seconds.", valueName: "seconds")) var wait: Int?

  func run() throws {
    _ = try agent.ask(.down(tunnel: tunnel))
    write("\(tunnel) is held down until the network changes or `roamward resume \(tunnel)`\n")
    if let wait { try waitFor("disconnected", of: tunnel, seconds: Double(wait), agent) }
  }
}

struct Resume: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Gives a tunnel, or all, back to the rules.")

  @OptionGroup var agent: AgentOptions
  @Argument(help: "The tunnel's name; without one, all.") var tunnel: String?

  func run() throws {
    _ = try agent.ask(.resume(tunnel: tunnel))
    write("\(tunnel ?? "every tunnel") follows its rules\n")
  }
}
