import NetworkTypes
import RoamwardCore

extension DecisionScheduler {
  /// Takes in how members of groups have moved. Returns whether others are in use than before.
  mutating func choose(of policies: PolicySet, _ tunnels: TunnelSet, at now: Moment) -> Bool {
    let before = groups.turns
    choose(of: policies, { tunnels[$0].map { MemberCondition(of: $0.machine) } ?? .down }, at: now)
    return groups.turns != before
  }
}

extension TunnelSet {
  /// Whether another round would move a tunnel.
  var isUnfinished: Bool { isBehind || hasReadyToGo }

  /// Whether the tunnel carries what it includes, or another member of its group does.
  func carries(_ tunnel: TunnelSupervisor, in policies: PolicySet) -> Bool {
    if tunnel.machine.level.hasRoutes { return true }
    return policies.group(of: tunnel.policy.name)?.members.contains { self[$0.name]?.machine.level.hasRoutes ?? false } ?? false
  }
}
