package import KeyMemory
package import NetworkTypes

/// The changes of a `set=1` of the userspace protocol, except the port and the mark, which belong to the sockets.
/// https://www.wireguard.com/xplatform/
package struct EngineChange: Sendable {
  /// `.some(nil)` removes the key.
  package var privateKey: SecretBytes??
  package var replacesPeers = false
  package var peers: [PeerChange] = []

  package init(privateKey: SecretBytes?? = nil, replacesPeers: Bool = false, peers: [PeerChange] = []) {
    self.privateKey = privateKey
    self.replacesPeers = replacesPeers
    self.peers = peers
  }
}

/// The changes of one peer. `nil` leaves a setting as it is.
package struct PeerChange: Sendable {
  package var publicKey: PublicKey
  package var removes = false
  /// Ignore the change if the peer does not exist.
  package var updatesOnly = false
  /// `.some(nil)`, or all zeros, removes the key.
  package var presharedKey: SecretBytes??
  package var endpoint: DatagramAddress?
  /// Send an initiation there, while the sessions and the endpoint stay as they are (`Engine.probe`).
  package var probe: DatagramAddress?
  /// Seconds; 0 is off.
  package var persistentKeepalive: UInt16?
  package var replacesAllowedIPs = false
  /// Prefixes to add. Each moves here from the peer that has it.
  package var allowedIPs: [IPPrefix] = []
  /// Prefixes to remove, if this peer has them (`allowed_ip=-…`).
  package var removedAllowedIPs: [IPPrefix] = []

  package init(_ publicKey: PublicKey) { self.publicKey = publicKey }
}
