package import KeyMemory
package import NetworkTypes

/// The public key of a peer or of a device, of Curve25519: 32 bytes. Private and preshared keys are a `SecretKey`.
package struct WireGuardKey: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package let bytes: [UInt8]

  package init?(bytes: [UInt8]) {
    guard bytes.count == 32 else { return nil }
    self.bytes = bytes
  }

  package var description: String { "(hidden)" }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

extension SecretKey {
  /// The public key of this private key; `nil` where there is none.
  package var publicKey: WireGuardKey? { publicBytes.flatMap { WireGuardKey(bytes: $0) } }
}

/// One peer of a WireGuard device, in the terms of wg(8).
package struct WireGuardPeer: Hashable, Sendable {
  package var publicKey: WireGuardKey
  package var presharedKey: SecretKey?
  package var endpoint: Endpoint?
  package var allowedIPs: [IPPrefix]
  /// Seconds between keepalives; 0 is off.
  package var persistentKeepalive: UInt16

  package init(
    publicKey: WireGuardKey, presharedKey: SecretKey? = nil, endpoint: Endpoint? = nil, allowedIPs: [IPPrefix] = [],
    persistentKeepalive: UInt16 = 0
  ) {
    self.publicKey = publicKey
    self.presharedKey = presharedKey
    self.endpoint = endpoint
    self.allowedIPs = allowedIPs
    self.persistentKeepalive = persistentKeepalive
  }
}

/// A wg-quick(8) file: what wg(8) knows, and the settings of the link around it.
package struct WireGuardQuickConfiguration: Hashable, Sendable {
  package var privateKey: SecretKey
  package var publicKey: WireGuardKey
  package var listenPort: UInt16?
  package var addresses: [InterfaceAddress]
  package var dnsServers: [IPAddress]
  package var searchDomains: [DomainName]
  package var mtu: UInt32?
  /// False where the file says `Table = off`: then allowed IPs make no routes.
  package var routesFromAllowedIPs: Bool
  package var peers: [WireGuardPeer]

  package init(
    privateKey: SecretKey, publicKey: WireGuardKey, listenPort: UInt16? = nil, addresses: [InterfaceAddress] = [],
    dnsServers: [IPAddress] = [], searchDomains: [DomainName] = [], mtu: UInt32? = nil, routesFromAllowedIPs: Bool = true,
    peers: [WireGuardPeer] = []
  ) {
    self.privateKey = privateKey
    self.publicKey = publicKey
    self.listenPort = listenPort
    self.addresses = addresses
    self.dnsServers = dnsServers
    self.searchDomains = searchDomains
    self.mtu = mtu
    self.routesFromAllowedIPs = routesFromAllowedIPs
    self.peers = peers
  }

  /// Whether an endpoint is a name.
  package var needsLookup: Bool { peers.contains { $0.endpoint.map { $0.address == nil } ?? false } }
}
