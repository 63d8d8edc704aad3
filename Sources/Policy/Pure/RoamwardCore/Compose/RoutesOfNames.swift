import KernelModel
package import NetworkTypes

extension TunnelSetup {
  /// The setup with the addresses of names among the prefixes of its policy.
  var withNames: TunnelSetup {
    if byName.isEmpty { return self }
    var (setup, routes) = (self, policy.routes ?? RoutePolicy())
    routes.include += byName.included
    routes.exclude += byName.excluded
    setup.policy.routes = routes
    return setup
  }

  /// Those of its addresses of names that its policy does not name itself.
  var prefixesOfNamesAlone: Set<IPPrefix> {
    if byName.isEmpty { return [] }
    let named = policy.namedPrefixes
    let excluded = policy.routes?.exclude ?? []
    return Set((byName.included + byName.excluded).filter { !named.contains($0) && !excluded.contains($0) })
  }

  /// Whether answers for its names wait for their routes now.
  package var routesNames: Bool { policy.routesByName && level.hasRoutes }

  /// Whether its included names are refused, because their addresses must not be reached outside and are not known.
  package var blocksNames: Bool { isGuarding && !level.hasRoutes && policy.isEnabled && policy.routes?.includeDomains.isEmpty == false }

  /// The reason why an address never gets a route by its name, to follow "because"; `nil`: it may. `servers`: name servers in use.
  package func refusal(of address: IPAddress, _ way: NameWay, on underlay: UnderlayFit, besides others: [TunnelSetup]) -> String? {
    if address.isLoopback || address == .unspecified(address.family) { return "it is of this machine" }
    if address.isMulticast { return "it is a multicast address" }
    if address.isLinkLocal { return "it is link-local" }
    if address.family == .v4, address.low >> 28 == 0xf { return "it is reserved or a broadcast address" }
    if let other = (others + [self]).first(where: { $0.endpoints.contains(address) }) {
      return "it is the endpoint of \(other.policy.name)"
    }
    let servers = underlay.nameServers + (others + [self]).flatMap(\.dns.servers)
    if servers.contains(address) { return "it is a name server" }
    switch way {
    case .include:
      for other in others where other.policy.name != policy.name {
        if let inside = other.privatePrefixes(besides: underlay.attachedPrefixes).first(where: { $0.contains(address) }) {
          return "\(other.policy.name) includes \(inside), which is private"
        }
      }
      let attached = underlay.attachedPrefixes.first { $0.contains(address) }
      return attached.map { "this machine is attached to \($0)" }
    case .exclude:
      if underlay.attachedPrefixes.contains(where: { $0.contains(address) }) { return nil }
      let isInside = Self.privateNetworks.contains { $0.contains(address) } && includedPrefixes.contains { $0.contains(address) }
      return isInside ? "it is a private address, which \(policy.name) includes" : nil
    }
  }
}

extension UnderlayFit {
  /// Whether the network itself has this address: it is on the link, or a name server of it.
  package func reaches(_ address: IPAddress) -> Bool {
    attachedPrefixes.contains { $0.contains(address) } || nameServers.contains(address)
  }
}

/// The names whose answers bring routes: our own name server lets the answers wait for the routes, and refuses names whose addresses a kill
/// switch has to block and cannot know.
struct RoutedNames {
  let tunnels: [TunnelSetup]
  /// Those with routes.
  let up: [TunnelSetup]
  let underlay: UnderlayFit

  func apply(to desired: inout DesiredState) {
    let (routing, blocking) = (up.filter(\.routesNames), tunnels.filter(\.blocksNames))
    if routing.isEmpty, blocking.isEmpty { return }
    if let reason = underlay.resolver.reasonNotToWatch {
      desired.notes += (routing + blocking).map { Remark(.dnsLimited, of: $0.policy.name, "no route follows from a name: \(reason)") }
      return
    }
    var settings = desired.nameServer ?? NameServerSettings(of: underlay)
    settings.routings = routing.map {
      NameServerSettings.Routing(
        tunnel: $0.policy.name, included: $0.policy.routes?.includeDomains ?? [], excluded: $0.policy.routes?.excludeDomains ?? [])
    }
    let blocked = blocking.flatMap { $0.policy.routes?.includeDomains ?? [] }.filter { settings.watch(for: $0) == nil }
    guard underlay.resolver.backend == .resolved else {
      settings.refused = (settings.refused + blocked).uniqued()
      return desired.lead(to: settings, by: underlay, searching: [])
    }
    settings.refused = (desired.refusedDomains + blocked).uniqued()
    // The servers of tunnels are those of their links, of which our own name server has to know now.
    var other = DesiredState()
    other.applyNameServer(of: up.filter { !$0.dns.servers.isEmpty }, on: underlay)
    if let shared = other.nameServer {
      (settings.shares, settings.blocked, settings.rebindAllowed) = (shared.shares, shared.blocked, shared.rebindAllowed)
    }
    settings.listensAt = NameServerSettings.addressOnLink
    desired.nameServer = settings
    take(settings.routed + blocked, from: &desired)
    recordDomainsOfNetwork(routing, in: &desired)
  }

  /// systemd-resolved prefers the longest domain of any link. One that the network announces and that is in a domain of a tunnel's names,
  /// or is one, leads to the network's servers, and those answers do not pass us.
  private func recordDomainsOfNetwork(_ routing: [TunnelSetup], in desired: inout DesiredState) {
    if up.contains(where: \.capturesNames), underlay.resolver.reasonNotToCapture == nil { return }
    for tunnel in routing {
      let own = tunnel.policy.routes?.routedDomains ?? []
      guard let domain = underlay.searchDomains.first(where: { own.contains(where: $0.isWithin) }) else { continue }
      desired.notes.append(
        Remark(
          .dnsLimited, of: tunnel.policy.name,
          "the network announces the domain \(domain), so systemd-resolved asks its name servers for names in it, and no route follows;"
            + " cure: `servers` with `names: capture` in `dns`"))
    }
  }

  /// Leads systemd-resolved to our own name server for names in these domains: our dummy link has them, and what links of tunnels have in
  /// them.
  private func take(_ domains: [DomainName], from desired: inout DesiredState) {
    if !desired.links.contains(where: { $0.name == Ownership.refusalLink }) { desired.links.append(.refusal) }
    var taken: [LinkResolver.Domain] = desired.resolvedLinks[Ownership.refusalLink]?.domains ?? []
    for (link, resolver) in desired.resolvedLinks.sorted(by: { $0.key < $1.key }) where link != Ownership.refusalLink {
      let moved = resolver.domains.filter { domain in domain.name.map { name in domains.contains(where: name.isWithin) } ?? false }
      desired.resolvedLinks[link]?.domains.removeAll { moved.contains($0) }
      taken += moved
    }
    let known = Set(taken.map(\.name))
    taken += domains.filter { !known.contains($0) }.map { LinkResolver.Domain($0, isRoutingOnly: true) }
    var resolver = LinkResolver(servers: [NameServerSettings.addressOnLink], domains: taken.uniqued())
    if !taken.contains(.root) { resolver.dnssec = .no }
    desired.resolvedLinks[Ownership.refusalLink] = resolver
  }
}
