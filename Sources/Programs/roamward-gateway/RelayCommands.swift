import ArgumentParser
import GatewayHost
import Terminal

struct Relay: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "relay",
    abstract: "Manage the relay of UDP by TCP.", subcommands: [Enable.self, Disable.self, Show.self],
    defaultSubcommand: Show.self)

  struct Enable: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "enable",
      abstract: "Relay WireGuard's packets by TCP, inside TLS.",
      discussion: """
        Roamward's clients learn the port with their next login, and use it only while UDP is not answered. Logins are accepted at this \
        port too. Stock WireGuard clients cannot use it.

        Example: `roamward-gateway relay enable --port 443`
        """)
    @Option(help: "The TCP port. 443 passes most networks.") var port: UInt16 = 443
    @OptionGroup var options: ChangeOptions

    func run() throws {
      guard port > 0 else { throw ValidationError("--port: use 1 to 65535") }
      let folder = try options.state.folder
      guard try folder.loginIdentity() != nil else {
        throw Failure.refused("there are no logins, by which clients learn of the relay\n  help: roamward-gateway login enable")
      }
      try options.set(.relay, to: "\(port)\n")
      if !options.trial.dryRun, let trouble = folder.outcome(of: "relay", .relay) {
        throw Failure.refused(
          "nothing is relayed: \(trouble)\n  help: roamward-gateway relay enable --port PORT, or free that port (`ss -ltnp`)")
      }
    }
  }

  struct Disable: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "disable",
      abstract: "Stop the relay, and disconnect its devices.",
      discussion: "Example: `roamward-gateway relay disable`")
    @OptionGroup var options: ChangeOptions

    func run() throws { try options.set(.relay, to: nil) }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Show whether packets are relayed, and at which port.",
      discussion: "Example: `roamward-gateway relay show`")
    @OptionGroup var state: StateOptions

    func run() throws {
      guard let port = try state.folder.relayPort() else {
        return write("nothing is relayed; `roamward-gateway relay enable` does it\n")
      }
      write("relay  TCP port \(port)\n")
      if try state.folder.isServed, let trouble = try state.folder.trouble(of: .relay) { write("note  nothing is relayed: \(trouble)\n") }
    }
  }
}
