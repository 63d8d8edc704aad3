internal import NetworkTypes
internal import RoamwardCore

/// The times of a tunnel's state, as people see it.
struct StateTimes {
  /// The time at which the state was entered.
  private(set) var since: Timestamp
  /// The time of the last connection.
  private(set) var connectedSince: Timestamp

  init(at now: Timestamp) { (since, connectedSince) = (now, now) }

  /// Notes another state. A tunnel that reconnects on another network counts as connected all along.
  mutating func enter(_ state: TunnelMachine.State, after before: TunnelMachine.State, at now: Timestamp) {
    guard state == .connected else { return since = now }
    if case .reasserting = before {} else { connectedSince = now }
    since = connectedSince
  }

  /// The tunnel was connected by another agent at this time.
  mutating func takeOver(_ connectedSince: Timestamp) { self.connectedSince = connectedSince }
}
