package import NetworkTypes

/// The way of packets to the addresses of a name (`include-domains`, `exclude-domains`).
package enum NameWay: String, Hashable, Sendable, CaseIterable {
  /// Through the tunnel.
  case include
  /// Outside the tunnel.
  case exclude
}

extension RoutePolicy {
  /// All domains whose names have a way of their own.
  package var routedDomains: [DomainName] { (includeDomains + excludeDomains).uniqued() }

  /// The way of a name, by the longest of its domains; of equal ones, it stays outside. `nil`: it has none of its own.
  package func way(of name: DomainName) -> NameWay? {
    func longest(_ domains: [DomainName]) -> Int? { domains.lazy.filter(name.isWithin).map(\.text.utf8.count).max() }
    switch (longest(includeDomains), longest(excludeDomains)) {
    case (nil, nil): return nil
    case (let included?, let excluded?): return included > excluded ? .include : .exclude
    case (_?, nil): return .include
    case (nil, _?): return .exclude
    }
  }
}

extension TunnelPolicy {
  /// Whether answers for names change its routes.
  package var routesByName: Bool { routes.map { !$0.includeDomains.isEmpty || !$0.excludeDomains.isEmpty } ?? false }
}
