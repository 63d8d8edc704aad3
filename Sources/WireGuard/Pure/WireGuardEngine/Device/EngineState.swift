package import KeyMemory
package import NetworkTypes

/// The state that a `get=1` of the userspace protocol reports, except the port and the mark.
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
  /// Wall-clock time; zeros if there was no handshake.
  package var lastHandshakeSeconds: Int64
  package var lastHandshakeNanoseconds: UInt32
  /// Bytes of whole transport and handshake messages, as the kernel counts them.
  package var receivedBytes: UInt64
  package var sentBytes: UInt64
  package var persistentKeepalive: UInt16
  package var allowedIPs: [IPPrefix]
}

/// Counters of dropped packets and messages, by reason, since the engine was created.
public struct EngineDrops: Hashable, Sendable {
  /// Invalid length or type.
  public var malformed: UInt64 = 0
  /// Handshake messages with a wrong first MAC: they are not for us.
  public var wrongMAC: UInt64 = 0
  /// Handshake messages that were answered with a cookie, or that exceeded their source's rate limit.
  public var overLoad: UInt64 = 0
  /// Handshake messages that did not decrypt, were replayed, came too fast or came from an unknown peer.
  public var refusedHandshakes: UInt64 = 0
  /// Messages of an unknown or expired session or handshake.
  public var unknownIndex: UInt64 = 0
  /// The session is too old, or its counter is used up.
  public var expired: UInt64 = 0
  /// Packets that were received before, or are more than 8,128 behind (RFC 6479).
  public var replayed: UInt64 = 0
  /// Packets with a wrong tag.
  public var unauthentic: UInt64 = 0
  /// Decrypted, but not an IP packet of the length in its header.
  public var badInnerPacket: UInt64 = 0
  /// Decrypted, but with an inner source address that is not in the peer's allowed IPs.
  public var foreignSource: UInt64 = 0
  /// Outgoing packets without a peer for their destination.
  public var noPeer: UInt64 = 0
  /// Outgoing packets to a peer without a known endpoint.
  public var noEndpoint: UInt64 = 0
  /// Datagrams of a session that were routed back into it.
  public var loops: UInt64 = 0
}
