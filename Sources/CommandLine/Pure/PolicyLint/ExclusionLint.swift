import RoamwardCore

/// Finds enterprise tunnels that are wanted on a network on which another one takes precedence, so that they do not run there. One finding
/// for each.
func exclusiveTunnels(among tunnels: [TunnelPolicy], networks: NetworkTable, groups: GroupsOfTunnels) -> [LintFinding] {
  let rivals = tunnels.filter { $0.precedence == .enterprise && $0.onDemand.isEnabled }
  return rivals.enumerated().compactMap { i, tunnel in
    guard let first = rivals[..<i].first(where: { !groups.areOfOne($0, tunnel) && areWantedTogether($0, tunnel, networks) }) else {
      return nil
    }
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
  meet(a, b, networks) { $0 == .connect } ?? false
}

/// The tunnels that may be up on one network, by their rules: none of them takes the tunnel down there.
struct TunnelsTogether {
  private let tunnels: [TunnelPolicy]
  private let networks: NetworkTable
  private let groups: GroupsOfTunnels
  private var known: [[Int]: Bool] = [:]

  init(_ tunnels: [TunnelPolicy], _ networks: NetworkTable, _ groups: GroupsOfTunnels) {
    self.tunnels = tunnels
    self.groups = groups
    self.networks = networks
  }

  /// By their places. Enterprise tunnels are never up together, nor are members of one group. True if the search would take too long.
  mutating func mayBeUp(_ one: Int, _ other: Int) -> Bool {
    let pair = [min(one, other), max(one, other)]
    if let answer = known[pair] { return answer }
    let (a, b) = (tunnels[pair[0]], tunnels[pair[1]])
    let answer =
      one == other
      || !(a.precedence == .enterprise && b.precedence == .enterprise) && !groups.areOfOne(a, b)
        && (!a.onDemand.isEnabled || !b.onDemand.isEnabled || meet(a, b, networks) { $0 != .disconnect } ?? true)
    known[pair] = answer
    return answer
  }
}

/// Whether on some network both tunnels have an outcome of the kind; `nil`: no rule matches. `nil` if the search would take too long.
private func meet(_ a: TunnelPolicy, _ b: TunnelPolicy, _ networks: NetworkTable, _ isOfKind: (Action?) -> Bool) -> Bool? {
  let (own, others) = (a.onDemand.rules, b.onDemand.rules)
  guard let formula = Formula(own.map(\.match) + others.map(\.match), networks: networks) else { return nil }
  var reasoning = RuleReasoning(formula)
  func ways(_ rules: [Rule], after start: Int) -> [[Formula.Goal]] {
    (0...rules.count).filter { isOfKind($0 < rules.count ? rules[$0].action : nil) }.map { rule in
      formula.roots[start..<start + rule].map { !$0 } + (rule < rules.count ? [formula.roots[start + rule]] : [])
    }
  }
  var isKnown = true
  for one in ways(own, after: 0) {
    for other in ways(others, after: own.count) {
      switch reasoning.isPossible(one + other) {
      case true?: return true
      case false?: break
      case nil: isKnown = false
      }
    }
  }
  return isKnown ? false : nil
}
