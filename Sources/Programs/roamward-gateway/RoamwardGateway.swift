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
    runAsProgram(synonyms: [
      "init": "initialise", "run": "serve", "start": "serve", "show": "status", "info": "status", "log": "audit", "logs": "audit",
      "watch": "monitor", "events": "monitor", "version": "--version", "peer": "device", "settings": "set", "pool": "set", "relay": "set",
      "web": "set", "page": "set", "logins": "set", "forward": "serve", "sessions": "device", "site": "store", "pools": "store",
    ])
  }
}
