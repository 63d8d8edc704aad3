import NetworkTypes
import RoamwardCore

/// Schedules polls of WireGuard devices for an awaited answer: soon at first, then twenty times a second for two seconds, then four times.
/// Pure: no clock.
struct Polling {
  private static let eager = Duration.seconds(2)

  /// The tunnels that await an answer, with their state when they began to.
  private var awaiting: [String: TunnelMachine.State] = [:]
  private var since = Moment(nanoseconds: 0)
  /// `nil`: no tunnel awaits an answer.
  private(set) var next: Moment?

  /// Restarts the fast phase if a tunnel begins to wait, also again on another network.
  mutating func await(_ tunnels: [String: TunnelMachine.State], at now: Moment) {
    if tunnels.contains(where: { awaiting[$0.key] != $0.value }) { since = now }
    awaiting = tunnels
    guard !tunnels.isEmpty else { return next = nil }
    let waited = now - since
    // The session has usually begun soon after the pass that made the device has ended.
    let first = waited < .milliseconds(2) ? Duration.microseconds(250) : .milliseconds(1)
    next = now + (waited < Self.eager ? min(.milliseconds(50), max(first, waited / 2)) : .milliseconds(250))
  }
}
