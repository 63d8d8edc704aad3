/// Commands of firewalls in hooks, as rules. `nil`: it is no such command, or not understood.
enum HookFirewallCommand: Equatable {
  case rule(HookFirewallRule)
  /// It only prepares for rules, or prints something.
  case nothing
  /// It removes rules.
  case undo
  case notUnderstood
}

extension HookFirewall {
  /// Takes the command if it is about a firewall. `nil`: it is about something else.
  mutating func take(_ command: HookCommand) -> HookFirewallCommand? {
    var results: [HookFirewallCommand]
    let words = Array(command.arguments)
    switch command.program {
    case "iptables", "ip6tables", "iptables-nft", "ip6tables-nft", "iptables-legacy", "ip6tables-legacy": results = [iptables(words)]
    case "firewall-cmd": results = [firewallCommand(words)]
    case "nft": results = nftStatements(words).map { takeNFT($0) }
    case "ufw": results = [ufw(words)]
    case "iptables-restore", "ip6tables-restore", "ipset", "shorewall", "ferm": results = [.notUnderstood]
    default: return nil
    }
    for case .rule(var rule) in results {
      rule.isIPv6 = command.program.hasPrefix("ip6tables")
      rules.append(rule)
    }
    if results.contains(.notUnderstood) { return .notUnderstood }
    return results.first { if case .rule = $0 { true } else { false } } ?? (results.contains(.undo) ? .undo : .nothing)
  }

  private func iptables(_ words: [String]) -> HookFirewallCommand {
    var rest = words[...]
    var table = "filter"
    var rule: HookFirewallRule?
    var conditions: [HookFirewallRule.Condition] = []
    var verdict: HookFirewallRule.Verdict?
    var isNegated = false
    while let word = rest.popFirst() {
      switch word {
      case "-w", "--wait", "-W":
        if rest.first.map({ $0.allSatisfy(\.isNumber) }) == true { rest.removeFirst() }
      case "-t", "--table": table = rest.popFirst() ?? ""
      case "-A", "--append", "-I", "--insert":
        rule = HookFirewallRule(chain: Self.chain(rest.popFirst()), verdict: .accept)
        if rest.first.map({ $0.allSatisfy(\.isNumber) }) == true { rest.removeFirst() }
      case "-P", "--policy":
        let chain = Self.chain(rest.popFirst())
        return rest.popFirst() == "DROP" ? .rule(HookFirewallRule(chain: chain, verdict: .block)) : .undo
      case "-D", "--delete", "-F", "--flush", "-X", "--delete-chain", "-Z": return .undo
      case "-N", "--new-chain", "-L", "-S", "-C", "--check", "--list": return .nothing
      case "!": isNegated = true
      case "-j", "--jump", "-g", "--goto": verdict = Self.verdict(rest.popFirst() ?? "")
      default:
        conditions.append(Self.condition(word, &rest, &isNegated))
        isNegated = false
      }
    }
    guard var rule, let verdict else { return .notUnderstood }
    rule.conditions = conditions
    rule.verdict = verdict
    guard table == "filter" else {
      switch verdict {
      case .accept: return .nothing
      case .block: return .notUnderstood
      case .jump, .mark, .adapt: return .rule(HookFirewallRule(chain: "\(table) \(rule.chain)", verdict: verdict))
      }
    }
    return .rule(rule)
  }

  private static func chain(_ name: String?) -> String {
    switch name {
    case "OUTPUT", "ufw-before-output", "ufw-user-output": "output"
    case "FORWARD", "DOCKER-USER": "forward"
    case "INPUT": "input"
    default: "chain \(name ?? "")"
    }
  }

  private static func verdict(_ target: String) -> HookFirewallRule.Verdict {
    switch target {
    case "ACCEPT", "RETURN": .accept
    case "DROP", "REJECT": .block
    case "MARK", "CONNMARK", "TPROXY", "CONNSECMARK", "ROUTE": .mark
    case "MASQUERADE", "SNAT", "DNAT", "REDIRECT", "TCPMSS", "NETMAP", "TTL", "HL", "DSCP", "LOG", "NFLOG", "CT", "NOTRACK": .adapt
    default: .jump("chain \(target)")
    }
  }

  /// The condition of an option, whose value is taken from the rest.
  private static func condition(
    _ option: String, _ rest: inout ArraySlice<String>, _ isNegated: inout Bool
  ) -> HookFirewallRule.Condition {
    // The older form has the `!` behind the option.
    if rest.first == "!" {
      rest.removeFirst()
      isNegated = true
    }
    let not = isNegated
    switch option {
    case "-o", "--out-interface": return link(rest.popFirst() ?? "", not)
    case "-m", "--match":
      // The options of a module say what it does; those without any known to be idle say so themselves.
      return ["owner", "cgroup", "time", "limit", "string", "set"].contains(rest.popFirst() ?? "") ? .other : .idle
    case "--mark": return isOwnMark(rest.popFirst() ?? "") ? not ? .unmarked : .marked : .other
    case "--dst-type": return rest.popFirst() == "LOCAL" ? not ? .notLocal : .local : .other
    case "-d", "--destination", "--dst":
      let place = rest.popFirst() ?? ""
      return not ? .notTo(place) : .to(place)
    case "--dport", "--destination-port", "--dports":
      let port = rest.popFirst() ?? ""
      return not ? .other : .port(port)
    case "--state", "--ctstate":
      let states = (rest.popFirst() ?? "").split(separator: ",")
      return !not && states.allSatisfy { $0 == "ESTABLISHED" || $0 == "RELATED" } ? .established : .other
    case "-p", "--protocol", "--proto": return rest.popFirst() == "all" || !not ? .idle : .other
    case "--comment", "--reject-with":
      rest.removeFirst(min(1, rest.count))
      return .idle
    case "-4", "-6", "-v", "--log-prefix", "--log-level":
      if option.hasPrefix("--") { rest.removeFirst(min(1, rest.count)) }
      return .idle
    default: return .other
    }
  }

  static func link(_ name: String, _ not: Bool) -> HookFirewallRule.Condition {
    switch (name, not) {
    case ("%i", true): .outside
    case ("%i", false): .inside
    case ("lo", true): .notLoopback
    case ("lo", false): .loopback
    case (_, false) where !name.isEmpty && name != "+": .otherLink
    default: .other
    }
  }

  /// `$(wg show %i fwmark)`, or the mark that wg-quick chooses.
  static func isOwnMark(_ text: String) -> Bool {
    let words = text.split(whereSeparator: { " $()".contains($0) })
    if words == ["wg", "show", "%i", "fwmark"] { return true }
    return ["0xca6c", "51820", "0x0000ca6c", "0xca6c/0xffffffff"].contains(text.lowercased())
  }

  /// `firewall-cmd --direct --add-rule ipv4 filter OUTPUT 0 …`.
  private func firewallCommand(_ words: [String]) -> HookFirewallCommand {
    if words.contains(where: { $0.hasPrefix("--remove") }) { return .undo }
    if words.contains("--reload") { return .nothing }
    if words.contains("--add-masquerade")
      || words.contains(where: { $0.hasPrefix("--add-interface") || $0.hasPrefix("--change-interface") })
    {
      return .rule(HookFirewallRule(chain: "input", verdict: .adapt))
    }
    guard words.contains("--direct"), let place = words.firstIndex(of: "--add-rule"), words.count > place + 4 else { return .notUnderstood }
    return iptables(["-t", words[place + 2], "-I", words[place + 3]] + words[(place + 4)...])
  }

  private func ufw(_ words: [String]) -> HookFirewallCommand {
    var words = words.filter { $0 != "--force" && $0 != "--dry-run" }[...]
    if words.first == "insert" || words.first == "prepend" { words = words.dropFirst(words.first == "insert" ? 2 : 1) }
    switch words.popFirst() {
    case "delete", "disable", "reset": return .undo
    case "enable", "reload", "status", "logging": return .nothing
    case "default":
      guard words.count == 2 else { return words.first == "deny" ? .rule(HookFirewallRule(chain: "input", verdict: .block)) : .nothing }
      let isOutgoing = words.last == "outgoing"
      if words.first == "allow" { return .undo }
      return .rule(HookFirewallRule(chain: isOutgoing ? "output" : words.last == "routed" ? "forward" : "input", verdict: .block))
    case "route": return .rule(HookFirewallRule(chain: "forward", verdict: .accept))
    case let verdict?:
      guard ["allow", "deny", "reject", "limit"].contains(verdict) else { return .notUnderstood }
      let isOutgoing = words.first == "out"
      var conditions: [HookFirewallRule.Condition] = []
      while let word = words.popFirst() {
        switch word {
        case "out", "in", "any", "from": break
        case "on": conditions.append(Self.link(words.popFirst() ?? "", false))
        case "to":
          let place = words.popFirst() ?? ""
          if place != "any" { conditions.append(.to(place)) }
        case "port": conditions.append(.port(words.popFirst() ?? ""))
        case "proto", "comment": words = words.dropFirst()
        default: conditions.append(word.first?.isNumber == true ? .port(String(word.prefix { $0 != "/" })) : .other)
        }
      }
      return .rule(
        HookFirewallRule(chain: isOutgoing ? "output" : "input", conditions: conditions, verdict: verdict == "allow" ? .accept : .block))
    case nil: return .nothing
    }
  }
}
