public import NetworkTypes

/// The settings of a peer.
public struct PeerSettings: Sendable {
  public var publicKey: PublicKey
  /// A preshared key, mixed into every handshake; `nil`: none. Both sides need the same.
  public var presharedKey: PresharedKey?
  /// The destination of handshakes, until the peer roams. `nil`: the peer has to initiate, and a known endpoint stays.
  public var endpoint: DatagramAddress?
  /// All inner addresses of this peer: packets to them go to it, and it may send from them. A prefix of another peer moves here.
  public var allowedIPs: [IPPrefix]
  /// The persistent keepalive interval in seconds, 1 to 65535; 0 is off.
  public var persistentKeepalive: UInt16

  public init(
    publicKey: PublicKey, presharedKey: PresharedKey? = nil, endpoint: DatagramAddress? = nil, allowedIPs: [IPPrefix],
    persistentKeepalive: UInt16 = 0
  ) {
    self.publicKey = publicKey
    self.presharedKey = presharedKey
    self.endpoint = endpoint
    self.allowedIPs = allowedIPs
    self.persistentKeepalive = persistentKeepalive
  }

  var change: PeerChange {
    var change = PeerChange(publicKey)
    change.presharedKey = .some(presharedKey?.secret)
    change.endpoint = endpoint
    change.persistentKeepalive = persistentKeepalive
    change.replacesAllowedIPs = true
    change.allowedIPs = allowedIPs
    return change
  }
}

/// The state of a peer.
public struct PeerStatus: Sendable {
  public let publicKey: PublicKey
  /// The source of the last authentic datagram, or the configured endpoint.
  public let endpoint: DatagramAddress?
  /// Wall-clock time in seconds since 1970; `nil`: no handshake has been completed yet.
  public let lastHandshake: Int64?
  /// Bytes of whole transport and handshake messages, as the kernel counts them.
  public let receivedBytes: UInt64
  public let sentBytes: UInt64
  /// Sorted by address.
  public let allowedIPs: [IPPrefix]

  init(_ state: PeerState) {
    publicKey = state.publicKey
    endpoint = state.endpoint
    lastHandshake = state.lastHandshakeSeconds == 0 ? nil : state.lastHandshakeSeconds
    receivedBytes = state.receivedBytes
    sentBytes = state.sentBytes
    allowedIPs = state.allowedIPs
  }
}
