import ArgumentParser
import GatewayCore
import GatewayPage
import JSON
import NetworkTypes
import Terminal

struct Access: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "access",
    abstract: "Manage the rules of access.",
    discussion: "The first rule that matches decides. A packet that no rule matches is denied.",
    subcommands: [Add.self, Remove.self, List.self], defaultSubcommand: List.self)

  struct Add: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "add",
      abstract: "Add a rule that allows, or one that denies.",
      discussion: """
        Destinations have commas between prefixes, and `--to` may be repeated with prefixes.

        Example: `roamward-gateway access add web --from group:staff --to 10.0.0.0/8 --protocol tcp --port 443`
        """)
    @Argument(help: "The rule's name.") var name: GatewayName
    @Option(help: ArgumentHelp("`everybody`, `user:NAME` or `group:NAME`.", valueName: "source")) var from: [Declaration.Party]
    @Option(
      help: ArgumentHelp(
        "Prefixes, `group:NAME` (its devices), or `everything`.", valueName: "destination"), transform: goalArgument(_:))
    var to: [Declaration.Goal]
    @Flag(help: "The rule denies.") var deny = false
    @Option(help: "any, tcp, udp or icmp.") var `protocol` = Transport.any
    @Option(help: "A destination port or range; may be repeated.") var port: [PortRange] = []
    @Option(help: ArgumentHelp("Evaluate it before this rule, not as the last one.", valueName: "rule"), completion: .rules)
    var before: GatewayName?
    @OptionGroup var options: ChangeOptions

    func validate() throws {
      if from.count > 1 { throw ValidationError("a rule has one --from: name a group of these users, or add a rule for each") }
      if Declaration.Goal.together(to) == nil {
        throw ValidationError("only prefixes go together in --to: add a rule for each of the others")
      }
    }

    func run() throws {
      guard let from = from.first, let to = Declaration.Goal.together(to) else { return }
      let rule = Declaration.Rule(
        name: name, isAllowing: !deny, source: from, destination: to, transport: `protocol`, ports: port)
      try options.make { work throws(GatewayError) in try work.addRule(AccessRule(rule, in: work), before: before) }
    }
  }

  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove",
      abstract: "Remove a rule.",
      discussion: "Example: `roamward-gateway access remove web`")
    @Argument(help: "The rule's name.", completion: .rules) var name: GatewayName
    @OptionGroup var options: ChangeOptions

    func run() throws { try options.make { work throws(GatewayError) in try work.removeRule(name) } }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list",
      abstract: "List the rules in the order of their evaluation.",
      discussion: "Example: `roamward-gateway access list`")
    @OptionGroup var list: ListOptions

    func run() throws { try list.show(.rules, reading: .users([])) { directory, _ in directory.sortedRules.map(directory.text) } }
  }
}

extension Declaration.Party: ExpressibleByArgument {
  public init?(argument: String) { self.init(argument) }
}
