import ArgumentParser
import GatewayCore
import GatewayHost
import GatewayLogin
import GatewayPage
import Glibc
import JSON
import LinuxIO
import NetworkTypes
import Terminal

/// The passphrase of a backup.
struct PassphraseOption: ParsableArguments {
  @Option(help: ArgumentHelp("Read the passphrase from this file.", valueName: "file"), completion: .file())
  var passphraseFile: String?

  /// The first line of the file; `nil`: there is no such option.
  func read() throws -> [UInt8]? {
    guard let passphraseFile else { return nil }
    var information = stat()
    if stat(passphraseFile, &information) == 0, information.st_mode & S_IFMT == S_IFREG, information.st_mode & 0o077 != 0 {
      throw Failure.refused("other users may read \(passphraseFile)\n  help: `chmod 600 \(passphraseFile)`")
    }
    return Array(try TextFile.read(passphraseFile, limit: 4096).prefix { $0 != UInt8(ascii: "\n") })
  }
}

struct Backup: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Copy the whole gateway into a file, while it runs.",
    discussion: """
      The store, the private key, the identity of logins, the settings of this gateway, and the files in /etc/roamward-gateway. A store on a \
      server is in it too, as a file. Without encryption the backup is an archive of tar, and its reader can be this gateway: keep it as \
      you keep the private key. `--encrypt` reads a passphrase from standard input.

      `roamward-gateway restore` makes the gateway of it.

      Example: `roamward-gateway backup /var/backups/gateway.backup`
      """)
  @Argument(help: "The new file.", completion: .file()) var file: String
  @Flag(help: "Encrypt with a passphrase, read from standard input.") var encrypt = false
  @OptionGroup var passphrase: PassphraseOption
  @Flag(help: "Replace an earlier file of this name.") var replace = false
  @OptionGroup var state: StateOptions

  func run() throws {
    let secret = try passphrase.read() ?? (encrypt ? readSecret("passphrase of the backup") : nil)
    if let secret, let fault = NewPassword.fault(of: secret) { throw Failure.refused("the passphrase is refused\n  help: \(fault)") }
    let backup = try GatewayBackup(GatewayPlace(state.folder), passphrase: secret, release: releaseVersion)
    let database = try state.folder.storeServer().map(withoutPassword)
    let (report, elsewhere) = try backup.write(to: file, database: database, replacing: replace)
    write(report.lines + ["\(file)  \(report.manifest.entries.count) files, \(secret == nil ? "not encrypted" : "encrypted")"])
    if secret == nil { writeError("note: it has the gateway's private key; keep it as secret, or use --encrypt\n") }
    for path in elsewhere { writeError("note: \(path) is not in it, because settings name it outside of the gateway's folders\n") }
  }
}

struct Restore: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Create the gateway of a backup on this machine.",
    discussion: """
      The gateway must not run. It has the key and the login pin of the backup, so that clients connect without a change. Where a gateway \
      is already, `--replace` is needed, which keeps its folder under another name. A restore that was interrupted is finished, or begun \
      again, by the same command.

      Example: `roamward-gateway restore /var/backups/gateway.backup`
      """)
  @Argument(help: "A file of `roamward-gateway backup`.", completion: .file()) var file: String
  @OptionGroup var passphrase: PassphraseOption
  @Flag(help: "Replace the gateway that is there, and keep its folder.") var replace = false
  @OptionGroup var trial: TrialOption
  @Flag(help: "Print JSON.") var json = false
  @OptionGroup var state: StateOptions

  func run() throws {
    let restore = try GatewayRestore(file, to: GatewayPlace(state.folder), replacing: replace) {
      try passphrase.read() ?? readSecret("passphrase of the backup", isNew: false)
    }
    let effect = try restore.run(isTrial: trial.dryRun)
    if json {
      write([JSON(encoding: effect.summary.document(isMade: !trial.dryRun, connected: nil)).text(indented: true)])
    } else {
      write(effect.summary.text(connected: nil) + trial.note)
    }
    if effect.isFinished { writeError("note: the restore that was interrupted is finished\n") }
    for note in effect.notes { writeError("note: \(note)\n") }
    if !trial.dryRun { writeError("start it with `systemctl start roamward-gateway`\n") }
  }
}
