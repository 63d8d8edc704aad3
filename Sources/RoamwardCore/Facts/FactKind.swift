/// The facts that a source has to be asked for, in the words of the snapshot file. Names, addresses, gateways and MTUs come with every look.
package enum FactKind: String, Hashable, Sendable, CaseIterable {
  case type, ssid, bssid
  case wifiSecurity = "wifi-security"
  case gatewayMAC = "gateway-mac"
  case dnsServers = "dns-servers"
  case searchDomains = "search-domains"
  case metered
  case captivePortal = "captive-portal"
  case internet, time, power

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
