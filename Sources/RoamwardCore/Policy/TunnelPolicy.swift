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
  package var mtu: MTUPolicy?
  package var proxy: ProxyPolicy?
  package var killSwitch: KillSwitch
  /// Everything goes through the tunnel, whatever the routes say.
  package var includesAllNetworks: Bool
  package var location: SourceLocation

  package init(
    name: String, about: String? = nil, isEnabled: Bool = true, precedence: TunnelClass = .personal, provider: ProviderConfiguration,
    onDemand: OnDemand = OnDemand(), routes: RoutePolicy? = nil, dns: DNSPolicy? = nil, mtu: MTUPolicy? = nil, proxy: ProxyPolicy? = nil,
    killSwitch: KillSwitch = .off, includesAllNetworks: Bool = false, location: SourceLocation
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
    self.proxy = proxy
    self.killSwitch = killSwitch
    self.includesAllNetworks = includesAllNetworks
    self.location = location
  }
}

/// Who wins a conflict: an enterprise tunnel's routes and name servers come before a personal one's. Of enterprise tunnels
/// one runs at a time (`Exclusion`).
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
  package var timing: Timing

  package init(isEnabled: Bool = true, rules: [Rule] = [], timing: Timing = Timing()) {
    self.isEnabled = isEnabled
    self.rules = rules
    self.timing = timing
  }
}

/// How fast decisions are acted on: protect at once, release late.
package struct Timing: Hashable, Sendable {
  /// How long a change of the network is left to settle; `nil`: the agent's own setting.
  package var settle: Duration?
  /// For how long rules have to want the tunnel down before it goes. Bringing it up never waits.
  package var releaseDelay: Duration
  /// For how long, from its start, a tunnel stays up at least whatever the rules say.
  package var minimumDwell: Duration
  /// How long an unknown fact may keep the decision pending.
  package var decideWithin: Duration
  /// A tunnel that a look-up started goes after this long without traffic; `nil`: never.
  package var idle: Duration?

  package init(
    settle: Duration? = nil, releaseDelay: Duration = .seconds(5), minimumDwell: Duration = .zero, decideWithin: Duration = .seconds(5),
    idle: Duration? = nil
  ) {
    self.minimumDwell = minimumDwell
    self.settle = settle
    self.releaseDelay = releaseDelay
    self.decideWithin = decideWithin
    self.idle = idle
  }
}

/// Which destinations go through the tunnel.
package struct RoutePolicy: Hashable, Sendable {
  package var include: [IPPrefix]
  package var exclude: [IPPrefix]
  /// `nil`: allow, or block with `include-all-networks`.
  package var lan: LANPolicy?
  /// `lan: allow` holds on these named networks alone; empty: on every one.
  package var lanNetworks: [String]
  package var onOverlap: OverlapPolicy
  /// Nothing that the network itself says pulls out what is included: only what the policy names stays outside (Apple's `enforceRoutes`).
  package var isEnforced: Bool

  package init(
    include: [IPPrefix] = [], exclude: [IPPrefix] = [], lan: LANPolicy? = nil, lanNetworks: [String] = [],
    onOverlap: OverlapPolicy = .preferTunnel, isEnforced: Bool = false
  ) {
    self.include = include
    self.exclude = exclude
    self.lan = lan
    self.lanNetworks = lanNetworks
    self.onOverlap = onOverlap
    self.isEnforced = isEnforced
  }
}

/// What becomes of the prefixes that the machine is attached to, under a tunnel that takes everything.
package enum LANPolicy: String, Hashable, Sendable, CaseIterable {
  /// They stay outside where they are private and of a usual size.
  case allow
  /// They go into the tunnel with everything else.
  case block
}

/// What becomes of an attached prefix that the policy names, or that lies in one that it names.
package enum OverlapPolicy: String, Hashable, Sendable, CaseIterable {
  /// It stays outside, unless the tunnel has a kill switch or enforces its routes.
  case preferLocal = "prefer-local"
  /// It goes into the tunnel.
  case preferTunnel = "prefer-tunnel"
  /// The tunnel is not brought up.
  case refuse
}

/// What programs are told to reach the web through while the tunnel is up.
package struct ProxyPolicy: Hashable, Sendable {
  /// The URL of a proxy auto-configuration script.
  package var pac: String?
  package var http: String?
  package var https: String?
  /// Hosts and domains that are reached without.
  package var exclude: [String]

  package init(pac: String? = nil, http: String? = nil, https: String? = nil, exclude: [String] = []) {
    self.pac = pac
    self.http = http
    self.https = https
    self.exclude = exclude
  }
}

extension TunnelPolicy {
  /// What is held back by the firewall. Who sends everything through the tunnel wants nothing outside it.
  package var guarding: KillSwitch { includesAllNetworks && killSwitch == .off ? .on : killSwitch }
}

/// Whether what the tunnel includes may flow outside it while it is not up.
package enum KillSwitch: String, Hashable, Sendable, CaseIterable {
  case off
  /// Not while the rules, or a person, want the tunnel.
  case on
  /// Not while the tunnel is enabled.
  case always
}

/// The tunnel's MTU: a size, or what is left of the link below.
package enum MTUPolicy: Hashable, Sendable {
  /// Bytes.
  case fixed(UInt32)
  /// The link's MTU minus these bytes.
  case overhead(UInt32)
}

/// The name servers that a tunnel brings.
package struct DNSPolicy: Hashable, Sendable {
  package var servers: [IPAddress]
  package var searchDomains: [DomainName]
  /// The names that these servers answer for; empty means every name.
  package var matchDomains: [DomainPattern]
  package var whenDown: NamesWhenDown

  package init(
    servers: [IPAddress] = [], searchDomains: [DomainName] = [], matchDomains: [DomainPattern] = [], whenDown: NamesWhenDown = .ask
  ) {
    self.servers = servers
    self.searchDomains = searchDomains
    self.matchDomains = matchDomains
    self.whenDown = whenDown
  }

  /// Whether only some names are meant for these servers.
  package var isSplit: Bool { !matchDomains.isEmpty && !matchDomains.contains(.any) }
}

/// What becomes of the names that are the tunnel's while it is not up.
package enum NamesWhenDown: String, Hashable, Sendable, CaseIterable {
  /// They are asked where all others are.
  case ask
  /// Nobody is asked, but where a rule says `disconnect`: that place needs no tunnel for them.
  case refuse
}
