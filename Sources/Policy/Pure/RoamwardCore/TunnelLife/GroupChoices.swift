package import NetworkTypes

/// The choices of all groups: whose turn it is in each.
package struct GroupChoices: Sendable {
  private var policies = PolicySet()
  private var machines: [String: GroupMachine] = [:]
  package private(set) var turns: [String: GroupTurn] = [:]

  package init() {}

  /// Puts turns in the place of its own: those of a recorded evaluation.
  package init(turns: [String: GroupTurn]) { self.turns = turns }

  /// Takes the conditions of all members. Groups without a member are left out.
  package mutating func follow(
    _ policies: PolicySet, overrides: [String: ManualOverride], _ condition: (String) -> MemberCondition, at now: Moment
  ) {
    if policies.groups.isEmpty, machines.isEmpty { return }
    if !self.policies.isSameValue(as: policies) { take(policies) }
    for group in policies.groups {
      let tunnels = group.members.compactMap { policies.tunnel(named: $0.name) }
      guard let first = tunnels.first else { continue }
      let byHand = tunnels.filter { $0.isEnabled && overrides[$0.name]?.wantsUp == true }
      let members = tunnels.map { tunnel in
        let isUsable = policies.mayStart(tunnel, under: overrides) && (byHand.isEmpty || byHand.contains { $0.name == tunnel.name })
        return GroupMachine.Member(tunnel.name, isUsable: isUsable, condition(tunnel.name))
      }
      var machine = machines[group.name] ?? GroupMachine(members, preference: group.preference, first: first.name)
      machine.follow(members, at: now) { one, other in
        guard let one = policies.tunnel(named: one), let other = policies.tunnel(named: other) else { return false }
        return one.mayStart(beside: other)
      }
      machines[group.name] = machine
      turns[group.name] = GroupTurn(
        group: group.name, members: tunnels.map(\.name), member: machine.member, trial: machine.trial)
    }
  }

  /// Failures on the last network say nothing of this one.
  package mutating func networkChanged() {
    for name in machines.keys { machines[name]?.forget(isAnew: false) }
  }

  /// When a member is tried again; `nil`: it has not failed, or a person has to act first.
  package func triedAgain(_ member: String, of group: String) -> Moment? { machines[group]?.triedAgain(member) }

  /// When a choice may change though no member does.
  package var nextDeadline: Moment? { machines.values.compactMap(\.nextDeadline).min() }

  /// Remarks about groups that use another member than the preferred one, or try one.
  package func remarks(of policies: PolicySet, at now: Moment) -> [Remark] {
    policies.groups.compactMap { group in
      guard let machine = machines[group.name], let turn = turns[group.name] else { return nil }
      if let trial = turn.trial { return Remark(.standby, "group \(group.name) uses \(turn.member), and tries \(trial)") }
      let others = turn.members.filter { $0 != turn.member }
      let pauses = others.compactMap { name in
        machine.triedAgain(name).flatMap { $0 > now ? "\(name) again in \(text(for: $0 - now))" : nil }
      }
      guard !pauses.isEmpty else { return nil }
      return Remark(.standby, "group \(group.name) uses \(turn.member); it tries \(pauses.joined(separator: ", "))")
    }
  }

  private mutating func take(_ policies: PolicySet) {
    for group in self.policies.groups where policies.group(named: group.name).map({ !$0.isSameChoice(as: group) }) ?? true {
      machines[group.name] = nil
      turns[group.name] = nil
    }
    for name in machines.keys { machines[name]?.forget(isAnew: true) }
    self.policies = policies
  }
}

extension TunnelGroup {
  /// Whether the same members are chosen in the same order.
  fileprivate func isSameChoice(as other: TunnelGroup) -> Bool {
    members.map(\.name) == other.members.map(\.name) && preference == other.preference
  }
}

extension PolicySet {
  /// Whether the tunnel, and the tunnels that it goes through, are enabled and not held down.
  fileprivate func mayStart(_ tunnel: TunnelPolicy, under overrides: [String: ManualOverride]) -> Bool {
    var (next, left) = (Optional(tunnel), tunnels.count)
    while let one = next, left > 0 {
      if !one.isEnabled || overrides[one.name]?.wantsUp == false { return false }
      guard let outer = one.through else { return true }
      next = self.tunnel(named: outer.name)
      left -= 1
    }
    return false
  }
}
