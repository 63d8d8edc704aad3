package import KernelModel
import NetworkTypes

/// The routes of one tunnel's own table, and notes about them for people.
///
/// The table comes before the main one, so it has to pass on other packets explicitly: `throw` continues with the next rule. It passes on
/// excluded prefixes, attached prefixes and those of other VPNs. If the tunnel has no address of a family, that family's included prefixes
/// are `unreachable` rather than outside.
///
/// `outer`: the tunnel that it goes through.
func tunnelRoutes(_ tunnel: TunnelSetup, on underlay: UnderlayFit, through outer: TunnelSetup?) -> (routes: [Route], notes: [Remark]) {
  let (learned, tunnel) = (tunnel.prefixesOfNamesAlone, tunnel.withNames)
  let wanted = tunnel.includedPrefixes
  guard !wanted.isEmpty else { return ([], []) }
  let name = tunnel.policy.name
  guard let link = tunnel.link else {
    return ([], [Remark(.routesLimited, of: name, "its routes cannot be applied, because its provider names no interface")])
  }
  var notes: [Remark] = []
  var kinds = RouteKinds(wanted) { tunnel.carries($0) ? .unicast : .unreachable }
  let policy = tunnel.policy.routes ?? RoutePolicy()
  for outside in tunnel.outsidePrefixes(on: underlay) {
    if wanted.contains(outside.prefix) { notes.append(Remark(.routesLimited, of: name, "\(outside)")) }
    kinds[outside.prefix] = .throw
  }
  if tunnel.yieldsToOthers {
    for prefix in underlay.others.mainPrefixes where kinds[prefix] == nil && wanted.hold(prefix) { kinds[prefix] = .throw }
  }
  // Link-local destinations never leave their link.
  if kinds[.everything(.v6)] != nil, let linkLocal = IPPrefix("fe80::/10") { kinds[linkLocal] = .throw }
  for prefix in policy.exclude.ascending { kinds[prefix] = .throw }
  if let family = tunnel.familyForParity, kinds[.everything(family)] == .unreachable {
    let (number, other) = (family.rawValue, family == .v6 ? 4 : 6)
    notes.append(
      Remark(
        .routesLimited, of: name,
        "IPv\(number) is unreachable while the tunnel is up, because it takes all of IPv\(other) and has no IPv\(number) address"
          + " (exclude \(IPPrefix.everything(family)) to leave IPv\(number) outside)"))
  }
  // Of a tunnel through another one, all that goes there takes the outer tunnel.
  var detours: [Route] = []
  for endpoint in tunnel.endpointsPastTheTunnel(on: underlay) {
    if let outer, let link = outer.link {
      kinds[.host(endpoint)] = nil
      detours.append(Route(to: .host(endpoint), on: link, table: tunnel.table))
      notes.append(
        Remark(
          .routesLimited, of: name,
          "all that goes to \(endpoint) goes through \(outer.policy.name) alone, because this kernel checks return paths strictly"
            + " (rp_filter is 1; 2 is enough)"))
      continue
    }
    let only = policy.isEnforced ? "; the firewall lets nothing but the tunnel's own packets go there" : ""
    notes.append(
      Remark(
        .routesLimited, of: name,
        "all that goes to \(endpoint) stays outside, because this kernel checks return paths strictly (rp_filter is 1; 2 is enough)"
          + only))
    kinds[.host(endpoint)] = .throw
  }
  if underlay.isReversePathStrict, policy.answersByArrival, wanted.coverEverything {
    notes.append(
      Remark(
        .unanswered, of: name,
        "`answer-by-arrival` has no effect: this kernel checks return paths strictly (rp_filter is 1), and drops connections from outside"
          + " before they arrive; cure: sysctl net.ipv4.conf.all.rp_filter=2"))
  }
  if let trouble = tunnel.policy.relayTrouble { notes.append(Remark(.routesLimited, of: name, trouble)) }
  var routes: [Route] = []
  routes.reserveCapacity(wanted.count + detours.count)
  kinds.forEach { prefix, kind in
    routes.append(
      Route(
        to: prefix, kind: kind, on: kind == .unicast ? link : nil, table: tunnel.table,
        metric: learned.contains(prefix) ? Route.metricByName : prefix.family == .v6 ? Route.defaultIPv6Metric : 0))
    // Final routes in case the link is gone, or is not the one that a program requires: then no packet continues to the main table.
    if policy.isEnforced, kind == .unicast { routes.append(Route(to: prefix, kind: .unreachable, table: tunnel.table, metric: .max)) }
  }
  if !detours.isEmpty {
    routes += detours
    routes.sort { ($0.destination, $0.metric) < ($1.destination, $1.metric) }
  }
  return (routes, notes)
}

/// The kinds of a tunnel's routes by their destinations: those of its own prefixes, and the few that differ.
private struct RouteKinds {
  private let wanted: PrefixList
  private let usual: [IPAddress.Family: Route.Kind]
  /// Of these destinations; `nil`: there is no route.
  private var other: [IPPrefix: Route.Kind?] = [:]

  init(_ wanted: PrefixList, kind: (IPAddress.Family) -> Route.Kind) {
    self.wanted = wanted
    usual = Dictionary(uniqueKeysWithValues: IPAddress.Family.allCases.map { ($0, kind($0)) })
  }

  subscript(prefix: IPPrefix) -> Route.Kind? {
    get { other[prefix] ?? (wanted.contains(prefix) ? usual[prefix.family] : nil) }
    set { other[prefix] = .some(newValue) }
  }

  /// Each destination with its kind, in ascending order.
  func forEach(_ body: (IPPrefix, Route.Kind) -> Void) {
    let differing = Array(other.keys).ascending
    let kinds = IPAddress.Family.allCases.map { usual[$0] ?? .unicast }
    var next = 0
    func yield(before prefix: IPPrefix?) {
      while next < differing.count, prefix.map({ differing[next] < $0 }) ?? true {
        if let kind = other[differing[next]] ?? nil { body(differing[next], kind) }
        next += 1
      }
    }
    for prefix in wanted.ascending {
      yield(before: prefix)
      if next < differing.count, differing[next] == prefix { continue }
      body(prefix, kinds[prefix.family == .v4 ? 0 : 1])
    }
    yield(before: nil)
  }
}

extension TunnelSetup {
  /// The prefixes that go into the tunnel or nowhere. If everything of one family is named and the tunnel has no address of the other, the
  /// other family is included too. A policy that says "everything" does not mean half of the internet.
  var includedPrefixes: PrefixList { policy.namedPrefixes + (familyForParity.map { [.everything($0)] } ?? []) }

  fileprivate var familyForParity: IPAddress.Family? {
    let named = policy.namedPrefixes
    return IPAddress.Family.allCases.first { family in
      !carries(family) && !named.has(family) && named.coverEverything(of: family == .v4 ? .v6 : .v4)
    }
  }

  /// The addresses of the tunnel's peers.
  var endpoints: [IPAddress] {
    if case .wireGuard(let device) = device { return device.peers.compactMap { $0.endpoint?.address }.uniqued() }
    if case .installed(let provider) = policy.provider { return provider.settings.gateways }
    return []
  }

  /// The endpoints that all packets reach outside the tunnel. With strict reverse path filtering, the kernel would drop answers from an
  /// endpoint that its tables send inside.
  func endpointsPastTheTunnel(on underlay: UnderlayFit) -> [IPAddress] {
    guard underlay.isReversePathStrict else { return [] }
    let wanted = includedPrefixes
    return endpoints.filter { $0.family == .v4 && wanted.hold($0) }
  }

  /// Whether the tunnel has an address of the family; a command's link is assumed to have both.
  func carries(_ family: IPAddress.Family) -> Bool {
    policy.provider.ownAddresses?.contains { $0.address.family == family } ?? true
  }
}

extension Route {
  /// `IP6_RT_PRIO_USER`: the kernel's metric for an IPv6 route without one.
  package static let defaultIPv6Metric: UInt32 = 1024
}
