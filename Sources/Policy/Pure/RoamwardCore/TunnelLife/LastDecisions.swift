/// The last decisions on a set of policies, by the places of its tunnels: of many tunnels most are down, and are decided the same again.
struct LastDecisions: Sendable {
  private var policies = PolicySet()
  /// With what other tunnels make of them.
  private(set) var acted: [Decision] = []
  /// The decision of its rules alone by which a tunnel is at rest; `nil`: it is not.
  private var resting: [Decision?] = []
  /// The decider of that decision, if it was found without an evaluation: then the same one makes the same decision.
  private var deciders: [SieveOfSet.Decider] = []

  /// Forgets the decisions on another set of policies.
  mutating func follow(_ policies: PolicySet) {
    if self.policies.isSameValue(as: policies) { return }
    self.policies = policies
    acted = policies.tunnels.map { Decision(tunnel: $0.name, outcome: .ignore) }
    resting = Array(repeating: nil, count: policies.tunnels.count)
    deciders = Array(repeating: .open, count: policies.tunnels.count)
  }

  /// Whether the tunnel was at rest by an equal decision, and so still is. One that waits for a fact is never at rest, because time may end
  /// its wait.
  mutating func rests(_ place: Int, with decision: Decision, by decider: SieveOfSet.Decider) -> Bool {
    if resting[place] != decision { return false }
    deciders[place] = decider
    return true
  }

  /// Whether the tunnel was at rest by the decision that this decider makes.
  func isAtRest(_ place: Int, by decider: SieveOfSet.Decider) -> Bool { decider != .open && deciders[place] == decider }

  /// `isAtRest`: only another decision of its own rules, or a person, can move the tunnel.
  mutating func record(_ decision: Decision, by decider: SieveOfSet.Decider, acted: Decision, at place: Int, isAtRest: Bool) {
    if self.acted[place] != acted { self.acted[place] = acted }
    let isAtRest = isAtRest && decision.outcome != .pending
    if resting[place] != (isAtRest ? decision : nil) { resting[place] = isAtRest ? decision : nil }
    deciders[place] = isAtRest ? decider : .open
  }
}
