internal import NetworkTypes
package import ProviderProtocol

/// The settings that a server has sent, from the variables of a script of openconnect(8).
///
/// A server may send anything: invalid values are left out, and listed. Source: the comments of vpnc-script.
package struct ScriptSettings: Equatable, Sendable {
  package private(set) var settings = TunnelSettings()
  /// The variables that could not be read: `CISCO_SPLIT_INC 10.0.0.0/33`.
  package private(set) var unreadable: [String] = []
  private let values: [String: String]

  /// Routes, servers and domains of each kind that are taken; more are left out.
  private static let most = 1024

  package init(_ values: [String: String]) {
    self.values = values
    takeAddresses()
    for (kind, family) in [("CISCO_", IPAddress.Family.v4), ("CISCO_IPV6_", .v6)] {
      let included = routes("\(kind)SPLIT_INC")
      // Without a list everything goes inside, if the tunnel has an address of that family.
      let hasFamily = settings.addresses.contains { $0.address.family == family }
      settings.includedRoutes += included.isEmpty && hasFamily && values["\(kind)SPLIT_INC"] == nil ? [.everything(family)] : included
      settings.excludedRoutes += routes("\(kind)SPLIT_EXC")
    }
    takeNames()
    if let mtu = values["INTERNAL_IP4_MTU"].flatMap({ Int($0) }), (576...65_535).contains(mtu) { settings.mtu = mtu }
    if settings.mtu.map({ $0 < 1280 }) ?? false, settings.addresses.contains(where: { $0.address.family == .v6 }) { settings.mtu = 1280 }
    settings.remoteAddress = values["VPNGATEWAY"].flatMap { IPAddress($0) }
    settings.includedRoutes = Array(settings.includedRoutes.uniqued().prefix(Self.most))
    settings.excludedRoutes = Array(settings.excludedRoutes.uniqued().prefix(Self.most))
  }

  private mutating func takeAddresses() {
    if let text = values["INTERNAL_IP4_ADDRESS"] {
      if let address = InterfaceAddress("\(text)/32") { settings.addresses.append(address) } else { unreadable.append("address \(text)") }
    }
    // The netmask is that of the pool: the servers in it are inside where a list of routes says so.
    if let text = values["INTERNAL_IP6_NETMASK"] ?? values["INTERNAL_IP6_ADDRESS"].map({ "\($0)/128" }) {
      let host = text.split(separator: "/").first.map(String.init) ?? ""
      if let address = InterfaceAddress("\(host)/128") { settings.addresses.append(address) } else { unreadable.append("address \(text)") }
    }
  }

  /// `NAME` is their number; each has an address and a length.
  private mutating func routes(_ name: String) -> [IPPrefix] {
    var found: [IPPrefix] = []
    for i in 0..<max(0, min(values[name].flatMap { Int($0) } ?? 0, Self.most)) {
      let text = "\(values["\(name)_\(i)_ADDR"] ?? "")/\(values["\(name)_\(i)_MASKLEN"] ?? "")"
      if let prefix = IPPrefix(text) { found.append(prefix) } else { unreadable.append("\(name) \(text)") }
    }
    return found
  }

  private mutating func takeNames() {
    var servers: [IPAddress] = []
    for text in words("INTERNAL_IP4_DNS") + words("INTERNAL_IP6_DNS") {
      if let address = IPAddress(text) { servers.append(address) } else { unreadable.append("name server \(text)") }
    }
    let search = domains("CISCO_DEF_DOMAIN")
    let matched = domains("CISCO_SPLIT_DNS")
    guard !servers.isEmpty else { return }
    settings.dns = DNSSettings(
      servers: Array(servers.uniqued().prefix(16)), searchDomains: Array(search.uniqued().prefix(128)),
      matchDomains: Array(matched.uniqued().prefix(128)))
    // The lists of routes need not contain the name servers.
    settings.includedRoutes += servers.uniqued().prefix(16).map { .host($0) }
  }

  private func words(_ name: String) -> [String] { (values[name] ?? "").split { $0 == " " || $0 == "," }.map(String.init) }

  private mutating func domains(_ name: String) -> [DomainName] {
    var found: [DomainName] = []
    for text in words(name) { if let domain = DomainName(text) { found.append(domain) } else { unreadable.append("domain \(text)") } }
    return found
  }
}
