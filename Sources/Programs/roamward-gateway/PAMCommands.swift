import ArgumentParser
import GatewayCore
import GatewayHost
import GatewayLogin
import Terminal

struct PAM: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pam", abstract: "Manage checks of passwords by PAM.", subcommands: [Enable.self, Disable.self, Show.self],
    defaultSubcommand: Show.self)

  struct Enable: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "enable",
      abstract: "Check passwords of users that have none here by PAM.",
      discussion: """
        The modules run without privileges: those that ask LDAP (by nslcd) or RADIUS work, those that need root are refused. Run \
        again, it replaces all settings. `roamward-gateway doctor` asks the service whether it works.

        Example: `roamward-gateway login pam enable --service roamward`
        """)
    @Option(help: ArgumentHelp("The service: a file in /etc/pam.d.", valueName: "name")) var service: String
    @Flag(help: "Add users at their first login, under names that are free.") var createUsers = false
    @Option(help: "Seconds that a check may take, 1 to 15.") var timeout = 15
    @OptionGroup var options: ChangeOptions

    func run() throws {
      var settings = PAMSettings(service: service)
      settings.createsUsers = createUsers
      settings.seconds = timeout
      _ = try options.state.directory(.users([]))
      try PAMFiles.check(settings)
      try options.set(.pam, to: settings.text)
    }
  }

  struct Disable: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "disable",
      abstract: "Stop checks of passwords by PAM; devices stay.",
      discussion: "Example: `roamward-gateway login pam disable`")
    @OptionGroup var options: ChangeOptions

    func run() throws { try options.set(.pam, to: nil) }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Show the settings.",
      discussion: "Example: `roamward-gateway login pam show`")
    @OptionGroup var state: StateOptions

    func run() throws {
      guard let settings = try state.folder.pamSettings() else {
        return write("no PAM service; `roamward-gateway login pam enable` sets one\n")
      }
      write(settings.text)
    }
  }
}
