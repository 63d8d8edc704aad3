public import NetworkTypes

/// What a peer is to be.
public struct PeerSettings: Sendable {
  public var publicKey: PublicKey
  /// Mixed into every handshake; `nil`: none. Both sides need the same.
  public var presharedKey: PresharedKey?
  /// Where handshakes are sent until the peer is heard from elsewhere. `nil`: the peer has to begin, and a known endpoint stays.
  public var endpoint: DatagramAddress?
  /// The inner addresses that are this peer's, all of them: packets to them go to it, and it may send from them. A prefix that another
  /// peer has moves here.
  public var allowedIPs: [IPPrefix]
  /// Seconds of silence after which an empty packet is sent, 1 to 65535; 0 is off.
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

/// What is known of a peer.
public struct PeerStatus: Sendable {
  public let publicKey: PublicKey
  /// Where the last authentic datagram came from, or what was set.
  public let endpoint: DatagramAddress?
  /// On the wall's clock, seconds since 1970; `nil`: no handshake has been completed yet.
  public let lastHandshake: Int64?
  /// Bytes of whole transport and handshake messages, as the kernel counts.
  public let receivedBytes: UInt64
  public let sentBytes: UInt64
  /// In the order of addresses.
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
