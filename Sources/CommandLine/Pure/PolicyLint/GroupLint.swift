import NetworkTypes
import RoamwardCore

/// The groups of tunnels, by the tunnels' names.
struct GroupsOfTunnels {
  private let policies: PolicySet

  init(_ policies: PolicySet) { self.policies = policies }

  /// Whether both are members of one group, so that one gives way to the other as intended.
  func areOfOne(_ one: TunnelPolicy, _ other: TunnelPolicy) -> Bool {
    guard let group = policies.group(of: one.name) else { return false }
    return policies.group(of: other.name)?.name == group.name
  }

  /// Whether another tunnel before it has the same rules, because a group has them.
  func hasRulesOfAnother(_ tunnel: TunnelPolicy, among tunnels: [TunnelPolicy]) -> Bool {
    guard let group = policies.group(of: tunnel.name) else { return false }
    return tunnels.first { other in group.members.contains { $0.name == other.name } }?.name != tunnel.name
  }
}

/// Finds members that do not take the same prefixes as the preferred one of their group: these flow elsewhere, or not at all, while the
/// member is in use. One finding for each.
func unlikeMembers(of policies: PolicySet, _ tunnels: [TunnelPolicy]) -> [LintFinding] {
  policies.groups.flatMap { group -> [LintFinding] in
    let members = group.members.compactMap { member in tunnels.first { $0.name == member.name && $0.isApplied } }
    guard let first = members.first, let prefixes = first.knownIncludes else { return [] }
    return members.dropFirst().compactMap { member in
      guard let own = member.knownIncludes,
        let prefix = prefixes.ascending.first(where: { !own.cover.contains($0) })
          ?? own.ascending.first(where: { !prefixes.cover.contains($0) })
      else { return nil }
      let (takes, lacks) = prefixes.cover.contains(prefix) ? (first, member) : (member, first)
      let way = group.killSwitch == .off ? "flows outside of the group" : "is blocked"
      return LintFinding(
        .unlikeMembers,
        "of the group `\(group.name)`, `\(takes.name)` takes \(prefix) and `\(lacks.name)` does not: it \(way) while `\(lacks.name)` is in use",
        help: "give both the same `routes: include:`", at: member.location, related: first.location)
    }
  }
}
