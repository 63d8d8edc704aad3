package import NetworkTypes

/// One tunnel as a policy file describes it.
package struct TunnelPolicy: Hashable, Sendable {
  package var name: String
  package var about: String?
  /// A disabled tunnel is never started, by rules or by hand.
  package var isEnabled: Bool
  package var precedence: TunnelClass
  package var provider: ProviderConfiguration
  package var onDemand: OnDemand
  /// `nil` where the policy says nothing: then what the provider's own configuration asks for holds.
  package var routes: RoutePolicy?
  package var dns: DNSPolicy?
  package var mtu: UInt32?
  package var location: SourceLocation

  package init(
    name: String, about: String? = nil, isEnabled: Bool = true, precedence: TunnelClass = .personal, provider: ProviderConfiguration,
    onDemand: OnDemand = OnDemand(), routes: RoutePolicy? = nil, dns: DNSPolicy? = nil, mtu: UInt32? = nil, location: SourceLocation
  ) {
    self.name = name
    self.about = about
    self.isEnabled = isEnabled
    self.precedence = precedence
    self.provider = provider
    self.onDemand = onDemand
    self.routes = routes
    self.dns = dns
    self.mtu = mtu
    self.location = location
  }
}

/// Who wins a conflict: an enterprise tunnel's routes and name servers come before a personal one's.
package enum TunnelClass: String, Hashable, Sendable, CaseIterable, Comparable {
  case enterprise, personal

  /// Enterprise first.
  package static func < (a: Self, b: Self) -> Bool { a == .enterprise && b == .personal }
}

/// When a tunnel is to be up.
package struct OnDemand: Hashable, Sendable {
  /// The master switch: while it is off the rules never act; the tunnel still obeys `up` and `down`.
  package var isEnabled: Bool
  /// The first that holds decides.
  package var rules: [Rule]
  /// How long an unknown fact may keep the decision pending.
  package var decideWithin: Duration

  package init(isEnabled: Bool = true, rules: [Rule] = [], decideWithin: Duration = .seconds(5)) {
    self.isEnabled = isEnabled
    self.rules = rules
    self.decideWithin = decideWithin
  }
}

/// Which destinations go through the tunnel.
package struct RoutePolicy: Hashable, Sendable {
  package var include: [IPPrefix]
  package var exclude: [IPPrefix]

  package init(include: [IPPrefix] = [], exclude: [IPPrefix] = []) {
    self.include = include
    self.exclude = exclude
  }
}

/// The name servers that a tunnel brings.
package struct DNSPolicy: Hashable, Sendable {
  package var servers: [IPAddress]
  package var searchDomains: [DomainName]
  /// The names that these servers answer for; empty means every name.
  package var matchDomains: [DomainPattern]

  package init(servers: [IPAddress] = [], searchDomains: [DomainName] = [], matchDomains: [DomainPattern] = []) {
    self.servers = servers
    self.searchDomains = searchDomains
    self.matchDomains = matchDomains
  }

  /// Whether only some names are meant for these servers.
  package var isSplit: Bool { !matchDomains.isEmpty && !matchDomains.contains(.any) }
}
