package import KeyMemory
package import NetworkTypes

/// What a `set=1` of the userspace protocol asks for, but for the port and the mark, which are the sockets' matter.
/// https://www.wireguard.com/xplatform/
package struct EngineChange: Sendable {
  /// `.some(nil)` takes the key away.
  package var privateKey: SecretBytes??
  package var replacesPeers = false
  package var peers: [PeerChange] = []

  package init(privateKey: SecretBytes?? = nil, replacesPeers: Bool = false, peers: [PeerChange] = []) {
    self.privateKey = privateKey
    self.replacesPeers = replacesPeers
    self.peers = peers
  }
}

/// What is asked of one peer. What is `nil` stays as it is.
package struct PeerChange: Sendable {
  package var publicKey: PublicKey
  package var removes = false
  /// Nothing happens where the peer does not exist.
  package var updatesOnly = false
  /// `.some(nil)`, or all zeros, is none.
  package var presharedKey: SecretBytes??
  package var endpoint: DatagramAddress?
  /// Seconds; 0 is off.
  package var persistentKeepalive: UInt16?
  package var replacesAllowedIPs = false
  /// Each moves here from the peer that has it.
  package var allowedIPs: [IPPrefix] = []
  /// Each is taken away where this peer has it (`allowed_ip=-…`).
  package var removedAllowedIPs: [IPPrefix] = []

  package init(_ publicKey: PublicKey) { self.publicKey = publicKey }
}
