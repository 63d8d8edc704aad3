import ArgumentParser
import GatewayCore
import GatewayHost
import GatewayPage
import JSON
import Terminal

struct Sessions: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "session", abstract: "Show and end sessions of devices that logged in.", subcommands: [List.self, End.self],
    defaultSubcommand: List.self, aliases: ["sessions"])

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "List devices that logged in: when, how, from where.",
      discussion: """
        Shows whether they are connected, too. Needs root.

        Example: `roamward-gateway session list`
        """)
    @Flag(help: "Print JSON.") var json = false
    @OptionGroup var state: StateOptions

    func run() throws {
      let status = try HostExamination(state.folder).status()
      write(json ? [JSON(encoding: status.sessionReports).text(indented: true)] : status.sessionLines)
    }
  }

  struct End: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "end",
      abstract: "End the session of a device, or all of a user's.",
      discussion: """
        The key is refused at once, and connections stop. Another login under the same device name connects it again, with the same \
        addresses. `user lock` prevents that. A device that has not logged in (`peer add`) has no session: `device remove` disconnects it.

        Example: `roamward-gateway session end alice/laptop`
        """)
    @Argument(help: ArgumentHelp("The device, or the user.", valueName: "user[/device]")) var holder: Holder
    @OptionGroup var options: ChangeOptions

    func run() throws {
      switch holder {
      case .device(let path):
        try options.make(reading: .users([path.user])) { work throws(GatewayError) in try work.endSession(of: path) }
      case .user(let name):
        let others = try options.make(reading: .users([name])) { work throws(GatewayError) in try work.endSessions(of: name) }
        for path in others {
          writeError(
            "note: \(path) has not logged in, and stays connected\n  help: `roamward-gateway device remove \(path)` disconnects it\n")
        }
      }
    }
  }

  /// The holder of a session: a user, or one device.
  enum Holder: ExpressibleByArgument {
    case user(GatewayName)
    case device(DevicePath)

    init?(argument: String) {
      if let path = DevicePath(argument) {
        self = .device(path)
      } else if let name = GatewayName(argument) {
        self = .user(name)
      } else {
        return nil
      }
    }
  }
}
