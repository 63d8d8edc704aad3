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
    subcommands: [Add.self, Set.self, Lock.self, Unlock.self, Remove.self, Show.self])

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

  struct Set: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "set",
      abstract: "Change a user: password, codes, identity, end.",
      discussion: """
        A new secret of one-time codes replaces the one before, and ends recovery codes, of which each stands for the code of one login.

        With --openid or --pam, the person of an OpenID provider, or the owner of an account that PAM checks, logs in as this user from \
        then on. The same name is no link: people choose it. `audit` has the command for a person who was refused; run it if you know \
        that this is the user.

        Example: `roamward-gateway user set alice --password`
        """)
    @Argument(help: "The name.", completion: .users) var name: GatewayName
    @OptionGroup var login: LoginOptions
    @Option(help: ArgumentHelp("End of the account: a day, such as 2027-01-31, or a time.", valueName: "time"), transform: end(_:))
    var until: Timestamp?
    @Flag(help: "The account has no end.") var noUntil = false
    @OptionGroup var options: ChangeOptions

    func validate() throws {
      if login.hasSecrets, options.json { throw ValidationError("secrets are lines to take away: --json is for other changes") }
      if until != nil, noUntil { throw ValidationError("give one of --until and --no-until") }
      if login.isEmpty, until == nil, !noUntil { throw ValidationError("say what is to change, such as --password or --until") }
    }

    func run() throws {
      let secrets = try login.secrets(of: name, options.state)
      try options.make(isQuiet: login.hasSecrets) { work throws(GatewayError) in
        try login.change(name, by: secrets, in: &work)
        if until != nil || noUntil { try Accounts.setEnd(until, of: name, in: &work) }
      }
      if options.trial.dryRun { return }
      login.show(secrets, of: name)
      let directory = try options.state.directory(.users([name]))
      if login.pam != nil, let user = directory.user(named: name), directory.credential(of: user.id)?.password.isEmpty == false {
        writeError("note: \(name) has a password here, which alone counts\n  help: roamward-gateway user set \(name) --no-password\n")
      }
    }
  }

  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove",
      abstract: "Remove a user and the user's devices.",
      discussion: "Example: `roamward-gateway user remove alice`")
    @Argument(help: "The name.", completion: .users) var name: GatewayName
    @OptionGroup var options: ChangeOptions

    func run() throws { try options.make(reading: .users([name])) { work throws(GatewayError) in try work.removeUser(name) } }
  }

  struct Lock: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "lock",
      abstract: "Disconnect and refuse the user's devices at once.",
      discussion: #"Example: `roamward-gateway user lock alice --reason "lost laptop"`"#)
    @Argument(help: "The name.", completion: .users) var name: GatewayName
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
    @Argument(help: "The name.", completion: .users) var name: GatewayName
    @OptionGroup var options: ChangeOptions

    func run() throws { try options.make(reading: .users([name])) { work throws(GatewayError) in try work.setLocked(false, name) } }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Show a user, or list all users with their devices.",
      discussion: """
        Of one user, shows state, logins, groups, devices and settings, with the scope that each comes from, and the rules of access about \
        this user; of a locked one, since when, by whom and why. Needs root.

        Example: `roamward-gateway user show alice`
        """, aliases: ["list"])
    @Argument(help: "The name; without one, all users are listed.", completion: .users) var name: GatewayName?
    @Flag(help: "List the one-time tokens of all users.") var tokens = false
    @OptionGroup var list: ListOptions

    func validate() throws {
      if tokens, name != nil { throw ValidationError("--tokens lists those of all users: give no name") }
    }

    func run() throws {
      guard let name else {
        return tokens ? try list.show(.tokens) { $0.tokenList(at: $1) } : try list.show(.users) { $0.userList(at: $1) }
      }
      let report = try HostExamination(list.state.folder).report(of: name)
      write(list.json ? [JSON(encoding: report.document).text(indented: true)] : report.lines)
    }
  }
}

private func end(_ text: String) throws -> Timestamp {
  guard let time = User.end(text) else { throw ValidationError("a day such as 2027-01-31, or a time such as 2027-01-31T18:00:00.000Z") }
  return time
}

struct Groups: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "group", abstract: "Manage groups of users.",
    subcommands: [Add.self, Set.self, Remove.self, List.self], defaultSubcommand: List.self)

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
    @Argument(help: "The name.", completion: .groups) var name: GatewayName
    @OptionGroup var options: ChangeOptions

    func run() throws { try options.make { work throws(GatewayError) in try work.removeGroup(name) } }
  }

  struct Set: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "set",
      abstract: "Change a group: its users and its precedence.",
      discussion: "Example: `roamward-gateway group set staff --add alice --remove bob`")
    @Argument(help: "The group.", completion: .groups) var group: GatewayName
    @Option(parsing: .upToNextOption, help: ArgumentHelp("Add these users.", valueName: "user"), completion: .users)
    var add: [GatewayName] = []
    @Option(parsing: .upToNextOption, help: ArgumentHelp("Remove these users.", valueName: "user"), completion: .users)
    var remove: [GatewayName] = []
    @Option(help: "Of two groups, the lower number is preferred.") var precedence: Int64?
    @OptionGroup var options: ChangeOptions

    func validate() throws {
      if add.isEmpty, remove.isEmpty, precedence == nil { throw ValidationError("give --add, --remove or --precedence") }
    }

    func run() throws {
      try options.make(reading: precedence == nil ? .users(add + remove) : .everything) { work throws(GatewayError) in
        for user in add { try work.setMember(true, user, of: group) }
        for user in remove { try work.setMember(false, user, of: group) }
        if let precedence { try Accounts.setPrecedence(precedence, of: group, in: &work) }
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
