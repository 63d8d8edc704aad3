import ArgumentParser
import GatewayCore
import GatewayHost
import GatewayLogin
import Glibc
import Terminal

/// A group of this gateway and the provider's value for it: `staff=Engineering`.
struct MappingArgument: ExpressibleByArgument {
  let mapping: OpenIDSettings.Mapping

  init?(argument: String) {
    let parts = argument.split(separator: "=", maxSplits: 1)
    guard parts.count == 2, let group = GatewayName(String(parts[0])) else { return nil }
    mapping = OpenIDSettings.Mapping(group: group, value: String(parts[1]))
  }
}

struct OpenID: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "openid", abstract: "Manage logins at an OpenID provider.", subcommands: [Enable.self, Disable.self, Show.self],
    defaultSubcommand: Show.self)

  struct Enable: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "enable",
      abstract: "Accept logins by a code that a user enters at the provider.",
      discussion: """
        The provider needs a client that may use the device authorization grant (RFC 8628). Run again, it replaces all settings. \
        `roamward-gateway doctor` asks the provider whether it accepts them.

        Example: `roamward-gateway login openid enable --issuer https://login.example --client-id roamward`
        """)
    @Option(help: ArgumentHelp("The provider's issuer.", valueName: "url")) var issuer: String
    @Option(help: ArgumentHelp("The client that this gateway is there.", valueName: "id")) var clientID: String
    @Option(help: ArgumentHelp("The file with the client's secret, in its first line.", valueName: "file"), completion: .file())
    var secretFile: String?
    @Option(help: ArgumentHelp("Certificates (PEM) to verify the provider's by.", valueName: "file"), completion: .file())
    var authorityFile: String?
    @Option(help: ArgumentHelp("The claim that has the user's name.", valueName: "claim")) var userClaim = "preferred_username"
    @Option(help: ArgumentHelp("The claim that has the groups.", valueName: "claim")) var groupsClaim = "groups"
    @Option(help: ArgumentHelp("A group whose members the provider decides on.", valueName: "group=value")) var group: [MappingArgument] =
      []
    @Option(help: "A scope to ask for, beside openid.") var scope = ["profile"]
    @Flag(help: "Add users at their first login, under names that are free.") var createUsers = false
    @OptionGroup var options: ChangeOptions

    func run() throws {
      var settings = OpenIDSettings(issuer: issuer, clientID: clientID)
      settings.secretFile = secretFile
      settings.authorityFile = authorityFile
      settings.userClaim = userClaim
      settings.groupsClaim = groupsClaim
      settings.groups = group.map(\.mapping)
      settings.scopes = ["openid"] + scope.filter { $0 != "openid" }
      settings.createsUsers = createUsers
      if let fault = settings.fault { throw fault }
      let directory = try options.state.directory()
      for mapping in settings.groups where directory.group(named: mapping.group) == nil {
        throw GatewayError("there is no group \(mapping.group)", help: "roamward-gateway group add \(mapping.group)")
      }
      try OpenIDFiles.check(settings)
      try options.set(.openID, to: settings.text)
    }
  }

  struct Disable: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "disable",
      abstract: "End logins there; devices stay.",
      discussion: "Example: `roamward-gateway login openid disable`")
    @OptionGroup var options: ChangeOptions

    func run() throws { try options.set(.openID, to: nil) }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Show the settings.",
      discussion: "Example: `roamward-gateway login openid show`")
    @OptionGroup var state: StateOptions

    func run() throws {
      guard let settings = try state.folder.openIDSettings() else {
        return write("no OpenID provider; `roamward-gateway login openid enable` sets one\n")
      }
      write(settings.text)
    }
  }
}

struct UserLink: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "link", abstract: "Link a user to a person elsewhere.",
    discussion: """
      A person of the OpenID provider, or the owner of an account that PAM checks, logs in as this user from then on. The same name is no \
      link: people choose it. `audit tail` has the command for a person who was refused; run it if you know that this is the user.

      Example: `roamward-gateway user link alice --pam alice`
      """)
  @Argument(help: "The name.") var name: GatewayName
  @Option(help: ArgumentHelp("The person at the OpenID provider: `sub`.", valueName: "subject")) var openid: String?
  @Option(help: ArgumentHelp("The account that PAM checks.", valueName: "account")) var pam: GatewayName?
  @OptionGroup var options: ChangeOptions

  func validate() throws {
    if (openid == nil) == (pam == nil) { throw ValidationError("give one of --openid and --pam") }
    if let openid, !(1...255).contains(openid.utf8.count) { throw ValidationError("--openid: use 1 to 255 characters") }
  }

  func run() throws {
    let subject = try subject()
    try options.make { work throws(GatewayError) in try work.link(name, to: subject) }
    let directory = try options.state.directory(.users([name]))
    if pam != nil, let user = directory.user(named: name), directory.credential(of: user.id)?.password.isEmpty == false {
      write("note  \(name) has a password here, which alone counts\n  help: roamward-gateway user password \(name) --remove\n")
    }
  }

  private func subject() throws -> String {
    if let openid {
      guard let settings = try options.state.folder.openIDSettings() else {
        throw Failure.refused("there is no OpenID provider\n  help: `roamward-gateway login openid enable` sets one")
      }
      return settings.subject(of: openid)
    }
    guard let settings = try options.state.folder.pamSettings(), let pam else {
      throw Failure.refused("PAM checks no passwords\n  help: `roamward-gateway login pam enable` sets a service")
    }
    return settings.subject(of: pam)
  }
}

struct UserIdentity: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "identity", abstract: "Show or forget which person elsewhere a user is.",
    discussion: """
      No other person of an OpenID provider or of PAM can log in as the user. `user link` links another one.

      Example: `roamward-gateway user identity alice --remove`
      """)
  @Argument(help: "The name.") var name: GatewayName
  @Flag(help: "Forget the person, who cannot log in any more.") var remove = false
  @OptionGroup var options: ChangeOptions

  func run() throws {
    if remove {
      try options.make { work throws(GatewayError) in try work.removeSubject(of: name) }
      return
    }
    guard let user = try options.state.directory().user(named: name) else {
      throw GatewayError.noUser(name)
    }
    write("\(user.subject ?? "\(name) is linked to no person of an OpenID provider or of PAM")\n")
  }
}
