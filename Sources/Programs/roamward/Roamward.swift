import ArgumentParser
import NetworkTypes
import PolicySource
import Terminal

@main
struct Roamward: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "roamward",
    abstract: "Keep this machine on the right VPN tunnel.",
    discussion: """
      Policies are YAML files in /etc/roamward/policies, /run/roamward/policies and /usr/lib/roamward/policies. The agent (roamwardd) \
      applies them automatically. evaluate, plan, check and network need neither root nor the agent.

      Examples, from the first tunnel on:
        sudo roamward import work.conf
        roamward status
        sudo roamward trust
        roamward evaluate --set interface=wifi --set ssid=Cafe --explain
        roamward plan --up work
        roamward doctor

      Exit status: 0 success; 1 policy error or request refused; 2 usage error; 3 timeout; 8 the agent is not running.
      """,
    groupedSubcommands: [
      CommandGroup(
        name: "Agent",
        subcommands: [
          Status.self, Monitor.self, HistoryOfMachine.self, Metrics.self, Bugreport.self, Up.self, Down.self, Resume.self, Release.self,
          Run.self, Apps.self, Guard.self, Wait.self, Message.self, Answer.self, Login.self,
        ]),
      CommandGroup(
        name: "Policy",
        subcommands: [
          Init.self, ListPolicies.self, Cat.self, Edit.self, Trust.self, Untrust.self, Apply.self, Confirm.self, Revert.self,
        ]),
      CommandGroup(name: "System state", subcommands: [Diff.self, State.self, Cleanup.self]),
      CommandGroup(
        name: "Analysis",
        subcommands: [
          Evaluate.self, Explain.self, Why.self, Simulate.self, Plan.self, DNS.self, Proxy.self, Network.self, Check.self, Doctor.self,
        ]),
      CommandGroup(name: "Conversion", subcommands: [Import.self, Export.self]),
    ],
    defaultSubcommand: Status.self)

  // As `version:` in the configuration, each command would have the option.
  @Flag(help: "Show the version.") var version = false

  func validate() throws {
    if version { throw CleanExit.message(releaseVersion) }
  }

  static func main() {
    runAsProgram(synonyms: [
      "connect": "up", "start": "up", "enable": "up", "disconnect": "down", "stop": "down", "disable": "down", "ls": "list",
      "policies": "list", "show": "status", "info": "status", "log": "monitor", "logs": "monitor", "watch": "monitor", "events": "monitor",
      "bug-report": "bugreport", "report": "bugreport", "validate": "check", "lint": "check", "test": "evaluate", "dry-run": "plan",
      "version": "--version", "exec": "run", "unblock": "release", "clean": "cleanup",
      "signin": "login", "sign-in": "login",
    ])
  }
}
