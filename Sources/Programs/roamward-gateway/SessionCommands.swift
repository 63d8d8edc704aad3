import ArgumentParser
import GatewayCore
import GatewayHost
import GatewayPage
import JSON
import Terminal

struct Sessions: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "session", abstract: "End sessions of devices that logged in.",
    discussion: "`roamward-gateway device list --sessions` lists them.", subcommands: [End.self])

  struct End: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "end",
      abstract: "End the session of a device, or all of a user's.",
      discussion: """
        The key is refused at once, and connections stop. Another login under the same device name connects it again, with the same \
        addresses. `user lock` prevents that. A device that has not logged in (`device add`) has no session: `device remove` disconnects it.

        Example: `roamward-gateway session end alice/laptop`
        """)
    @Argument(help: ArgumentHelp("The device, or the user.", valueName: "user[/device]"), completion: .holders) var holder: Holder
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
}

/// A user, or one device.
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
