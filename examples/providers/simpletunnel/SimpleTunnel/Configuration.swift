public import NetworkTypes
internal import ProviderProtocol

/// The settings that a SimpleTunnel server pushes.
public struct Configuration: Hashable, Sendable {
  /// The client's address; `nil` in the answer to a fetch.
  public var address: String?
  /// Destinations that go into the tunnel. `nil`: all.
  public var routes: [String]?
  public var servers: [String]
  public var searchDomains: [String]

  public init(address: String? = nil, routes: [String]? = nil, servers: [String] = [], searchDomains: [String] = []) {
    self.address = address
    self.routes = routes
    self.servers = servers
    self.searchDomains = searchDomains
  }

  /// `nil` if the property list is none, or has values that are no addresses.
  init?(_ list: PropertyList) {
    guard case .dictionary(let members) = list else { return nil }
    self.init()
    if let v4 = members["IPv4"] {
      guard case .dictionary(let v4) = v4, case .string(let text)? = v4["Address"], let address = IPAddress(text), address.family == .v4
      else {
        return nil
      }
      self.address = address.description
      if let routes = v4["Routes"] {
        guard case .array(let items) = routes, items.count <= ProtocolLimits.routes else { return nil }
        let prefixes = items.compactMap { Self.prefix($0) }
        guard prefixes.count == items.count else { return nil }
        self.routes = prefixes
      }
    }
    if let dns = members["DNS"] {
      guard case .dictionary(let dns) = dns, let servers = Self.texts(dns["Servers"]), let domains = Self.texts(dns["SearchDomains"]),
        servers.allSatisfy({ IPAddress($0) != nil }), domains.allSatisfy({ DomainName($0) != nil })
      else { return nil }
      (self.servers, searchDomains) = (servers, domains)
    }
  }

  private static func texts(_ list: PropertyList?) -> [String]? {
    guard let list else { return [] }
    guard case .array(let items) = list, items.count <= 16 else { return nil }
    let texts = items.compactMap { if case .string(let text) = $0 { text } else { nil } }
    return texts.count == items.count ? texts : nil
  }

  /// `ADDRESS/LENGTH` of an address and its mask.
  private static func prefix(_ list: PropertyList) -> String? {
    guard case .dictionary(let members) = list, case .string(let address)? = members["Address"],
      case .string(let mask)? = members["Netmask"],
      let base = IPAddress(address), let bits = IPAddress(mask)
    else { return nil }
    return prefix(base, mask: bits)?.description
  }

  /// The network of an address and a mask of IPv4. `nil`: the mask has gaps.
  public static func prefix(_ base: IPAddress, mask bits: IPAddress) -> IPPrefix? {
    guard base.family == .v4, bits.family == .v4 else { return nil }
    let inverse = ~UInt32(truncatingIfNeeded: bits.low)
    guard inverse & (inverse &+ 1) == 0 else { return nil }
    return IPPrefix(base, length: inverse.leadingZeroBitCount)
  }

  var propertyList: PropertyList {
    var members: [String: PropertyList] = [:]
    if let address {
      var v4: [String: PropertyList] = ["Address": .string(address), "Netmask": .string("255.255.255.255")]
      v4["Routes"] = routes.map { routes in
        .array(
          routes.compactMap { IPPrefix($0) }.map { prefix in
            let mask = IPAddress(v4: prefix.length == 0 ? 0 : ~UInt32(0) << UInt32(32 - prefix.length))
            return .dictionary(["Address": .string(prefix.address.description), "Netmask": .string(mask.description)])
          })
      }
      members["IPv4"] = .dictionary(v4)
    }
    if !servers.isEmpty || !searchDomains.isEmpty {
      members["DNS"] = .dictionary([
        "Servers": .array(servers.map { .string($0) }), "SearchDomains": .array(searchDomains.map { .string($0) }),
      ])
    }
    return .dictionary(members)
  }

  /// The tunnel's settings. With routes, the search domains are also those that the servers resolve. `nil`: it has no address.
  var settings: TunnelSettings? {
    guard let address = address.flatMap({ InterfaceAddress("\($0)/32") }) else { return nil }
    let domains = searchDomains.compactMap { DomainName($0) }
    let dns = DNSSettings(
      servers: servers.compactMap { IPAddress($0) }, searchDomains: domains, matchDomains: routes == nil ? [] : domains)
    return TunnelSettings(
      addresses: [address], includedRoutes: routes.map { $0.compactMap { IPPrefix($0) } } ?? [.everything(.v4)], overhead: 150,
      dns: dns.servers.isEmpty ? nil : dns)
  }
}
