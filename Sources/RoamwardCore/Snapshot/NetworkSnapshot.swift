package import KernelModel
package import NetworkTypes

/// Everything that a decision may look at, at one moment. Immutable: the same snapshot and the same policy give the same decision.
package struct NetworkSnapshot: Hashable, Sendable {
  /// The link of the best default route, IPv4 or IPv6, that is not one of our tunnels; `nil` without any.
  package var primary: String?
  /// In order of name.
  package var links: [LinkFacts]
  package var captivePortal: Fact<Bool>
  package var internet: Fact<Bool>
  /// Whether a probe was answered as it should be, by the probe's name, or by URL for every probe of it.
  package var probes: [String: Fact<Bool>]
  /// What holds of a probe that is not among them: unknown on a live machine, not answered in a saved or invented network.
  package var otherProbes: Fact<Bool>
  /// By name, what probes without an answer yet were answered when the machine was last on this network. Anybody may imitate a network:
  /// what is remembered may bring a tunnel up before its time, and never takes one down.
  package var rememberedProbes: [String: Bool] = [:]
  /// The API of this network's captive portal, where DHCP or a router advertisement has named it (RFC 8910).
  package var portalAPI: String?
  package var time: Fact<LocalTime>
  package var power: Fact<PowerSource>
  /// Facts of the machine that are unknown, and that nothing here can give: nobody waits for them.
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

  /// Whether only the clock tells them apart.
  package func isSameButForTime(as other: NetworkSnapshot) -> Bool {
    var other = other
    other.time = time
    return self == other
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
  /// The access point.
  package var bssid: Fact<MACAddress?>
  package var wifiSecurity: Fact<WiFiSecurity?>
  package var metered: Fact<Bool>
  package var addresses: [InterfaceAddress]
  /// Default gateways, best first.
  package var gateways: [IPAddress]
  /// The first gateway's neighbour entry; known and `nil` where there is no gateway.
  package var gatewayMAC: Fact<MACAddress?>
  package var dnsServers: Fact<[IPAddress]>
  /// The connection's domain and its search list.
  package var searchDomains: Fact<[DomainName]>
  package var mtu: UInt32
  /// Which device it is; `nil` in a network that was saved or invented.
  package var device: DeviceIdentity?
  /// The source addresses that the default routes name (`src` of ip-route(8)), best route first.
  package var preferredSources: [IPAddress] = []
  /// Facts that are unknown, and that no source of this host can give: nobody waits for them.
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

/// The facts that a source has to be asked for, in the words of the snapshot file. Names, addresses, gateways and MTUs come with every
/// look. `FactTable` declares them.
package enum FactKind: String, Hashable, Sendable, CaseIterable {
  /// The link's type (`InterfaceType`).
  case type
  /// The name of the Wi-Fi network, 0 to 32 bytes.
  case ssid
  /// The hardware address of the access point.
  case bssid
  /// How the Wi-Fi network is protected.
  case wifiSecurity = "wifi-security"
  /// The hardware addresses of the default gateways.
  case gatewayMAC = "gateway-mac"
  /// The name servers that the network has given.
  case dnsServers = "dns-servers"
  /// The search domains that the network has given.
  case searchDomains = "search-domains"
  /// Whether the network is metered.
  case metered
  /// Whether a captive portal holds the machine.
  case captivePortal = "captive-portal"
  /// Whether the internet is reached.
  case internet
  /// The time of day and the day of the week, here.
  case time
  /// Whether the machine runs on battery.
  case power
}
