import ArgumentParser
import GatewayCore
import GatewayCredentials
import GatewayHost
import GatewayLogin
import GatewayPage
import GatewayStore
import Glibc
import LinuxIO
import LoginProtocol
import NetworkTypes
import Terminal

struct Logins: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "login", abstract: "Manage logins, by which users add devices.",
    subcommands: [Enable.self, Disable.self, Show.self, OpenID.self, PAM.self],
    defaultSubcommand: Show.self)

  struct Enable: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "enable",
      abstract: "Accept logins at the endpoint's port, by TCP.",
      discussion: """
        Prints the pin by which clients know the gateway. Run again, it changes nothing.

        Example: `roamward-gateway login enable`
        """)
    @OptionGroup var options: QuietChangeOptions

    func run() throws {
      let folder = try options.state.folder
      let isThere = try folder.loginIdentity() != nil
      guard let identity = isThere ? "" : LoginIdentity.make() else { throw Failure.refused("no key can be made") }
      let summary = ChangeSummary(setting: "logins", from: isThere ? "accepted\n" : nil, to: "accepted\n")
      let isMade = try options.make(summary, verb: "logins on", object: "logins") {
        try TextFile.create(folder.loginPath, with: Array(identity.utf8), mode: 0o600)
      }
      if !isMade { return }
      let trouble = folder.outcome(of: "login.pem", .logins)
      try Show.show(options.state)
      if let trouble {
        throw Failure.refused("nobody can log in: \(trouble)\n  help: free that port (`ss -ltnp`), or `journalctl -u roamward-gateway`")
      }
    }
  }

  struct Disable: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "disable",
      abstract: "Refuse logins; devices stay.",
      discussion: """
        A later `login enable` makes another pin.

        Example: `roamward-gateway login disable`
        """)
    @OptionGroup var options: ChangeOptions

    func run() throws {
      let isThere = try options.state.folder.loginIdentity() != nil
      let summary = ChangeSummary(setting: "logins", from: isThere ? "accepted\n" : nil, to: nil)
      try options.make(summary, verb: "logins off", object: "logins") { try TextFile.remove(options.state.folder.loginPath) }
    }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "show",
      abstract: "Show where clients log in, and the gateway's pin.",
      discussion: """
        With --link, prints the link for `roamward login` on a laptop. It has the endpoint, the pin and the user's name, and no secret. It \
        has to reach the person unchanged, because the pin in it is not asked about again.

        Example: `roamward-gateway login show --link --user alice`
        """)
    @Flag(help: "Print the link for `roamward login`.") var link = false
    @Option(help: "The user in the link; none for a token or OpenID.") var user: GatewayName?
    @Flag(help: "Show the link as a QR code too.") var qr = false
    @OptionGroup var state: StateOptions

    func validate() throws {
      if !link, user != nil || qr { throw ValidationError("--user and --qr are about the link: give --link too") }
    }

    func run() throws {
      if link { try showLink() } else { try Self.show(state) }
    }

    private func showLink() throws {
      let directory = try state.directory(.users(user.map { [$0] } ?? []))
      guard let site = directory.site else { throw GatewayError.notInitialised }
      guard let identity = try state.folder.loginIdentity(), let pin = LoginIdentity.pin(of: identity).flatMap({ GatewayPin($0) }) else {
        throw Failure.refused("there are no logins, so there is no pin\n  help: `roamward-gateway login enable` accepts them")
      }
      if let user, directory.user(named: user) == nil {
        writeError("note: there is no user \(user) yet; `roamward-gateway user add \(user)` adds it\n")
      }
      guard let text = LoginTarget(server: site.endpoint, user: user?.description, pin: pin)?.link else {
        throw Failure.refused("no link can be written for \(site.endpoint)")
      }
      write(text + "\n" + (qr ? QRCode.text(text) ?? "" : ""))
    }

    static func show(_ state: StateOptions) throws {
      guard let site = try state.directory(.users([])).site else { throw GatewayError.notInitialised }
      guard let identity = try state.folder.loginIdentity() else {
        return write("no logins; `roamward-gateway login enable` accepts them\n")
      }
      guard let pin = LoginIdentity.pin(of: identity) else {
        throw Failure.refused("\(state.place.loginPath) is no certificate\n  help: put the right one back, or disable and enable logins")
      }
      write("login  \(site.endpoint) (TCP)  pin \(pin)\n")
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

struct UserPassword: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "password", abstract: "Set a user's password for logins.",
    discussion: """
      It is read from standard input.

      Example: `roamward-gateway user password alice`
      """)
  @Argument(help: "The name.") var name: GatewayName
  @Flag(help: "The user has to choose another one at the next login.") var change = false
  @Flag(help: "Remove the password.") var remove = false
  @OptionGroup var options: ChangeOptions

  func run() throws {
    if remove {
      try options.make(reading: .users([name])) { work throws(GatewayError) in try work.removePassword(of: name) }
      return
    }
    let hash = try readPassword(of: name, for: options.state)
    try options.make(reading: .users([name])) { work throws(GatewayError) in try work.setPassword(hash, of: name, mustChange: change) }
  }
}

struct UserTOTP: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "totp", abstract: "Require one-time codes of a user, and show the secret.",
    discussion: """
      The secret is printed once, for an authenticator app. A new secret replaces the one before, and ends recovery codes.

      Example: `roamward-gateway user totp alice --qr`
      """)
  @Argument(help: "The name.") var name: GatewayName
  @Flag(help: "Ask for codes no longer.") var remove = false
  @Flag(help: "Show a QR code for the app.") var qr = false
  @OptionGroup var options: QuietChangeOptions

  func run() throws {
    let secret = remove ? [] : randomBytes(OneTimeCode.secretLength)
    let isMade = try options.make(reading: .users([name])) { work throws(GatewayError) in try work.setCodeSecret(secret, of: name) } != nil
    if remove || !isMade { return }
    let address = "otpauth://totp/roamward:\(name)?secret=\(base32(secret))&issuer=roamward"
    write(qr ? QRCode.text(address) ?? address : address + "\n")
  }
}

struct UserRecovery: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "recovery", abstract: "Create recovery codes, for a user who loses the app.",
    discussion: """
      Each of the ten stands for the one-time code of one login. They are printed once; the gateway keeps their hashes. New ones replace \
      those before.

      Example: `roamward-gateway user recovery alice`
      """)
  @Argument(help: "The name.") var name: GatewayName
  @Flag(help: "Accept no recovery codes any more.") var remove = false
  @OptionGroup var options: QuietChangeOptions

  func run() throws {
    let codes = remove ? [] : (0..<RecoveryCode.count).map { _ in RecoveryCode.make() }
    let hashes = codes.compactMap { RecoveryCode.hash(Array($0.utf8)) }
    let isMade = try options.make(reading: .users([name])) { work throws(GatewayError) in try work.setRecovery(hashes, of: name) } != nil
    if isMade { write(codes) }
  }
}

struct Tokens: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token", abstract: "Manage one-time tokens, with which a device logs in.",
    subcommands: [Create.self, Revoke.self, List.self], defaultSubcommand: List.self)

  struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "create",
      abstract: "Create a token that adds devices of a user.",
      discussion: """
        It is printed once; the gateway keeps its hash.

        Example: `roamward-gateway token create alice --uses 1 --days 7`
        """)
    @Argument(help: "The user.") var user: GatewayName
    @Option(help: "The number of devices that it adds.") var uses: Int64 = 1
    @Option(help: "Days until it ends.") var days: Int64 = 7
    @OptionGroup var options: QuietChangeOptions

    func run() throws {
      guard (1...3650).contains(days) else { throw ValidationError("--days: use 1 to 3650") }
      // The prefix is for programs that look for secrets in files.
      let token = "rw1-" + base32(randomBytes(20)).lowercased()
      let hash = GatewayStore.digest(Array(token.utf8))
      let until = Timestamp.now.wholeSecond + .seconds(days * 86_400)
      let number = try options.make(reading: .users([user])) { work throws(GatewayError) in
        try work.addToken(hash, for: user, uses: uses, until: until)
      }
      if number != nil { write(token + "\n") }
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

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "List the tokens.",
      discussion: "Example: `roamward-gateway token list`")
    @OptionGroup var list: ListOptions

    func run() throws { try list.show(.tokens) { $0.tokenList(at: $1) } }
  }
}

/// Base 32 (RFC 4648) without padding, as authenticator apps read it.
private func base32(_ bytes: [UInt8]) -> String {
  let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
  var (text, bits, count) = ("", UInt32(0), 0)
  for byte in bytes {
    (bits, count) = (bits << 8 | UInt32(byte), count + 8)
    while count >= 5 {
      count -= 5
      text.append(letters[Int(bits >> UInt32(count)) & 31])
    }
    bits &= (1 << UInt32(count)) - 1
  }
  if count > 0 { text.append(letters[Int(bits << UInt32(5 - count)) & 31]) }
  return text
}

private func randomBytes(_ count: Int) -> [UInt8] {
  var generator = SystemRandomNumberGenerator()
  return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
}
