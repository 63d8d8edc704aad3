internal import JSON
package import NetworkTypes
package import RoamwardCore

/// The routes of a tunnel that follow from answers for the names of its policy (`include-domains`, `exclude-domains`).
package struct NamedRoutesReport: Hashable, Sendable, Codable {
  /// An address with such a route.
  package struct Address: Hashable, Sendable, Codable {
    package var address: String
    package var way: NameWay
    /// The name that was asked for; `nil`: an agent before this one knew it, or the reader may not see what others look up.
    package var name: String?
    /// A name outside the policy's domains that has the address too; `nil`: none is known, or as `name`.
    package var other: String?
    package var isShared: Bool
    /// The end of the route, unless a connection needs it.
    package var until: Timestamp

    package init(_ address: IPAddress, _ entry: RoutesByName.Entry, until: Timestamp) {
      self.address = address.description
      way = entry.way
      name = entry.name?.text
      other = entry.other
      isShared = entry.other != nil
      self.until = until
    }

    /// For people: `203.0.113.7 of git.corp.example: www.other.example has it and goes through the tunnel too`.
    package var shareText: String {
      let end = way == .include ? "goes through the tunnel too" : "stays outside too"
      return "\(address) of \(name ?? "its names"): \(other ?? "another name") has it and \(end)"
    }

    private enum CodingKeys: String, DescribedKey {
      case address, way
      case name = "query"
      case other
      case isShared = "shared"
      case until

      var about: String {
        switch self {
        case .address: "The address."
        case .way: "include: through the tunnel; exclude: outside of it."
        case .name: "The name that was asked for last; null: not known, or you may not see what others look up."
        case .other: "A name outside the policy's domains that has the address too; null: none is known, or you may not see it."
        case .isShared: "Whether such a name is known: its packets take the same way."
        case .until: "Time at which the route ends, unless a connection needs it."
        }
      }
    }
  }

  package var includeDomains: [String]
  package var excludeDomains: [String]
  /// The addresses, at most `StatusReport.Tunnel.longestList`; those with a name of others first.
  package var addresses: [Address]
  package var count: Int
  /// The number of addresses that made room for others, since the agent's start.
  package var evicted: Int
  /// The reason why the last address got no route that got none, for people; `nil`: all have one.
  package var refused: String?

  package init(
    _ routes: RoutePolicy, addresses: [Address], count: Int, evicted: Int = 0, refused: String? = nil
  ) {
    includeDomains = routes.includeDomains.map(\.text)
    excludeDomains = routes.excludeDomains.map(\.text)
    self.addresses = addresses
    self.count = count
    self.evicted = evicted
    self.refused = refused
  }

  /// For users who may not read what others look up.
  package var withoutNames: NamedRoutesReport {
    var report = self
    for i in report.addresses.indices { (report.addresses[i].name, report.addresses[i].other) = (nil, nil) }
    report.refused = nil
    return report
  }

  private enum CodingKeys: String, DescribedKey {
    case includeDomains = "include-domains"
    case excludeDomains = "exclude-domains"
    case addresses, count, evicted, refused

    var about: String {
      switch self {
      case .includeDomains: "The domains whose names' addresses go through the tunnel."
      case .excludeDomains: "The domains whose names' addresses stay outside."
      case .addresses: "The addresses with such a route, the first 100."
      case .count: "Their number; at most 1,024."
      case .evicted: "The number of addresses that made room for others since the agent's start."
      case .refused: "The last address that got no route, and why; null: none, or you may not see what others look up."
      }
    }
  }
}
