import ArgumentParser
import GatewayCore
import GatewayCredentials
import GatewayHost
import GatewayLogin
import GatewayStore
import Glibc
import JSON
import LinuxIO
import LoginProtocol
import NetworkTypes
import Terminal

struct Logins: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "login", abstract: "Show the ways by which users add devices.", subcommands: [Show.self], defaultSubcommand: Show.self)

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Show where people log in, the pin, relay and page.",
      discussion: """
        `roamward-gateway set logins on` accepts logins, `set relay on` and `set page on` the others.

        With --link, prints the link for `roamward login` on a laptop. It has the endpoint, the pin and the user's name, and no secret. It \
        has to reach the person unchanged, because the pin in it is not asked about again.

        With --tlsa, prints the record of the pin for the zone of the endpoint's name in DNS. If the zone is signed (DNSSEC), \
        `roamward login` takes the pin from there where a name server of the laptop validates.

        Example: `roamward-gateway login show --link --user alice`
        """)
    @Flag(help: "Print the link for `roamward login`.") var link = false
    @Option(help: "The user in the link; none for a token or OpenID.") var user: GatewayName?
    @Flag(help: "Show the link as a QR code too.") var qr = false
    @Flag(help: "Print the TLSA record of the pin for DNS.") var tlsa = false
    @Flag(help: "Print JSON.") var json = false
    @OptionGroup var state: StateOptions

    func validate() throws {
      if [link, tlsa, json].count(where: { $0 }) > 1 { throw ValidationError("give one of --link, --tlsa and --json") }
      if !link, user != nil || qr { throw ValidationError("--user and --qr are about the link: give --link too") }
    }

    func run() throws {
      if link { return try showLink() }
      if tlsa { return try showRecord() }
      let ways = try WaysIn(state.folder)
      write(json ? [JSON(encoding: try ways.document).text(indented: true)] : try ways.loginLines + ways.relayLines + ways.pageLines)
    }

    private func pin() throws -> GatewayPin {
      guard let identity = try state.folder.loginIdentity(), let pin = LoginIdentity.pin(of: identity).flatMap({ GatewayPin($0) }) else {
        throw Failure.refused("there are no logins, so there is no pin\n  help: `roamward-gateway set logins on` accepts them")
      }
      return pin
    }

    private func showRecord() throws {
      guard let site = try state.directory(.users([])).site else { throw GatewayError.notInitialised }
      guard let line = PinRecord.line(for: site.endpoint, try pin()) else {
        throw Failure.refused(
          "the endpoint \(site.endpoint) has no name that a record of DNS can belong to\n"
            + "  help: give the gateway an endpoint with a name; or use a link: `roamward-gateway login show --link`")
      }
      write(line + "\n")
    }

    private func showLink() throws {
      let directory = try state.directory(.users(user.map { [$0] } ?? []))
      let text = try LoginLink(to: state.folder, directory, user: user).text
      if let user, directory.user(named: user) == nil {
        writeError("note: there is no user \(user) yet; `roamward-gateway user add \(user)` adds it\n")
      }
      write(text + "\n" + (qr ? QRCode.text(text) ?? "" : ""))
    }
  }
}

/// Reads a line of standard input without showing it. For a new secret, a terminal is asked twice.
func readSecret(_ name: String, isNew: Bool = true) throws -> [UInt8] {
  func line(_ prompt: String) -> [UInt8]? {
    if isatty(STDIN_FILENO) != 0 { writeError(prompt) }
    return readLine(strippingNewline: true).map { Array($0.utf8) }
  }
  var before = termios()
  let isTerminal = tcgetattr(STDIN_FILENO, &before) == 0
  if isTerminal {
    var silent = before
    silent.c_lflag &= ~tcflag_t(ECHO)
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
  }
  defer { if isTerminal { tcsetattr(STDIN_FILENO, TCSAFLUSH, &before) } }
  guard let secret = line("\(name): ") else {
    throw Failure.refused("nothing came on standard input, where the \(name) is expected\n  help: type it, or pipe one line")
  }
  if isTerminal {
    writeError("\n")
    if !isNew { return secret }
    let again = line("\(name), again: ")
    writeError("\n")
    guard again == secret else { throw Failure.refused("the two are not the same\n  help: try again") }
  }
  return secret
}

/// Reads a new password, and returns its hash. A person who may not set it is not asked for it.
func readPassword(of name: GatewayName, for state: StateOptions) throws -> String {
  _ = try state.folder
  let password = try readSecret("password of \(name)")
  if let fault = NewPassword.fault(of: password) { throw Failure.refused(fault) }
  guard let hash = PasswordHash.usual.hash(password) else { throw Failure.refused("there is not enough memory for a hash (64 MiB)") }
  return hash
}

/// The changes of how a user logs in.
struct LoginOptions: ParsableArguments {
  @Flag(inversion: .prefixedNo, help: "Set the password, read from standard input.") var password: Bool?
  @Flag(help: "With --password: another one is chosen at the next login.") var mustChange = false
  @Flag(inversion: .prefixedNo, help: "Ask for one-time codes; show the new secret once.") var totp: Bool?
  @Flag(help: "With --totp: show a QR code for the app.") var qr = false
  @Flag(inversion: .prefixedNo, help: "Make ten recovery codes, and show them once.") var recovery: Bool?
  @Option(help: ArgumentHelp("The person at the OpenID provider: `sub`.", valueName: "subject")) var openid: String?
  @Option(help: ArgumentHelp("The account that PAM checks.", valueName: "account")) var pam: GatewayName?
  @Flag(help: "Forget the person elsewhere, who cannot log in.") var noIdentity = false

  func validate() throws {
    if mustChange, password != true { throw ValidationError("--must-change is about a new password: give --password too") }
    if qr, totp != true { throw ValidationError("--qr is about a new secret: give --totp too") }
    if [openid != nil, pam != nil, noIdentity].count(where: { $0 }) > 1 {
      throw ValidationError("give one of --openid, --pam and --no-identity")
    }
    if let openid, !(1...255).contains(openid.utf8.count) { throw ValidationError("--openid: use 1 to 255 characters") }
  }

  var isEmpty: Bool {
    password == nil && totp == nil && recovery == nil && openid == nil && pam == nil && !noIdentity
  }

  /// Whether the change makes secrets that are shown once.
  var hasSecrets: Bool { totp == true || recovery == true }

  /// Secrets that are made before the change, and shown after it.
  struct Secrets {
    var passwordHash: String?
    var codeSecret: [UInt8] = []
    var recoveryCodes: [String] = []
    var subject: String?
  }

  func secrets(of name: GatewayName, _ state: StateOptions) throws -> Secrets {
    var secrets = Secrets()
    secrets.subject = try subject(state)
    if password == true { secrets.passwordHash = try readPassword(of: name, for: state) }
    if totp == true { secrets.codeSecret = randomBytes(OneTimeCode.secretLength) }
    if recovery == true { secrets.recoveryCodes = (0..<RecoveryCode.count).map { _ in RecoveryCode.make() } }
    return secrets
  }

  private func subject(_ state: StateOptions) throws -> String? {
    if let openid {
      guard let settings = try state.folder.openIDSettings() else {
        throw Failure.refused(
          "there is no OpenID provider\n  help: `roamward-gateway set logins.openid '{ issuer: …, client-id: … }'` sets one")
      }
      return settings.subject(of: openid)
    }
    guard let pam else { return nil }
    guard let settings = try state.folder.pamSettings() else {
      throw Failure.refused("PAM checks no passwords\n  help: `roamward-gateway set logins.pam.service NAME` sets a service")
    }
    return settings.subject(of: pam)
  }

  func change(_ name: GatewayName, by secrets: Secrets, in work: inout Administration) throws(GatewayError) {
    if let hash = secrets.passwordHash { try work.setPassword(hash, of: name, mustChange: mustChange) }
    if password == false { try work.removePassword(of: name) }
    if totp != nil { try work.setCodeSecret(secrets.codeSecret, of: name) }
    if recovery != nil { try work.setRecovery(secrets.recoveryCodes.compactMap { RecoveryCode.hash(Array($0.utf8)) }, of: name) }
    if let subject = secrets.subject { try work.link(name, to: subject) }
    if noIdentity { try work.removeSubject(of: name) }
  }

  /// Shows what a person takes away.
  func show(_ secrets: Secrets, of name: GatewayName) {
    if totp == true {
      let address = "otpauth://totp/roamward:\(name)?secret=\(base32(secrets.codeSecret))&issuer=roamward"
      write(qr ? QRCode.text(address) ?? address : address + "\n")
    }
    if recovery == true { write(secrets.recoveryCodes) }
  }
}

struct Tokens: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token", abstract: "Manage one-time tokens, with which a device logs in.",
    discussion: "`roamward-gateway user list --tokens` lists them.", subcommands: [Create.self, Revoke.self])

  struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "create",
      abstract: "Create a token that adds devices of a user.",
      discussion: """
        It is printed once; the gateway keeps its hash. With --link, prints an invitation: the link for `roamward login`, which asks for no \
        password then. It has the token, so it is a secret.

        Example: `roamward-gateway token create alice --uses 1 --days 7`
        """)
    @Argument(help: "The user.") var user: GatewayName
    @Option(help: "The number of devices that it adds.") var uses: Int64 = 1
    @Option(help: "Days until it ends.") var days: Int64 = 7
    @Flag(help: "Print the link for `roamward login` with it.") var link = false
    @Flag(help: "Show the link as a QR code too.") var qr = false
    @OptionGroup var options: QuietChangeOptions

    func validate() throws {
      if qr, !link { throw ValidationError("--qr is about the link: give --link too") }
    }

    func run() throws {
      guard (1...3650).contains(days) else { throw ValidationError("--days: use 1 to 3650") }
      let new = NewToken()
      let text =
        try link
        ? LoginLink(to: options.state.folder, options.state.directory(.users([user])), user: user, token: new.token).text
        : "\(new.token)"
      let until = Timestamp.now.wholeSecond + .seconds(days * 86_400)
      let number = try options.make(reading: .users([user])) { work throws(GatewayError) in
        try work.addToken(new.hash, for: user, uses: uses, until: until)
      }
      if number != nil { write(text + "\n" + (qr ? QRCode.text(text) ?? "" : "")) }
    }
  }

  struct Revoke: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "revoke",
      abstract: "Revoke a token; devices that it added stay.",
      discussion: "Example: `roamward-gateway token revoke 3`")
    @Argument(help: "The token's number.") var number: Int64
    @OptionGroup var options: ChangeOptions

    func run() throws { try options.make { work throws(GatewayError) in try work.removeToken(number) } }
  }
}

private func randomBytes(_ count: Int) -> [UInt8] {
  var generator = SystemRandomNumberGenerator()
  return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
}
