import ArgumentParser
import GatewayCore
import GatewayStore
import Glibc
import NetworkTypes
import Terminal

@main
struct RoamwardGateway: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "roamward-gateway",
    abstract: "Run a WireGuard gateway, and manage who may use it.",
    discussion: """
      The store, the private key and the lock are in /var/lib/roamward-gateway. Commands that change something need root; a running \
      gateway applies their changes at once.

      Examples, from nothing to a connected phone:
        sudo roamward-gateway init --endpoint vpn.example.com
        sudo roamward-gateway user add alice
        sudo roamward-gateway access add office --from user:alice --to 10.20.0.0/16
        sudo systemctl enable --now roamward-gateway
        sudo roamward-gateway device add alice/phone --qr
        sudo roamward-gateway status

      Exit status: 0 success; 1 request refused, access denied or a problem found; 2 usage error.
      """,
    groupedSubcommands: [
      CommandGroup(
        name: "Gateway", subcommands: [Initialise.self, Serve.self, TakeOver.self, Cleanup.self, SetSetting.self, UnsetSetting.self]),
      CommandGroup(
        name: "Files",
        subcommands: [CheckFiles.self, Plan.self, ApplyFiles.self, DiffFiles.self, ConfirmFiles.self, RevertFiles.self, ExportFiles.self]),
      CommandGroup(name: "Store", subcommands: [Store.self, Backup.self, Restore.self]),
      CommandGroup(
        name: "Users and devices",
        subcommands: [Users.self, Groups.self, Devices.self, Access.self, Logins.self, Tokens.self, Sessions.self]),
      CommandGroup(
        name: "Analysis", subcommands: [Status.self, Monitor.self, Metrics.self, Evaluate.self, Explain.self, Doctor.self, Audit.self]),
    ],
    defaultSubcommand: Status.self)

  // As `version:` in the configuration, each command would have the option.
  @Flag(help: "Show the version.") var version = false

  func validate() throws {
    if version { throw CleanExit.message(releaseVersion) }
  }

  static func main() {
    runAsProgram(
      synonyms: [
        "init": "initialise", "run": "serve", "start": "serve", "show": "status", "info": "status", "log": "audit", "logs": "audit",
        "watch": "monitor", "events": "monitor", "version": "--version", "settings": "set", "page": "set", "logins": "set",
        "pools": "store",
      ], renamed: renamed)
  }

  /// The commands of 0.1 that have other names now.
  private static let renamed = [
    "forward": "serve --forwarding", "sessions": "device list --sessions", "session list": "device list --sessions",
    "pool add": "set pools.NAME", "pool remove": "unset pools.NAME", "pool list": "store show", "pool": "store show",
    "site list": "store show", "site rename": "set gateway.name", "site remove": "unset sites.NAME", "site": "store show",
    "settings set": "set settings.everybody", "settings clear": "unset settings.everybody", "settings show": "device show",
    "login enable": "set logins on", "login disable": "unset logins", "login openid": "set logins.openid", "login pam": "set logins.pam",
    "relay enable": "set relay on", "relay disable": "set relay off", "relay show": "login show", "relay": "login show",
    "web enable": "set page on", "web disable": "set page off", "web show": "login show", "web": "login show",
    "store use": "store move --existing", "store copy": "store move --copy-only", "store check": "store show --check",
    "store stale-after": "set store.stale-after", "user password": "user set --password", "user totp": "user set --totp",
    "user recovery": "user set --recovery", "user link": "user set --openid", "user identity": "user show",
    "group join": "group set --add", "group leave": "group set --remove", "peer add": "device add", "peer export": "device show --file",
    "device rename": "device set --name", "device rekey": "device set --public-key", "access allow": "access add",
    "access deny": "access add --deny", "access check": "evaluate", "access explain": "explain", "token list": "user list --tokens",
    "audit tail": "audit", "audit verify": "audit --verify", "audit export": "audit --export",
  ]
}
