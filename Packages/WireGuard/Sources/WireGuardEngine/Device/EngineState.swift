package import KeyMemory
package import NetworkTypes

/// What a `get=1` of the userspace protocol tells, but for the port and the mark.
package struct EngineState: Sendable {
  package var privateKey: SecretBytes?
  package var publicKey: PublicKey?
  package var peers: [PeerState] = []
}

package struct PeerState: Sendable {
  package let index: PeerIndex
  package let publicKey: PublicKey
  package var presharedKey: SecretBytes?
  package var endpoint: DatagramAddress?
  /// Wall clock; zeros where there was none.
  package var lastHandshakeSeconds: Int64
  package var lastHandshakeNanoseconds: UInt32
  /// Of whole transport and handshake messages, as the kernel counts.
  package var receivedBytes: UInt64
  package var sentBytes: UInt64
  package var persistentKeepalive: UInt16
  package var allowedIPs: [IPPrefix]
}

/// Why packets and messages went no further, since the engine began.
package struct EngineDrops: Hashable, Sendable {
  /// Neither of the lengths nor of the kinds there are.
  package var malformed: UInt64 = 0
  /// A handshake message whose first MAC is wrong: not for us.
  package var wrongMAC: UInt64 = 0
  /// Handshake messages answered with a cookie, or beyond their sender's share.
  package var overLoad: UInt64 = 0
  /// Handshake messages that did not decrypt, were replayed, came too fast or from a stranger.
  package var refusedHandshakes: UInt64 = 0
  package var unknownIndex: UInt64 = 0
  /// The session is too old or its counter used up.
  package var expired: UInt64 = 0
  package var replayed: UInt64 = 0
  package var unauthentic: UInt64 = 0
  /// Decrypted, but no IP packet of the length that its header tells.
  package var badInnerPacket: UInt64 = 0
  /// Decrypted, but from an inner address that is not its sender's.
  package var foreignSource: UInt64 = 0
  /// To be sent, but to no peer's address.
  package var noPeer: UInt64 = 0
  package var noEndpoint: UInt64 = 0
  /// Datagrams of a session that were led back into it.
  package var loops: UInt64 = 0
}
