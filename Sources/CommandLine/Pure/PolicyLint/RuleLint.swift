import NetworkTypes
import RoamwardCore

/// Finds rules that no network reaches, networks on which no rule matches, and criteria without effect.
func lintRules(of tunnel: TunnelPolicy, networks: NetworkTable) -> [LintFinding] {
  let rules = tunnel.onDemand.rules
  guard let last = rules.last, let formula = Formula(rules.map(\.match), networks: networks) else { return [] }
  var reasoning = RuleReasoning(formula, of: rules)
  var findings: [LintFinding] = []
  for (i, rule) in rules.enumerated() {
    if let death = reasoning.death(of: i) {
      findings.append(LintFinding(death, of: i, in: tunnel))
      continue
    }
    findings += reasoning.pointlessNots(below: formula.roots[i]).map { keys in
      pointlessNot("rule \(i + 1) of `\(tunnel.name)`", keys: keys, at: rule.location)
    }
    if rule.action == .disconnect, let finding = weakEvidence(of: i, in: tunnel, reasoning: &reasoning, networks: networks) {
      findings.append(finding)
    }
    findings += namesOutside(by: i, in: tunnel)
    if let finding = killSwitchNotStarted(by: i, in: tunnel) { findings.append(finding) }
  }
  if reasoning.isPossible(formula.roots.map { Formula.Goal(node: $0.node, holds: false) }) == true {
    findings.append(
      LintFinding(
        .noCatchAll, "there are networks on which no rule of `\(tunnel.name)` holds, so the tunnel is left as it is there",
        help: "add a last rule that says so: `- action: ignore`", at: last.location))
  }
  return findings
}

/// Finds names whose look-ups start the tunnel, and which servers outside get all the same.
private func namesOutside(by index: Int, in tunnel: TunnelPolicy) -> [LintFinding] {
  let rule = tunnel.onDemand.rules[index]
  let subject = "rule \(index + 1) of `\(tunnel.name)`"
  let refused = tunnel.dnsInForce.refusesWhenDown ? tunnel.dnsInForce.ownDomains : []
  let isOpen = tunnel.dnsInForce.servers.isEmpty && !tunnel.namedPrefixes.coverEverything
  return tunnel.watchedEntries(of: rule).compactMap { entry -> LintFinding? in
    if entry.action == .connectAlways, isOpen {
      return LintFinding(
        .namesOutside,
        "\(subject): the tunnel has no name servers, so once it is up the network's servers are asked for these names",
        help: "name the servers that know them: `dns: { servers: […], match-domains: […] }`", at: entry.location)
    }
    guard entry.action == .connectIfNeeded, let domain = refused.first(where: { entry.domains.holds($0) || entry.names(within: $0) }) else {
      return nil
    }
    return LintFinding(
      .leakingRefusal,
      "\(subject): `connect-if-needed` asks the network's servers first, so `when-down: refuse` does not hold for \(domain)",
      help: "use `connect-always`, or remove `when-down: refuse`", at: entry.location)
  }
}

extension ConnectionRule {
  fileprivate func names(within domain: DomainName) -> Bool {
    domains.contains { if case .within(let name) = $0 { name.isWithin(domain) } else { true } }
  }
}

extension Rule {
  /// Whether look-ups are to start the tunnel.
  fileprivate var startsByNames: Bool { action == .evaluateConnection && connections.contains { $0.action != .neverConnect } }
}

/// Finds a kill switch beside a rule by which a look-up starts the tunnel, and that does not arm it: the tunnel is not wanted before.
private func killSwitchNotStarted(by index: Int, in tunnel: TunnelPolicy) -> LintFinding? {
  let rule = tunnel.onDemand.rules[index]
  guard tunnel.guarding == .on, rule.startsByNames, tunnel.armingObstacle(of: rule) != nil else { return nil }
  return LintFinding(
    .killSwitchNotStarted,
    "where rule \(index + 1) of `\(tunnel.name)` decides, its kill switch blocks nothing until a look-up starts the tunnel",
    help: "use `action: connect`, or `kill-switch: always`", at: rule.location)
}

/// Finds networks that never match, and criteria in them without effect.
func lintNetwork(_ network: NamedNetwork, networks: NetworkTable) -> [LintFinding] {
  guard let formula = Formula([network.condition], networks: networks) else { return [] }
  var reasoning = RuleReasoning(formula)
  if reasoning.isPossible(formula.roots) == false {
    let why = contradiction(reasoning.conflict(in: formula.roots[0]))
    return [
      LintFinding(.impossibleNetwork, "network `\(network.name)` can never hold: \(why)", help: contradictionCure, at: network.location)
    ]
  }
  return reasoning.pointlessNots(below: formula.roots[0]).map {
    pointlessNot("network `\(network.name)`", keys: $0, at: network.location)
  }
}

/// Finds networks that no rule uses. A set without tunnels is part of a larger one and is not checked.
func unusedNetworks(in policies: PolicySet) -> [LintFinding] {
  guard !policies.tunnels.isEmpty else { return [] }
  let byName = Dictionary(policies.networks.map { ($0.name, $0) }) { first, _ in first }
  var used = Set<String>()
  var rest = policies.tunnels.flatMap { $0.onDemand.rules.flatMap(\.match.networksNamed) + ($0.routes?.lanNetworks ?? []) }
  while let name = rest.popLast() {
    if used.insert(name).inserted { rest += byName[name]?.condition.networksNamed ?? [] }
  }
  return policies.networks.filter { !used.contains($0.name) }.map {
    LintFinding(.unusedNetwork, "no rule uses network `\($0.name)`", help: "use it in a match, or remove it", at: $0.location)
  }
}

extension LintFinding {
  fileprivate init(_ death: RuleReasoning.Death, of index: Int, in tunnel: TunnelPolicy) {
    let rules = tunnel.onDemand.rules
    let here = rules[index].location
    let subject = "rule \(index + 1) of `\(tunnel.name)`"
    func reference(_ i: Int) -> String { "rule \(i + 1) (\(rules[i].location.short))" }
    switch death {
    case .impossible(let keys, let decidesUnknown):
      let rest = decidesUnknown ? "; it can decide only while a fact is unknown" : ""
      self.init(.impossibleRule, "\(subject) can never hold: \(contradiction(keys))\(rest)", help: contradictionCure, at: here)
    case .afterCatchAll(let other):
      self.init(
        .shadowedRule, "\(subject) is never reached: \(reference(other)) always holds", help: "remove it, or move it before that rule",
        at: here, related: rules[other].location)
    case .shadowed(let others) where others.count == 1:
      self.init(
        .shadowedRule, "\(subject) is never reached: \(reference(others[0])) holds whenever it does",
        help: "remove it, or move it before that rule", at: here, related: rules[others[0]].location)
    case .shadowed(let others):
      let names = others.map { String($0 + 1) }
      let list = names.count > 5 ? "those before it" : names.dropLast().joined(separator: ", ") + " and " + (names.last ?? "")
      self.init(
        .shadowedRule, "\(subject) is never reached: one of the rules \(list) holds whenever it does",
        help: "remove it, or move it before those rules", at: here, related: others.first.map { rules[$0].location })
    }
  }
}

private let contradictionCure = "correct what contradicts itself; alternatives belong into a list or under `any-of:`"

private func contradiction(_ keys: [String]) -> String {
  switch keys.count {
  case 0: "its match rules out every network"
  case 1: "its `\(keys[0])` rules out every network"
  case 2...4: "\(keys.map { "`\($0)`" }.joined(separator: " and ")) contradict one another"
  default: "its criteria contradict one another"
  }
}

private func pointlessNot(_ subject: String, keys: [String], at place: SourceLocation) -> LintFinding {
  let inner = keys.isEmpty ? "" : " with \(keys.prefix(4).map { "`\($0)`" }.joined(separator: ", "))"
  return LintFinding(
    .pointlessNot, "the `not`\(inner) in \(subject) changes nothing: it always holds there", help: "remove it, or correct what it excludes",
    at: place)
}
