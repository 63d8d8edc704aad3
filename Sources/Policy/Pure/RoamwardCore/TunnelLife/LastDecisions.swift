/// The last decisions on a set of policies, by the places of its tunnels: of many tunnels most are down, and are decided the same again.
struct LastDecisions: Sendable {
  private var policies = PolicySet()
  /// With what other tunnels make of them.
  private(set) var acted: [Decision] = []
  /// The decision of its rules alone by which a tunnel is at rest; `nil`: it is not.
  private var resting: [Decision?] = []

  /// Forgets the decisions on another set of policies.
  mutating func follow(_ policies: PolicySet) {
    if self.policies.isSameValue(as: policies) { return }
    self.policies = policies
    acted = policies.tunnels.map { Decision(tunnel: $0.name, outcome: .ignore) }
    resting = Array(repeating: nil, count: policies.tunnels.count)
  }

  /// Whether the tunnel was at rest by an equal decision. One that waits for a fact is never at rest, because time may end its wait.
  func isAtRest(_ place: Int, with decision: Decision) -> Bool { resting[place] == decision }

  /// `isAtRest`: only another decision of its own rules, or a person, can move the tunnel.
  mutating func note(_ decision: Decision, acted: Decision, at place: Int, isAtRest: Bool) {
    if self.acted[place] != acted { self.acted[place] = acted }
    let isAtRest = isAtRest && decision.outcome != .pending
    if resting[place] != (isAtRest ? decision : nil) { resting[place] = isAtRest ? decision : nil }
  }
}
