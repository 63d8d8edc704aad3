package import KernelModel
package import NetworkTypes

/// The time since which each peer is connected, as far as this gateway has seen it. It does not survive a restart.
package struct ConnectionLedger: Hashable, Sendable {
  package private(set) var since: [WireGuardKey: Timestamp] = [:]

  package init() {}

  /// Takes what the engine reports now. `nil`: it reports nothing, and nothing is forgotten.
  package mutating func look(at device: WireGuardState?, _ now: Timestamp) {
    guard let device else { return }
    var connected: [WireGuardKey: Timestamp] = [:]
    for peer in device.peers where peer.isConnected(at: now) { connected[peer.publicKey] = since[peer.publicKey] ?? peer.handshake }
    since = connected
  }
}

extension WireGuardState.Peer {
  /// A session without a new handshake for this long is over (REJECT_AFTER_TIME of WireGuard).
  private static let sessionLife = Duration.seconds(180)

  /// Whether the last handshake is younger than a session can be.
  package func isConnected(at now: Timestamp) -> Bool { handshake.map { now - $0 < Self.sessionLife } ?? false }

  /// Whether the relay carries the peer's datagrams, by TCP.
  package var isRelayed: Bool { (endpoint?.address).map(RelayAddress.contains) ?? false }
}
