/// The facts that a source has to be asked for, in the words of the snapshot file. Names, addresses, gateways and MTUs come with every look.
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

  /// Of each link, not of the machine.
  package var isOfLink: Bool {
    switch self {
    case .type, .ssid, .bssid, .wifiSecurity, .gatewayMAC, .dnsServers, .searchDomains, .metered: true
    case .captivePortal, .internet, .time, .power: false
    }
  }
}

extension Set<FactKind> {
  package static let all = Set(FactKind.allCases)

  /// What programs of this host know, and the kernel does not.
  package static let ofHostServices: Set = [.dnsServers, .searchDomains, .metered, .captivePortal, .internet]
}
