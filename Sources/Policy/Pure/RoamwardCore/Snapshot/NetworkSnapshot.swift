package import KernelModel
package import NetworkTypes

/// All network facts at one moment: the input of a decision. Immutable: the same snapshot and the same policy give the same decision.
package struct NetworkSnapshot: Hashable, Sendable {
  /// The link of the best default route, IPv4 or IPv6, that is not one of our tunnels; `nil` without any.
  package var primary: String?
  /// The links, in order of name.
  package var links: [LinkFacts]
  package var captivePortal: Fact<Bool>
  package var internet: Fact<Bool>
  /// The result of each probe (did the server give the expected answer), by the probe's name, or by URL for every probe of that URL.
  package var probes: [String: Fact<Bool>]
  /// The result of all other probes: unknown on a live machine, not answered in a saved or invented network.
  package var otherProbes: Fact<Bool>
  /// Results from the last visit to this network, by name, for probes without an answer yet. Any attacker can imitate a network, so a
  /// remembered result may bring a tunnel up early and never takes one down.
  package var rememberedProbes: [String: Bool] = [:]
  /// The URL of this network's captive portal API, if DHCP or a router advertisement announced one (RFC 8910).
  package var portalAPI: String?
  /// The users who are logged in, ascending.
  package var users: Fact<[UserName]> = .unknown(reason: "the network file names no users")
  package var time: Fact<LocalTime>
  package var power: Fact<PowerSource>
  /// Unknown facts of the machine that no source of this host can provide; decisions do not wait for them.
  package var unavailable: Set<FactKind> = []

  package init(
    primary: String? = nil, links: [LinkFacts] = [], captivePortal: Fact<Bool> = .known(false), internet: Fact<Bool> = .known(true),
    probes: [String: Fact<Bool>] = [:], otherProbes: Fact<Bool> = .known(false),
    time: Fact<LocalTime> = .unknown(reason: "the network file gives no time"), power: Fact<PowerSource> = .known(.ac)
  ) {
    self.primary = primary
    self.links = links.sorted { $0.name < $1.name }
    self.captivePortal = captivePortal
    self.internet = internet
    self.probes = probes
    self.otherProbes = otherProbes
    self.time = time
    self.power = power
  }

  /// Whether the snapshots differ at most in their time.
  package func isSameButForTime(as other: NetworkSnapshot) -> Bool {
    var other = other
    other.time = time
    return self == other
  }

  /// The primary link, on which rules are evaluated.
  package var primaryLink: LinkFacts? { primary.flatMap { name in links.first { $0.name == name } } }
}

/// The facts of one link of the underlay.
package struct LinkFacts: Hashable, Sendable {
  package var name: String
  package var type: Fact<InterfaceType>
  /// The SSID; known and `nil` if the link is not on a Wi-Fi network.
  package var ssid: Fact<SSID?>
  /// The access point's hardware address.
  package var bssid: Fact<MACAddress?>
  package var wifiSecurity: Fact<WiFiSecurity?>
  package var metered: Fact<Bool>
  package var addresses: [InterfaceAddress]
  /// Default gateways, best first.
  package var gateways: [IPAddress]
  /// The hardware address of the first gateway, from its neighbour entry; known and `nil` without a gateway.
  package var gatewayMAC: Fact<MACAddress?>
  package var dnsServers: Fact<[IPAddress]>
  /// The connection's domain and its search list.
  package var searchDomains: Fact<[DomainName]>
  package var mtu: UInt32
  /// The device's identity; `nil` in a saved or invented network.
  package var device: DeviceIdentity?
  /// The source addresses that the default routes name (`src` of ip-route(8)), best route first.
  package var preferredSources: [IPAddress] = []
  /// Unknown facts that no source of this host can provide; decisions do not wait for them.
  package var unavailable: Set<FactKind> = []

  package init(
    name: String, type: Fact<InterfaceType> = .known(.other), ssid: Fact<SSID?> = .known(nil),
    bssid: Fact<MACAddress?> = .known(nil), wifiSecurity: Fact<WiFiSecurity?> = .known(nil), metered: Fact<Bool> = .known(false),
    addresses: [InterfaceAddress] = [],
    gateways: [IPAddress] = [], gatewayMAC: Fact<MACAddress?> = .known(nil), dnsServers: Fact<[IPAddress]> = .known([]),
    searchDomains: Fact<[DomainName]> = .known([]), mtu: UInt32 = 1500,
    device: DeviceIdentity? = nil
  ) {
    self.name = name
    self.type = type
    self.ssid = ssid
    self.bssid = bssid
    self.wifiSecurity = wifiSecurity
    self.metered = metered
    self.addresses = addresses
    self.gateways = gateways
    self.gatewayMAC = gatewayMAC
    self.dnsServers = dnsServers
    self.searchDomains = searchDomains
    self.mtu = mtu
    self.device = device
  }
}

/// The facts that require a query to a source, as the snapshot file names them. Names, addresses, gateways and MTUs come with every
/// observation. `FactTable` declares them.
package enum FactKind: String, Equatable, Sendable, CaseIterable {
  /// The link's type (`InterfaceType`).
  case type
  /// The name of the Wi-Fi network, 0 to 32 bytes.
  case ssid
  /// The hardware address of the access point.
  case bssid
  /// The security of the Wi-Fi network.
  case wifiSecurity = "wifi-security"
  /// The hardware addresses of the default gateways.
  case gatewayMAC = "gateway-mac"
  /// The name servers that the network announced.
  case dnsServers = "dns-servers"
  /// The search domains that the network announced.
  case searchDomains = "search-domains"
  /// Whether the network is metered.
  case metered
  /// Whether the machine is behind a captive portal.
  case captivePortal = "captive-portal"
  /// Whether the internet is reachable.
  case internet
  /// The users who are logged in.
  case users
  /// The local time of day and day of the week.
  case time
  /// Whether the machine runs on battery.
  case power
}
