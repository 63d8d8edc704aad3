import RoamwardCore

/// Finds enterprise tunnels that are wanted on a network on which another one takes precedence, so that they do not run there. One finding
/// for each.
func exclusiveTunnels(among tunnels: [TunnelPolicy], networks: NetworkTable) -> [LintFinding] {
  let rivals = tunnels.filter { $0.precedence == .enterprise && $0.onDemand.isEnabled }
  return rivals.enumerated().compactMap { i, tunnel in
    guard let first = rivals[..<i].first(where: { areWantedTogether($0, tunnel, networks) }) else { return nil }
    return LintFinding(
      .exclusiveTunnels,
      "`\(tunnel.name)` and `\(first.name)` (\(first.location.short)) are both `class: enterprise`, and there are networks on which the rules want "
        + "both: only `\(first.name)` runs there, because it comes first",
      help: "make one of them `class: personal`, or have the rules want them on different networks", at: tunnel.location,
      related: first.location)
  }
}

/// False if the search would take too long.
private func areWantedTogether(_ a: TunnelPolicy, _ b: TunnelPolicy, _ networks: NetworkTable) -> Bool {
  let (own, others) = (a.onDemand.rules, b.onDemand.rules)
  guard let formula = Formula(own.map(\.match) + others.map(\.match), networks: networks) else { return false }
  var reasoning = RuleReasoning(formula)
  func reach(_ rule: Int, after start: Int) -> [Formula.Goal] {
    formula.roots[start..<start + rule].map { !$0 } + [formula.roots[start + rule]]
  }
  for i in own.indices where own[i].action == .connect {
    for j in others.indices where others[j].action == .connect {
      if reasoning.isPossible(reach(i, after: 0) + reach(j, after: own.count)) == true { return true }
    }
  }
  return false
}
