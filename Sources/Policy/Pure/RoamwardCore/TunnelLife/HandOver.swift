package import NetworkTypes

/// The tunnels that an agent leaves in place for the next one when it is restarted, by name
/// (docs/decisions/0049-a-restart-hands-tunnels-and-programs-over.md).
///
/// The next agent takes over those that its policies still have; it removes all others, as leftover state.
package struct HandOver: Equatable, Sendable {
  /// The state of a tunnel that the next agent needs beside the policy and the system's state.
  package struct Tunnel: Hashable, Sendable {
    /// The number of its rule and its table among those of tunnels.
    package var slot: UInt32
    package var connectedSince: Timestamp
    /// Its link; `nil`: a command that names none.
    package var link: String?
    /// The tunnel that it goes through; `nil`: none.
    package var outer: String?
    /// The provider's program and its channel, as JSON of the driver; `nil`: it has none.
    package var provider: String?

    package init(slot: UInt32, connectedSince: Timestamp, link: String?, outer: String? = nil, provider: String? = nil) {
      self.slot = slot
      self.connectedSince = connectedSince
      self.link = link
      self.outer = outer
      self.provider = provider
    }
  }

  package var tunnels: [String: Tunnel]

  package init(tunnels: [String: Tunnel] = [:]) { self.tunnels = tunnels }

  /// The names, so that a tunnel follows the one that it goes through.
  package var outerFirst: [String] {
    var names: [String] = []
    func add(_ name: String, _ depth: Int) {
      guard let tunnel = tunnels[name], !names.contains(name), depth <= tunnels.count else { return }
      if let outer = tunnel.outer { add(outer, depth + 1) }
      if !names.contains(name) { names.append(name) }
    }
    for name in tunnels.keys.sorted() { add(name, 0) }
    return names
  }
}
