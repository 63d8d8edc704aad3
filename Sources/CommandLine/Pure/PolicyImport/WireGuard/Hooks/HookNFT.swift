extension HookFirewall {
  /// The statements of one call, without quotes.
  func nftStatements(_ words: [String]) -> [String] {
    var statements = [""]
    var depth = 0
    for character in words.joined(separator: " ") where character != "\"" {
      if character == "{" || character == "(" { depth += 1 }
      if character == "}" || character == ")" { depth -= 1 }
      if character == ";", depth == 0 { statements.append("") } else { statements[statements.count - 1].append(character) }
    }
    return statements.filter { $0.contains { $0 != " " } }
  }

  /// `insert rule inet filter output oifname != "%i" reject`, and the statements that make its table and chain.
  mutating func takeNFT(_ text: String) -> HookFirewallCommand {
    // Substitutions stay one word.
    var rest = Self.nftWords(text)[...]
    while rest.first?.hasPrefix("-") == true {
      guard !["-f", "--file"].contains(rest.first ?? "") else { return .notUnderstood }
      rest.removeFirst()
    }
    let verb = rest.popFirst() ?? ""
    if ["delete", "flush", "destroy"].contains(verb) { return .undo }
    if ["list", "describe", "monitor"].contains(verb) { return .nothing }
    guard ["add", "insert", "create", "replace"].contains(verb), let object = rest.popFirst() else { return .notUnderstood }
    let families = ["ip", "ip6", "inet", "arp", "bridge", "netdev"]
    func name() -> String {
      if let family = rest.first, families.contains(family) { rest.removeFirst() }
      return rest.popFirst() ?? ""
    }
    switch object {
    case "table": return .nothing
    case "chain":
      let table = name()
      let chain = "nft \(table) \(rest.popFirst() ?? "")"
      let words = Array(rest)
      guard let hook = words.firstIndex(of: "hook").flatMap({ words.indices.contains($0 + 1) ? words[$0 + 1] : nil }) else {
        return .nothing
      }
      let isFilter = words.contains("filter") || words.contains("route")
      chains[chain] = isFilter && ["output", "postrouting"].contains(hook) ? "output" : isFilter ? hook : "\(hook) of another kind"
      let policy = words.firstIndex(of: "policy").flatMap { words.indices.contains($0 + 1) ? words[$0 + 1] : nil }
      return policy == "drop" ? .rule(HookFirewallRule(chain: chain, verdict: .block)) : .nothing
    case "rule":
      let table = name()
      let own = rest.popFirst() ?? ""
      let chain = "nft \(table) \(own)"
      if chains[chain] == nil, ["output", "forward", "input"].contains(own.lowercased()) { chains[chain] = own.lowercased() }
      return nftRule(chain, rest)
    default: return .notUnderstood
    }
  }

  private static func nftWords(_ text: String) -> [String] {
    var words: [String] = []
    var word = ""
    var depth = 0
    for character in text {
      if character == "(" { depth += 1 }
      if character == ")" { depth -= 1 }
      if depth == 0, character == " " || character == ";" || character == "{" || character == "}" || character == "," {
        if !word.isEmpty { words.append(word) }
        word = ""
        if character == "{" || character == "}" { words.append(String(character)) }
      } else {
        word.append(character)
      }
    }
    return words + (word.isEmpty ? [] : [word])
  }

  private func nftRule(_ chain: String, _ words: ArraySlice<String>) -> HookFirewallCommand {
    var rest = words
    var rule = HookFirewallRule(chain: chain, verdict: .accept)
    /// The values, one or a set of them.
    func values() -> (texts: [String], isNegated: Bool) {
      let isNegated = rest.first == "!="
      if isNegated || rest.first == "==" { rest.removeFirst() }
      guard rest.first == "{" else { return ([rest.popFirst() ?? ""], isNegated) }
      let texts = rest.dropFirst().prefix { $0 != "}" }
      rest = rest.dropFirst(texts.count + 2)
      return (Array(texts), isNegated)
    }
    func value() -> (text: String, isNegated: Bool) {
      let found = values()
      return (found.texts.count == 1 ? found.texts[0] : "", found.isNegated)
    }
    while let word = rest.popFirst() {
      switch word {
      case "position", "handle", "index", "comment": rest = rest.dropFirst()
      case "meta", "counter", "ct", "th", "udp", "tcp": rule.conditions.append(.idle)
      case "oifname", "oif":
        let links = values()
        rule.conditions.append(Self.link(among: links.texts, links.isNegated))
      case "mark":
        if rest.first == "set" { return .rule(HookFirewallRule(chain: chain, verdict: .mark)) }
        let mark = value()
        rule.conditions.append(Self.isOwnMark(mark.text) ? mark.isNegated ? .unmarked : .marked : .other)
      case "fib":
        // fib daddr type != local
        rest = rest.drop { $0 != "type" }.dropFirst()
        let type = value()
        rule.conditions.append(type.text == "local" ? type.isNegated ? .notLocal : .local : .other)
      case "ip", "ip6":
        let isDestination = rest.popFirst() == "daddr"
        let places = values()
        rule.conditions += places.texts.map { !isDestination ? .other : places.isNegated ? .notTo($0) : .to($0) }
      case "dport":
        let port = value()
        rule.conditions.append(port.isNegated ? .other : .port(port.text))
      case "state":
        let states = values()
        let isKnown = !states.isNegated && states.texts.allSatisfy { $0 == "established" || $0 == "related" }
        rest = rest.drop { ["established", "related"].contains($0) }
        rule.conditions.append(isKnown ? .established : .other)
      case "l4proto", "nfproto", "protocol": _ = value()
      case "accept", "return": return .rule(rule)
      case "reject", "drop":
        rule.verdict = .block
        return .rule(rule)
      case "jump", "goto":
        let table = chain.split(separator: " ").dropFirst().first.map(String.init) ?? ""
        rule.verdict = .jump("nft \(table) \(rest.popFirst() ?? "")")
        return .rule(rule)
      case "masquerade", "snat", "dnat", "redirect", "log", "tproxy":
        rule.verdict = .adapt
        return .rule(rule)
      default: rule.conditions.append(.other)
      }
    }
    return .notUnderstood
  }

  /// The condition of a set of links: its own with the loopback link count as its own.
  private static func link(among names: [String], _ isNegated: Bool) -> HookFirewallRule.Condition {
    let others = names.filter { $0 != "lo" }
    return others.isEmpty ? link("lo", isNegated) : link(others.count == 1 ? others[0] : "", isNegated)
  }
}
