import ArgumentParser
import GatewayCore
import GatewayHost
import GatewayPage
import JSON
import LinuxIO
import NetworkTypes
import Terminal

struct Users: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "user", abstract: "Manage users.",
    subcommands: [
      Add.self, Remove.self, Lock.self, Unlock.self, UserPassword.self, UserTOTP.self, UserRecovery.self, UserLink.self, UserIdentity.self,
      Show.self,
      List.self,
    ],
    defaultSubcommand: List.self)

  struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "add",
      abstract: "Add a user.",
      discussion: "Example: `roamward-gateway user add alice --password --until 2027-01-31`")
    @Argument(help: "The name: letters, digits, `.`, `_`, `-`, `@`.") var name: GatewayName
    @Flag(help: "Set a password too, read from standard input.") var password = false
    @Option(help: ArgumentHelp("End of the account: a day, such as 2027-01-31, or a time.", valueName: "time"), transform: end(_:))
    var until: Timestamp?
    @OptionGroup var options: ChangeOptions

    func run() throws {
      let hash = try password ? readPassword(of: name, for: options.state) : nil
      try options.make(reading: .users([name])) { work throws(GatewayError) in
        try work.addUser(name, until: until)
        if let hash { try work.setPassword(hash, of: name, mustChange: false) }
      }
    }
  }

  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove",
      abstract: "Remove a user and the user's devices.",
      discussion: "Example: `roamward-gateway user remove alice`")
    @Argument(help: "The name.") var name: GatewayName
    @OptionGroup var options: ChangeOptions

    func run() throws { try options.make(reading: .users([name])) { work throws(GatewayError) in try work.removeUser(name) } }
  }

  struct Lock: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "lock",
      abstract: "Disconnect and refuse the user's devices at once.",
      discussion: #"Example: `roamward-gateway user lock alice --reason "lost laptop"`"#)
    @Argument(help: "The name.") var name: GatewayName
    @Option(help: ArgumentHelp("Why, for the audit log and `user show`.", valueName: "text")) var reason = ""
    @OptionGroup var options: ChangeOptions

    func run() throws {
      try options.make(reading: .users([name])) { work throws(GatewayError) in try work.setLocked(true, name, reason: reason) }
    }
  }

  struct Unlock: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "unlock",
      abstract: "Accept the user's devices again.",
      discussion: "Example: `roamward-gateway user unlock alice`")
    @Argument(help: "The name.") var name: GatewayName
    @OptionGroup var options: ChangeOptions

    func run() throws { try options.make(reading: .users([name])) { work throws(GatewayError) in try work.setLocked(false, name) } }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Show a user: state, logins, groups, devices, settings.",
      discussion: """
        Of a locked user, shows since when, by whom and why. Each setting has the scope that it comes from, and the rules of access are \
        those about this user. Needs root.

        Example: `roamward-gateway user show alice`
        """)
    @Argument(help: "The name.") var name: GatewayName
    @Flag(help: "Print JSON.") var json = false
    @OptionGroup var state: StateOptions

    func run() throws {
      let report = try HostExamination(state.folder).report(of: name)
      write(json ? [JSON(encoding: report.document).text(indented: true)] : report.lines)
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "List users with their groups and devices.",
      discussion: "Example: `roamward-gateway user list`")
    @OptionGroup var list: ListOptions

    func run() throws { try list.show(.users) { $0.userList(at: $1) } }
  }
}

private func end(_ text: String) throws -> Timestamp {
  guard let time = User.end(text) else { throw ValidationError("a day such as 2027-01-31, or a time such as 2027-01-31T18:00:00.000Z") }
  return time
}

struct Groups: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "group", abstract: "Manage groups of users.",
    subcommands: [Add.self, Remove.self, Join.self, Leave.self, List.self], defaultSubcommand: List.self)

  struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "add",
      abstract: "Add a group.",
      discussion: "Example: `roamward-gateway group add staff --precedence 10`")
    @Argument(help: "The name.") var name: GatewayName
    @Option(help: "Of two groups, the lower number is preferred.") var precedence: Int64 = 100
    @OptionGroup var options: ChangeOptions

    func run() throws {
      try options.make(reading: .users([])) { work throws(GatewayError) in try work.addGroup(name, precedence: precedence) }
    }
  }

  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove",
      abstract: "Remove a group that no rule of access names.",
      discussion: "Example: `roamward-gateway group remove staff`")
    @Argument(help: "The name.") var name: GatewayName
    @OptionGroup var options: ChangeOptions

    func run() throws { try options.make { work throws(GatewayError) in try work.removeGroup(name) } }
  }

  struct Join: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "join",
      abstract: "Add users to a group.",
      discussion: "Example: `roamward-gateway group join staff alice bob`")
    @Argument(help: "The group.") var group: GatewayName
    @Argument(help: "The users.") var users: [GatewayName]
    @OptionGroup var options: ChangeOptions

    func run() throws {
      try options.make(reading: .users(users)) { work throws(GatewayError) in
        for user in users { try work.setMember(true, user, of: group) }
      }
    }
  }

  struct Leave: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "leave",
      abstract: "Remove users from a group.",
      discussion: "Example: `roamward-gateway group leave staff bob`")
    @Argument(help: "The group.") var group: GatewayName
    @Argument(help: "The users.") var users: [GatewayName]
    @OptionGroup var options: ChangeOptions

    func run() throws {
      try options.make(reading: .users(users)) { work throws(GatewayError) in
        for user in users { try work.setMember(false, user, of: group) }
      }
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "List groups with their users.",
      discussion: "Example: `roamward-gateway group list`")
    @OptionGroup var list: ListOptions

    func run() throws { try list.show(.groups) { directory, _ in directory.groupList } }
  }
}
