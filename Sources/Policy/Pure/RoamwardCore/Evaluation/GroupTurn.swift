/// The members of a group that may be up now: the one in use, and the one that is tried beside it.
package struct GroupTurn: Hashable, Sendable {
  package var group: String
  package var members: [String]
  /// The member in use, whether it is up, starting, or not even needed.
  package var member: String
  /// The member that is started beside it, to see whether its peer answers.
  package var trial: String?

  package init(group: String, members: [String], member: String, trial: String? = nil) {
    self.group = group
    self.members = members
    self.member = member
    self.trial = trial
  }

  /// The turn without an agent that says whose it is: of a member that runs, or of the first that may start. `nil`: no member is there.
  package init?(of group: TunnelGroup, among claims: [Exclusion.Claim], running: (String) -> Bool = { _ in false }) {
    let names = group.members.map(\.name)
    let members = names.compactMap { name in claims.first { $0.tunnel.name == name } }
    let choosable = members.mayBeUsed
    guard let first = choosable.first ?? members.first else { return nil }
    let member = choosable.first { running($0.tunnel.name) } ?? choosable.first(where: \.isRunning) ?? first
    self.init(group: group.name, members: names, member: member.tunnel.name)
  }
}

extension [Exclusion.Claim] {
  /// Those of a group's members that may be used: enabled, not held down, and if people hold members up, one of those.
  fileprivate var mayBeUsed: [Exclusion.Claim] {
    let enabled = filter { $0.tunnel.isEnabled && $0.override?.wantsUp != false }
    let byHand = enabled.filter { $0.override?.wantsUp == true }
    return byHand.isEmpty ? enabled : byHand
  }
}

extension Exclusion {
  /// Settles which tunnels may be up, after each group has chosen: of its members only those whose turn it is compete with other tunnels.
  ///
  /// `turns`: by group, as the agent has them; a group without one uses its first member.
  package static func settle(_ claims: [Claim], groups: [TunnelGroup], turns: [String: GroupTurn] = [:]) -> SettledClaims {
    if groups.isEmpty { return settle(claims) }
    let chosen = groups.compactMap { turns[$0.name] ?? GroupTurn(of: $0, among: claims) }
    var (claims, idle): ([Claim], [String: String]) = (claims, [:])
    for turn in chosen {
      for name in turn.members where name != turn.member { idle[name] = turn.member }
      claims.follow(turn)
    }
    var settled = settle(claims, after: idle)
    for turn in chosen {
      for name in turn.members where name != turn.member && name != turn.trial { settled.standby[name] = turn }
      // A trial is beside the member in use, and nothing without it.
      guard let trial = turn.trial, !settled.isHeld(turn.member) else { continue }
      settled.losers[trial] = nil
    }
    return settled
  }
}

extension [Exclusion.Claim] {
  /// A group that is left as it is stays up though the member in use changes.
  fileprivate mutating func follow(_ turn: GroupTurn) {
    guard contains(where: { turn.members.contains($0.tunnel.name) && $0.isRunning }) else { return }
    for place in indices where [turn.member, turn.trial].contains(self[place].tunnel.name) {
      if self[place].intent == .unchanged, !self[place].isRunning, self[place].tunnel.isEnabled { self[place].intent = .up }
    }
  }
}
