package import KernelModel
package import KeyMemory
package import NetworkTypes

/// A wg-quick(8) file: the settings of wg(8), and those of the link.
package struct WireGuardQuickConfiguration: Hashable, Sendable {
  package var privateKey: SecretKey
  package var publicKey: WireGuardKey
  package var listenPort: UInt16?
  package var addresses: [InterfaceAddress]
  package var dnsServers: [IPAddress]
  package var searchDomains: [DomainName]
  package var mtu: UInt32?
  /// Whether allowed IPs make routes; false if the file says `Table = off`.
  package var routesFromAllowedIPs: Bool
  package var peers: [WireGuardPeer] { didSet { destinations = Self.destinations(of: peers) } }
  /// The allowed IPs of all peers, each once.
  package private(set) var destinations: PrefixList

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
    destinations = Self.destinations(of: peers)
  }

  private static func destinations(of peers: [WireGuardPeer]) -> PrefixList { PrefixList(peers.flatMap(\.allowedIPs).uniqued()) }

  /// Nothing, in place of a file that was not read: no peer, and no key of anybody's.
  package static let unread = WireGuardQuickConfiguration(privateKey: SecretKey(SecretBytes()), publicKey: .zero)

  /// Whether another port than `listenPort` does: every peer has an endpoint, so that this end can begin all sessions.
  package var mayListenElsewhere: Bool { peers.allSatisfy { $0.endpoint != nil } }

  /// Whether an endpoint is a name.
  package var needsLookup: Bool { peers.contains { $0.endpoint.map { $0.address == nil } ?? false } }
}
