package import KeyMemory
package import NetworkTypes

/// The implementation that runs a WireGuard device.
package enum WireGuardEngine: String, Equatable, Sendable {
  /// The kernel's module.
  case kernel
  /// Our own implementation, `roamward-wireguard`.
  case userspace = "roamward-wireguard"
}

/// A WireGuard device as its engine reports it (`WG_CMD_GET_DEVICE`, or `get=1` of the UAPI).
package struct WireGuardState: Hashable, Sendable {
  package struct Peer: Hashable, Sendable {
    package var publicKey: WireGuardKey
    package var presharedKey: SecretKey?
    package var endpoint: Endpoint?
    package var allowedIPs: [IPPrefix]
    package var persistentKeepalive: UInt16
    /// Seconds since 1970-01-01 UTC; 0: never.
    package var lastHandshake: Int64
    package var receivedBytes: UInt64
    package var sentBytes: UInt64

    package init(
      publicKey: WireGuardKey, presharedKey: SecretKey? = nil, endpoint: Endpoint? = nil, allowedIPs: [IPPrefix] = [],
      persistentKeepalive: UInt16 = 0, lastHandshake: Int64 = 0, receivedBytes: UInt64 = 0, sentBytes: UInt64 = 0
    ) {
      self.publicKey = publicKey
      self.presharedKey = presharedKey
      self.endpoint = endpoint
      self.allowedIPs = allowedIPs
      self.persistentKeepalive = persistentKeepalive
      self.lastHandshake = lastHandshake
      self.receivedBytes = receivedBytes
      self.sentBytes = sentBytes
    }
  }

  package var engine: WireGuardEngine
  /// The public key; `nil` without a private key.
  package var publicKey: WireGuardKey?
  package var listenPort: UInt16
  package var firewallMark: UInt32
  package var peers: [Peer]
  /// The library that encrypts packets, and its version; `nil`: the kernel does, or the engine does not say.
  package var cipher: String?

  package init(
    engine: WireGuardEngine, publicKey: WireGuardKey? = nil, listenPort: UInt16 = 0, firewallMark: UInt32 = 0, peers: [Peer] = []
  ) {
    self.engine = engine
    self.publicKey = publicKey
    self.listenPort = listenPort
    self.firewallMark = firewallMark
    self.peers = peers
  }

  /// The newest handshake with any peer, in seconds since 1970; `nil` before the first.
  package var lastHandshake: Int64? { peers.map(\.lastHandshake).max().flatMap { $0 > 0 ? $0 : nil } }
}
