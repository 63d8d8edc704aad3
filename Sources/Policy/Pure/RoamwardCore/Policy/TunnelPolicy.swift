package import KernelModel
package import NetworkTypes

/// One tunnel as a policy file describes it.
///
/// A value of one reference: a pass copies the policy of each tunnel many times, and changes none.
package struct TunnelPolicy: Sendable {
  private var contents: Contents

  package var name: String {
    _read { yield contents.value.name }
    _modify { yield &own.value.name }
  }
  package var about: String? {
    _read { yield contents.value.about }
    _modify { yield &own.value.about }
  }
  /// Whether the tunnel may start. A disabled tunnel is never started, by rules or by hand.
  package var isEnabled: Bool {
    get { contents.value.availability.mayStart }
    set { own.value.availability.isEnabled = newValue }
  }
  package var availability: TunnelAvailability {
    _read { yield contents.value.availability }
    _modify { yield &own.value.availability }
  }
  package var precedence: TunnelClass {
    _read { yield contents.value.precedence }
    _modify { yield &own.value.precedence }
  }
  package var provider: ProviderConfiguration {
    _read { yield contents.value.provider }
    _modify { yield &own.value.provider }
  }
  /// The tunnel that carries this one's own packets; `nil`: they leave outside of every tunnel.
  package var through: OuterTunnel? {
    _read { yield contents.value.through }
    _modify { yield &own.value.through }
  }
  package var onDemand: OnDemand {
    _read { yield contents.value.onDemand }
    _modify { yield &own.value.onDemand }
  }
  /// The policy's routes; `nil` if the policy has none: then the routes of the provider's own configuration apply.
  package var routes: RoutePolicy? {
    _read { yield contents.value.routes }
    _modify { yield &own.value.routes }
  }
  /// The programs that it is for, or not for; `nil`: the policy names none.
  package var apps: AppsPolicy? {
    _read { yield contents.value.apps }
    _modify { yield &own.value.apps }
  }
  package var dns: DNSPolicy? {
    _read { yield contents.value.dns }
    _modify { yield &own.value.dns }
  }
  package var mtu: MTUPolicy? {
    _read { yield contents.value.mtu }
    _modify { yield &own.value.mtu }
  }
  package var proxy: ProxyPolicy? {
    _read { yield contents.value.proxy }
    _modify { yield &own.value.proxy }
  }
  package var killSwitch: KillSwitch {
    _read { yield contents.value.killSwitch }
    _modify { yield &own.value.killSwitch }
  }
  /// Whether all traffic goes through the tunnel; overrides the routes.
  package var includesAllNetworks: Bool {
    _read { yield contents.value.includesAllNetworks }
    _modify { yield &own.value.includesAllNetworks }
  }
  /// Whether the tunnel goes down before the machine sleeps.
  package var disconnectsOnSleep: Bool {
    _read { yield contents.value.disconnectsOnSleep }
    _modify { yield &own.value.disconnectsOnSleep }
  }
  package var location: SourceLocation {
    _read { yield contents.value.location }
    _modify { yield &own.value.location }
  }

  /// The contents, copied first if another value has them too.
  private var own: Contents {
    mutating get {
      if !isKnownUniquelyReferenced(&contents) { contents = Contents(contents.value) }
      return contents
    }
  }

  package init(
    name: String, about: String? = nil, isEnabled: Bool = true, precedence: TunnelClass = .personal, provider: ProviderConfiguration,
    through: OuterTunnel? = nil, onDemand: OnDemand = OnDemand(), routes: RoutePolicy? = nil, dns: DNSPolicy? = nil, mtu: MTUPolicy? = nil,
    proxy: ProxyPolicy? = nil, apps: AppsPolicy? = nil, owner: UserName? = nil,
    killSwitch: KillSwitch = .off, includesAllNetworks: Bool = false, disconnectsOnSleep: Bool = false, location: SourceLocation
  ) {
    contents = Contents(
      TunnelContents(
        name: name, about: about, availability: TunnelAvailability(isEnabled: isEnabled, owner: owner), precedence: precedence,
        provider: provider, through: through, onDemand: onDemand,
        routes: routes, apps: apps, dns: dns, mtu: mtu, proxy: proxy, killSwitch: killSwitch, includesAllNetworks: includesAllNetworks,
        disconnectsOnSleep: disconnectsOnSleep, location: location))
  }
}

extension TunnelPolicy: Hashable {
  package static func == (a: TunnelPolicy, b: TunnelPolicy) -> Bool { a.contents === b.contents || a.contents.value == b.contents.value }

  package func hash(into hasher: inout Hasher) { hasher.combine(contents.value) }
}

/// All of a policy, shared by its copies.
// Sound: it changes only while one value alone has it.
private final class Contents: @unchecked Sendable {
  var value: TunnelContents

  init(_ value: TunnelContents) { self.value = value }
}

/// The properties of a policy, in the order of `TunnelPolicy`.
private struct TunnelContents: Hashable {
  var name: String
  var about: String?
  var availability: TunnelAvailability
  var precedence: TunnelClass
  var provider: ProviderConfiguration
  var through: OuterTunnel?
  var onDemand: OnDemand
  var routes: RoutePolicy?
  var apps: AppsPolicy?
  var dns: DNSPolicy?
  var mtu: MTUPolicy?
  var proxy: ProxyPolicy?
  var killSwitch: KillSwitch
  var includesAllNetworks: Bool
  var disconnectsOnSleep: Bool
  var location: SourceLocation
}

/// The tunnel that carries another one's own packets (`through:`).
package struct OuterTunnel: Hashable, Sendable {
  package var name: String
  /// The place of the key.
  package var location: SourceLocation

  package init(_ name: String, location: SourceLocation) {
    self.name = name
    self.location = location
  }
}

/// The precedence of a tunnel: routes and name servers of an enterprise tunnel win over those of a personal one. Only one enterprise tunnel
/// runs at a time (`Exclusion`).
package enum TunnelClass: String, Equatable, Sendable, CaseIterable, Comparable {
  /// One at a time, before personal ones.
  case enterprise
  /// Beside others.
  case personal

  /// Orders enterprise before personal.
  package static func < (a: Self, b: Self) -> Bool { a == .enterprise && b == .personal }
}

/// The on-demand rules of a tunnel.
package struct OnDemand: Hashable, Sendable {
  /// The master switch: while it is off, the rules have no effect; the tunnel still obeys `up` and `down`.
  package var isEnabled: Bool
  /// The rules, in order; the first rule that matches decides.
  package var rules: [Rule] { didSet { sieve = RuleSieve(rules) } }
  package var timing: Timing
  /// The rules, to exclude those that certainly do not match.
  package private(set) var sieve: RuleSieve

  package init(isEnabled: Bool = true, rules: [Rule] = [], timing: Timing = Timing()) {
    self.isEnabled = isEnabled
    self.rules = rules
    self.timing = timing
    sieve = RuleSieve(rules)
  }
}

/// The delays between a decision and its effect: connect at once, disconnect late.
package struct Timing: Hashable, Sendable {
  /// The time for which a changed network has to stay the same before it is used; `nil`: the agent's own setting.
  package var settle: Duration?
  /// The time for which the rules have to want the tunnel down before it disconnects. Connecting does not wait for it.
  package var releaseDelay: Duration
  /// The minimum time that a tunnel stays up after its start, whatever the rules decide.
  package var minimumDwell: Duration
  /// The longest time that an unknown fact may keep the decision pending.
  package var decideWithin: Duration
  /// The time without data after which a tunnel that a rule armed discards its session and is armed again; `nil`: `standardIdle`.
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

/// The destinations that go through the tunnel.
package struct RoutePolicy: Hashable, Sendable {
  package var include: PrefixList
  package var exclude: PrefixList
  /// The file that the last prefixes of `include` come from.
  package var includeFile: PrefixFile?
  /// The file that the last prefixes of `exclude` come from.
  package var excludeFile: PrefixFile?
  /// The LAN policy; `nil`: allow, or block with `include-all-networks`.
  package var lan: LANPolicy?
  /// The named networks on which `lan: allow` applies; empty: all networks.
  package var lanNetworks: [String]
  package var onOverlap: OverlapPolicy
  /// Whether only the policy can exclude destinations; announcements of the network cannot (Apple's `enforceRoutes`).
  package var isEnforced: Bool
  /// Whether connections that arrive by a link of the network are answered by the network, though a full tunnel would take the answers.
  package var answersByArrival = false
  /// Domains whose names' addresses go through the tunnel, as long as programs may keep the answers or have connections to them.
  package var includeDomains: [DomainName] = []
  /// Domains whose names' addresses stay outside the tunnel, likewise.
  package var excludeDomains: [DomainName] = []

  package init(
    include: PrefixList = [], exclude: PrefixList = [], lan: LANPolicy? = nil, lanNetworks: [String] = [],
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

/// A list of prefixes in a file of its own.
package struct PrefixFile: Hashable, Sendable {
  package let path: String
  package let prefixes: [IPPrefix]

  package init(path: String, prefixes: [IPPrefix]) {
    self.path = path
    self.prefixes = prefixes
  }
}

/// The treatment of attached prefixes under a tunnel that includes everything.
package enum LANPolicy: String, Equatable, Sendable, CaseIterable {
  /// Attached prefixes stay outside if they are private and of a usual size.
  case allow
  /// Attached prefixes go into the tunnel with everything else.
  case block
}

/// The treatment of an attached prefix that the policy names, or that lies in a prefix that it names.
package enum OverlapPolicy: String, Equatable, Sendable, CaseIterable {
  /// The prefix stays outside, unless the tunnel has a kill switch or enforces its routes.
  case preferLocal = "prefer-local"
  /// The prefix goes into the tunnel.
  case preferTunnel = "prefer-tunnel"
  /// The tunnel is not started.
  case refuse
}

extension TunnelPolicy {
  /// The effective kill switch. A tunnel that includes all networks always has one.
  package var guarding: KillSwitch { includesAllNetworks && killSwitch == .off ? .on : killSwitch }
}

/// The kill switch of a tunnel: when the addresses that the tunnel includes may not flow outside it.
package enum KillSwitch: String, Equatable, Sendable, CaseIterable {
  /// No kill switch.
  case off
  /// Active while the rules, or a person, want the tunnel up.
  case on
  /// Active while the tunnel is enabled.
  case always
}

/// The tunnel's MTU: a fixed size, or the MTU of the link below minus an overhead.
package enum MTUPolicy: Hashable, Sendable {
  /// A fixed MTU in bytes.
  case fixed(UInt32)
  /// The link's MTU minus this number of bytes.
  case overhead(UInt32)
}

/// The name servers that a tunnel brings.
package struct DNSPolicy: Hashable, Sendable {
  package var servers: [IPAddress]
  package var searchDomains: [DomainName]
  /// The domains that these servers resolve; empty means every name.
  package var matchDomains: [DomainPattern]
  package var whenDown: NamesWhenDown
  package var names: NameSource
  /// Domains whose names may have addresses inside tunnels, also by the network's own servers.
  package var rebindAllowed: [DomainName] = []
  /// The mode in which systemd-resolved validates answers of these servers; `nil`: as it suits the names (`DNSPolicy.validation`).
  package var dnssec: DNSSECMode?

  package init(
    servers: [IPAddress] = [], searchDomains: [DomainName] = [], matchDomains: [DomainPattern] = [], whenDown: NamesWhenDown = .ask,
    names: NameSource = .system
  ) {
    self.servers = servers
    self.searchDomains = searchDomains
    self.matchDomains = matchDomains
    self.whenDown = whenDown
    self.names = names
  }

  /// Whether these servers resolve only some names.
  package var isSplit: Bool { !matchDomains.isEmpty && !matchDomains.contains(.any) }

  /// The mode in which systemd-resolved validates answers of these servers; `nil`: by the setting of this machine. With split DNS, the
  /// default is no validation: public parents sign nothing for private zones, and the tunnel protects the way to the servers.
  package var validation: DNSSECMode? { dnssec ?? (isSplit ? .no : nil) }

  /// Whether it says nothing of servers and names, and is not `dns: none`.
  var keepsServers: Bool { servers.isEmpty && searchDomains.isEmpty && matchDomains.isEmpty && self != DNSPolicy() }

  /// The domains that belong to the tunnel.
  package var ownDomains: [DomainName] {
    let matched = matchDomains.compactMap { if case .within(let domain) = $0 { domain } else { nil } }
    return (searchDomains + matched).uniqued()
  }
}

/// The programs whose questions go to the tunnel's servers.
package enum NameSource: String, Equatable, Sendable, CaseIterable {
  /// Programs that ask the system's resolver.
  case system
  /// Also programs that ask name servers of their own, containers and virtual machines: every question to port 53 is captured.
  case capture
}

/// The treatment of the tunnel's names while the tunnel is down.
package enum NamesWhenDown: String, Equatable, Sendable, CaseIterable {
  /// They are resolved like all other names.
  case ask
  /// They are refused, except on a network where a rule says `disconnect`: on it the names need no tunnel.
  case refuse
}
