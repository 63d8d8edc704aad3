package import NetworkTypes

/// Everything that a decision may look at, at one moment. Immutable: the same snapshot and the same policy give the same decision.
package struct NetworkSnapshot: Hashable, Sendable {
  /// The link of the best default route, IPv4 or IPv6, that is not one of our tunnels; `nil` without any.
  package var primary: String?
  /// In order of name.
  package var links: [LinkFacts]

  package init(primary: String? = nil, links: [LinkFacts] = []) {
    self.primary = primary
    self.links = links.sorted { $0.name < $1.name }
  }

  /// What rules judge.
  package var primaryLink: LinkFacts? { primary.flatMap { name in links.first { $0.name == name } } }
}

/// The facts of one link of the underlay.
package struct LinkFacts: Hashable, Sendable {
  package var name: String
  package var type: Fact<InterfaceType>
  /// Known and `nil`: not on a Wi-Fi network.
  package var ssid: Fact<SSID?>
  package var addresses: [InterfaceAddress]
  /// Default gateways, best first.
  package var gateways: [IPAddress]
  /// The first gateway's neighbour entry; known and `nil` where there is no gateway.
  package var gatewayMAC: Fact<MACAddress?>
  package var dnsServers: Fact<[IPAddress]>
  /// The connection's domain and its search list.
  package var searchDomains: Fact<[DomainName]>
  package var mtu: UInt32

  package init(
    name: String, type: Fact<InterfaceType> = .known(.other), ssid: Fact<SSID?> = .known(nil), addresses: [InterfaceAddress] = [],
    gateways: [IPAddress] = [], gatewayMAC: Fact<MACAddress?> = .known(nil), dnsServers: Fact<[IPAddress]> = .known([]),
    searchDomains: Fact<[DomainName]> = .known([]), mtu: UInt32 = 1500
  ) {
    self.name = name
    self.type = type
    self.ssid = ssid
    self.addresses = addresses
    self.gateways = gateways
    self.gatewayMAC = gatewayMAC
    self.dnsServers = dnsServers
    self.searchDomains = searchDomains
    self.mtu = mtu
  }
}
