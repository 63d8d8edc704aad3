package import KernelModel
package import KeyMemory
package import NetworkTypes

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
