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
public struct EngineDrops: Hashable, Sendable {
  /// Neither of the lengths nor of the kinds there are.
  public var malformed: UInt64 = 0
  /// A handshake message whose first MAC is wrong: not for us.
  public var wrongMAC: UInt64 = 0
  /// Handshake messages answered with a cookie, or beyond their sender's share.
  public var overLoad: UInt64 = 0
  /// Handshake messages that did not decrypt, were replayed, came too fast or from a stranger.
  public var refusedHandshakes: UInt64 = 0
  /// Messages of a session or handshake that is not there (any more).
  public var unknownIndex: UInt64 = 0
  /// The session is too old or its counter used up.
  public var expired: UInt64 = 0
  /// Packets that had come before, or are more than 8,128 behind (RFC 6479).
  public var replayed: UInt64 = 0
  /// Packets whose tag is wrong.
  public var unauthentic: UInt64 = 0
  /// Decrypted, but no IP packet of the length that its header tells.
  public var badInnerPacket: UInt64 = 0
  /// Decrypted, but from an inner address that is not its sender's.
  public var foreignSource: UInt64 = 0
  /// To be sent, but to no peer's address.
  public var noPeer: UInt64 = 0
  /// To be sent to a peer whose endpoint is not known.
  public var noEndpoint: UInt64 = 0
  /// Datagrams of a session that were led back into it.
  public var loops: UInt64 = 0
}
