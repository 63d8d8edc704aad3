internal import JSON
internal import NetworkTypes
package import RoamwardCore

extension StatusReport {
  /// The settings that a tunnel's provider has brought, and that its policy allows.
  package struct Brought: Hashable, Sendable, Codable {
    package var addresses: [String]
    package var included: [String]
    package var excluded: [String]
    package var mtu: UInt32?
    package var overhead: UInt32?
    package var servers: [String]
    package var searchDomains: [String]
    package var matchDomains: [String]
    package var gateways: [String]

    package init(_ settings: BroughtSettings) {
      addresses = settings.addresses.map(\.description)
      included = settings.included.map(\.description)
      excluded = settings.excluded.map(\.description)
      switch settings.mtu {
      case .fixed(let bytes): mtu = bytes
      case .overhead(let bytes): overhead = bytes
      case nil: break
      }
      servers = settings.dns?.servers.map(\.description) ?? []
      searchDomains = settings.dns?.searchDomains.map(\.text) ?? []
      matchDomains = settings.dns?.matchDomains.map(\.description) ?? []
      gateways = settings.gateways.map(\.description)
    }

    /// The same as values.
    package var settings: BroughtSettings {
      var settings = BroughtSettings()
      settings.addresses = addresses.compactMap { InterfaceAddress($0) }
      settings.included = included.compactMap { IPPrefix($0) }
      settings.excluded = excluded.compactMap { IPPrefix($0) }
      settings.mtu = mtu.map { .fixed($0) } ?? overhead.map { .overhead($0) }
      if !servers.isEmpty {
        settings.dns = DNSPolicy(
          servers: servers.compactMap { IPAddress($0) }, searchDomains: searchDomains.compactMap { DomainName($0) },
          matchDomains: matchDomains.compactMap { DomainPattern($0) })
      }
      settings.gateways = gateways.compactMap { IPAddress($0) }
      return settings
    }

    private enum CodingKeys: String, DescribedKey {
      case addresses, included, excluded, mtu, overhead, servers
      case searchDomains = "search-domains"
      case matchDomains = "match-domains"
      case gateways

      var about: String {
        switch self {
        case .addresses: "Addresses of the link."
        case .included: "Destinations that go into the tunnel."
        case .excluded: "Destinations that stay outside."
        case .mtu: "The MTU in bytes; null: by the underlay and the overhead."
        case .overhead: "Bytes to subtract from the underlay's MTU; null: not said."
        case .servers: "Name servers."
        case .searchDomains: "Domains that complete short names."
        case .matchDomains: "Domains whose names the servers resolve; none: every name."
        case .gateways: "Addresses outside to which it has sockets of the agent."
        }
      }
    }
  }
}
