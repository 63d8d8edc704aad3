internal import KernelModel
internal import NameProtocol
internal import NameServer
internal import NetworkTypes
internal import RoamwardCore

extension NameServerSettings {
  /// The process's form, and the domains of each disposition. Triggers are in the order of `watches`.
  ///
  /// Groups of tunnels that look-ups start come first, whether they are up or not, so that the groups stay the same when one comes up.
  func rules(place: UInt64) -> (NameServerConfiguration, [(disposition: UInt16, names: [DomainName])]) {
    let isSplit = !watches.isEmpty || !refused.isEmpty || refusesDiscovery || shares.contains { !$0.domains.isEmpty }
    var rules = RuleBuilder(NameServerConfiguration(network: place, answersCanary: isSplit, searchDomains: searchDomains))
    let pool = (asksNetworkInside ? QuestionPool.inside : .outside).number
    let inside = QuestionPool.inside.number
    // A route lives as long as the answers that programs keep.
    let longest = routed.isEmpty ? nil : RoutesByName.longestTTL
    let outside = rules.add(UpstreamGroup(servers: network.map { Upstream($0) }, pool: pool, longestTTL: longest, blocked: blocked))
    // Captured questions go on as programs sent them: through a tunnel, or not at all, if that is the way.
    let asked = rules.add(UpstreamGroup(servers: [], pool: inside, longestTTL: longest, blocked: blocked))
    rules.configuration.passing = Passing(from: outside, by: asked)
    var groups: [String: Int] = [:]
    for watch in watches {
      // Its addresses are valid only while the tunnel is up.
      let servers = watch.servers.isEmpty ? network : watch.servers
      groups[watch.tunnel] = rules.add(UpstreamGroup(servers: servers.map { Upstream($0) }, pool: inside, longestTTL: 60))
      rules.configuration.triggers.append(Trigger(name: watch.tunnel, group: groups[watch.tunnel] ?? outside))
    }
    rules.configuration.rest = .forward(group: outside)
    rules.add(.refuse, for: discoveryNames)
    var others: Disposition?
    for (trigger, watch) in watches.enumerated() {
      for entry in watch.entries {
        let disposition: Disposition =
          switch entry.fate {
          case .always: .connectAlways(trigger: trigger)
          case .never: .forward(group: outside)
          case .ifNeeded(let servers):
            .connectIfNeeded(
              trigger: trigger,
              first: rules.add(
                UpstreamGroup(
                  servers: (servers.isEmpty ? network : servers).map { Upstream($0) }, pool: pool, longestTTL: longest,
                  blocked: (blocked + watch.blocked).uniqued())))
          }
        rules.add(disposition, for: entry.domains)
        if entry.holdsOthers { others = disposition }
      }
    }
    rules.add(.refuse, for: refused)
    for share in shares {
      let group =
        groups[share.tunnel] ?? rules.add(UpstreamGroup(servers: share.servers.map { Upstream($0) }, pool: inside, longestTTL: 60))
      if share.domains.isEmpty {
        rules.configuration.rest = .forward(group: group)
      } else {
        rules.add(.forward(group: group), for: share.domains)
      }
    }
    if let others { rules.configuration.rest = others }
    for route in programs?.routes ?? [] where route.hasPort {
      let isOutside = route.number == ProgramNames.Route.outside
      rules.configuration.routes[route.number] = rules.add(
        UpstreamGroup(
          servers: route.servers.map { Upstream($0) }, pool: QuestionPool.ofRoute(route.number).number, longestTTL: isOutside ? nil : 60,
          blocked: isOutside ? blocked : []))
    }
    return (rules.configuration, rules.domains)
  }

  /// Whether names are treated by both alike, apart from the states of tunnels: the process needs to know of no change.
  func treatsNames(as other: NameServerSettings) -> Bool {
    if withoutProgress == other.withoutProgress { return true }
    guard listensAt == other.listensAt, place == other.place, asksNetworkInside == other.asksNetworkInside,
      capture == other.capture, programs == other.programs,
      Set(allServers) == Set(other.allServers), watches.map(\.tunnel) == other.watches.map(\.tunnel),
      Set(rebindAllowed) == Set(other.rebindAllowed), Set(routed) == Set(other.routed)
    else { return false }
    let (mine, theirs) = (rules(place: 0), other.rules(place: 0))
    return NameRules(mine.0) == NameRules(theirs.0)
      && mine.1.elementsEqual(theirs.1) { $0.disposition == $1.disposition && $0.names == $1.names }
  }

  /// Every server that it may ask.
  var allServers: [IPAddress] {
    let first = watches.flatMap(\.entries).flatMap { entry -> [IPAddress] in
      if case .ifNeeded(let servers) = entry.fate { servers } else { [] }
    }
    return network + shares.flatMap(\.servers) + watches.flatMap(\.servers) + first + (programs?.routes.flatMap(\.servers) ?? [])
  }
}

/// A configuration that grows. A domain that is added again keeps its first disposition.
private struct RuleBuilder {
  var configuration: NameServerConfiguration
  private(set) var domains: [(disposition: UInt16, names: [DomainName])] = []
  private var known: Set<DomainName> = []

  init(_ configuration: NameServerConfiguration) { self.configuration = configuration }

  /// Returns the group's number.
  mutating func add(_ group: UpstreamGroup) -> Int {
    configuration.groups.append(group)
    return configuration.groups.count - 1
  }

  mutating func add(_ disposition: Disposition, for names: [DomainName]) {
    let names = names.filter { known.insert($0).inserted }
    if names.isEmpty { return }
    domains.append((UInt16(truncatingIfNeeded: configuration.dispositions.count), names))
    configuration.dispositions.append(disposition)
  }
}

extension TriggerState {
  init(_ progress: NameWatch.Progress) {
    self =
      switch progress {
      case .down: .down
      case .starting: .starting
      case .connected: .connected
      case .failed: .failed
      }
  }
}
