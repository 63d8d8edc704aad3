import ArgumentParser
import GatewayCore
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
    @Option(help: ArgumentHelp("`everybody`, `user:NAME` or `group:NAME`.", valueName: "source")) var from: [Party]
    @Option(
      help: ArgumentHelp(
        "Prefixes, `group:NAME` (its devices), or `everything`.", valueName: "destination"))
    var to: [Goal]
    @Option(help: "any, tcp, udp or icmp.") var `protocol` = Transport.any
    @Option(help: "A destination port or range; may be repeated.") var port: [PortRange] = []
    @Option(help: ArgumentHelp("Evaluate it before this rule, not as the last one.", valueName: "rule")) var before: GatewayName?
    @OptionGroup var options: ChangeOptions

    func validate() throws {
      if from.count > 1 { throw ValidationError("a rule has one --from: name a group of these users, or add a rule for each") }
      if Goal.together(to) == nil { throw ValidationError("only prefixes go together in --to: add a rule for each of the others") }
    }

    func add(isAllowing: Bool) throws {
      guard let from = from.first, let to = Goal.together(to) else { return }
      try options.make { work throws(GatewayError) in
        let source: AccessRule.Source =
          switch from {
          case .everybody: .everybody
          case .user(let name): .user(try work.user(name).id)
          case .group(let name): .group(try work.group(name).id)
          }
        let destination: AccessRule.Destination =
          switch to {
          case .everything: .everything
          case .prefixes(let prefixes): .prefixes(prefixes)
          case .group(let name): .devices(ofGroup: try work.group(name).id)
          }
        try work.addRule(
          AccessRule(
            id: 0, name: name, position: 0, source: source, destination: destination, transport: `protocol`, ports: port,
            isAllowing: isAllowing), before: before)
      }
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
    @OptionGroup var state: StateOptions

    func run() throws {
      let directory = try state.directory(.users([]))
      write(directory.sortedRules.map(directory.text))
    }
  }

  struct QuestionOptions: ParsableArguments {
    @Argument(help: "The user.") var user: GatewayName
    @Argument(help: ArgumentHelp("The address, with a port or without.", valueName: "address[:port]")) var destination: DestinationArgument
    @Option(help: "tcp, udp or icmp (tcp where a port is given, else icmp).") var `protocol`: Transport?
    @OptionGroup var state: StateOptions

    func decision() throws -> (AccessDecision, Directory) {
      let directory = try state.directory(.users([user], addresses: [destination.address]))
      guard let user = directory.user(named: user) else { throw GatewayError.noUser(user) }
      let question = AccessQuestion(
        user: user.id, destination: destination.address, transport: `protocol` ?? (destination.port == nil ? .icmp : .tcp),
        port: destination.port)
      return (AccessDecision(question, in: directory), directory)
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
      let (decision, directory) = try question.decision()
      write(decision.text(in: directory) + "\n")
      if !decision.isAllowed { throw ExitStatus.refused }
    }
  }

  struct Explain: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "explain",
      abstract: "Show each rule that was evaluated, and why it did not match.",
      discussion: "Example: `roamward-gateway access explain alice 10.20.1.2:443`")
    @OptionGroup var question: QuestionOptions

    func run() throws {
      let (decision, directory) = try question.decision()
      write(decision.passed.map { "no match  \(directory.text(of: $0.rule)): \($0.reason.rawValue)" } + [decision.text(in: directory)])
    }
  }
}

/// The source of a rule as it is written.
enum Party: ExpressibleByArgument {
  case everybody
  case user(GatewayName)
  case group(GatewayName)

  init?(argument: String) {
    let parts = argument.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    switch (parts[0], parts.count == 2 ? GatewayName(parts[1]) : nil) {
    case ("everybody", nil) where parts.count == 1: self = .everybody
    case ("user", let name?): self = .user(name)
    case ("group", let name?): self = .group(name)
    default: return nil
    }
  }
}

/// The destination of a rule as it is written.
enum Goal: ExpressibleByArgument {
  case everything
  case prefixes([IPPrefix])
  case group(GatewayName)

  /// All of them as one; `nil`: a rule cannot have all of them.
  static func together(_ goals: [Goal]) -> Goal? {
    if goals.count == 1 { return goals.first }
    var all: [IPPrefix] = []
    for goal in goals {
      guard case .prefixes(let prefixes) = goal else { return nil }
      all += prefixes
    }
    return .prefixes(all)
  }

  init?(argument: String) {
    if argument == "everything" {
      self = .everything
    } else if argument.hasPrefix("group:"), let name = GatewayName(String(argument.dropFirst(6))) {
      self = .group(name)
    } else {
      let prefixes = argument.split(separator: ",", omittingEmptySubsequences: false).map { IPPrefix(String($0)) }
      guard !prefixes.contains(where: { $0 == nil }) else { return nil }
      self = .prefixes(prefixes.compactMap { $0 })
    }
  }
}
