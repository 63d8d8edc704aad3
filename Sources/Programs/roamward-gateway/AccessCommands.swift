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
    subcommands: [Allow.self, Deny.self, Remove.self, List.self, Check.self, Explain.self], defaultSubcommand: List.self)

  struct RuleOptions: ParsableArguments {
    @Argument(help: "The rule's name.") var name: GatewayName
    @Option(help: ArgumentHelp("`everybody`, `user:NAME` or `group:NAME`.", valueName: "source")) var from: [Declaration.Party]
    @Option(
      help: ArgumentHelp(
        "Prefixes, `group:NAME` (its devices), or `everything`.", valueName: "destination"), transform: goalArgument(_:))
    var to: [Declaration.Goal]
    @Option(help: "any, tcp, udp or icmp.") var `protocol` = Transport.any
    @Option(help: "A destination port or range; may be repeated.") var port: [PortRange] = []
    @Option(help: ArgumentHelp("Evaluate it before this rule, not as the last one.", valueName: "rule")) var before: GatewayName?
    @OptionGroup var options: ChangeOptions

    func validate() throws {
      if from.count > 1 { throw ValidationError("a rule has one --from: name a group of these users, or add a rule for each") }
      if Declaration.Goal.together(to) == nil {
        throw ValidationError("only prefixes go together in --to: add a rule for each of the others")
      }
    }

    func add(isAllowing: Bool) throws {
      guard let from = from.first, let to = Declaration.Goal.together(to) else { return }
      let rule = Declaration.Rule(
        name: name, isAllowing: isAllowing, source: from, destination: to, transport: `protocol`, ports: port)
      try options.make { work throws(GatewayError) in try work.addRule(AccessRule(rule, in: work), before: before) }
    }
  }

  struct Allow: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "allow",
      abstract: "Add a rule that allows.",
      discussion: """
        Destinations have commas between prefixes, and `--to` may be repeated with prefixes.

        Example: `roamward-gateway access allow web --from group:staff --to 10.0.0.0/8 --protocol tcp --port 443`
        """)
    @OptionGroup var rule: RuleOptions

    func run() throws { try rule.add(isAllowing: true) }
  }

  struct Deny: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "deny",
      abstract: "Add a rule that denies.",
      discussion: """
        Destinations have commas between prefixes, and `--to` may be repeated with prefixes.

        Example: `roamward-gateway access deny lab --from everybody --to 10.99.0.0/16`
        """)
    @OptionGroup var rule: RuleOptions

    func run() throws { try rule.add(isAllowing: false) }
  }

  struct Remove: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "remove",
      abstract: "Remove a rule.",
      discussion: "Example: `roamward-gateway access remove web`")
    @Argument(help: "The rule's name.") var name: GatewayName
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

  struct QuestionOptions: ParsableArguments {
    @Argument(help: "The user.") var user: GatewayName
    @Argument(help: ArgumentHelp("The address, with a port or without.", valueName: "address[:port]")) var destination: DestinationArgument
    @Option(help: "tcp, udp or icmp (tcp where a port is given, else icmp).") var `protocol`: Transport?
    @Flag(help: "Print JSON.") var json = false
    @OptionGroup var state: StateOptions

    /// Answers the question, in lines or as JSON. Returns whether the packet is allowed.
    func answer(_ lines: (AccessDecision, Directory) -> [String]) throws -> Bool {
      let directory = try state.directory(.users([user], addresses: [destination.address]))
      guard let user = directory.user(named: user) else { throw GatewayError.noUser(user) }
      let question = AccessQuestion(
        user: user.id, destination: destination.address, transport: `protocol` ?? (destination.port == nil ? .icmp : .tcp),
        port: destination.port)
      let decision = AccessDecision(question, in: directory)
      let document = JSON(encoding: directory.page(of: question, within: .max))
      write(json ? [document.text(indented: true)] : lines(decision, directory))
      return decision.isAllowed
    }
  }

  struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check",
      abstract: "Show whether a user may reach an address.",
      discussion: """
        Exit status: 0 allowed; 1 denied.

        Example: `roamward-gateway access check alice 10.20.1.2:443`
        """)
    @OptionGroup var question: QuestionOptions

    func run() throws {
      if try !question.answer({ [$0.text(in: $1)] }) { throw ExitStatus.refused }
    }
  }

  struct Explain: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "explain",
      abstract: "Show each rule that was evaluated, and why it did not match.",
      discussion: "Example: `roamward-gateway access explain alice 10.20.1.2:443`")
    @OptionGroup var question: QuestionOptions

    func run() throws { _ = try question.answer { $0.explanation(in: $1) } }
  }
}

extension Declaration.Party: ExpressibleByArgument {
  public init?(argument: String) { self.init(argument) }
}
