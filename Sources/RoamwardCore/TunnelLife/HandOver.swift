package import NetworkTypes

/// The tunnels that an agent leaves in place for the next one when it is restarted, by name
/// (docs/decisions/0049-a-restart-hands-tunnels-over.md).
///
/// The next agent takes over those that its policies still have; it removes all others, as leftover state.
package struct HandOver: Equatable, Sendable {
  /// What the next agent needs beside the policy and the system's state.
  package struct Tunnel: Hashable, Sendable {
    /// The number of its rule and its table among those of tunnels.
    package var slot: UInt32
    package var connectedSince: Timestamp

    package init(slot: UInt32, connectedSince: Timestamp) {
      self.slot = slot
      self.connectedSince = connectedSince
    }
  }

  package var tunnels: [String: Tunnel]

  package init(tunnels: [String: Tunnel] = [:]) { self.tunnels = tunnels }
}
