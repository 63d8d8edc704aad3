package import KernelModel
package import NetworkTypes

/// The reports of all sources, before they are merged into a snapshot.
package struct SnapshotInputs: Equatable, Sendable {
  package var kernel: KernelState
  /// The reports of the kernel and the bus about the medium, by interface index.
  package var mediums: [InterfaceIndex: Medium]
  /// The radio facts, by interface index; links that nl80211 does not know are absent.
  package var wifi: [InterfaceIndex: WiFiFacts]
  /// The reports of this host's programs.
  package var host: HostReports
  /// The SSID from the SSID file, if the agent was given one.
  package var ssidFile: Fact<SSID?>?
  /// Facts of the machine that the observer reads itself, stored in a snapshot; its other members are not used. None of them is known
  /// until the observer has set it.
  package var direct = NetworkSnapshot.unread
  /// The facts that policies need; the others stay unknown.
  package var needed: Set<FactKind>
  /// When the machine was observed, in seconds since 1970.
  package var lookedAt: Int64?

  package init(
    kernel: KernelState, mediums: [InterfaceIndex: Medium] = [:], wifi: [InterfaceIndex: WiFiFacts] = [:],
    host: HostReports = HostReports(),
    ssidFile: Fact<SSID?>? = nil, needed: Set<FactKind> = .all, lookedAt: Int64? = nil
  ) {
    self.kernel = kernel
    self.mediums = mediums
    self.wifi = wifi
    self.host = host
    self.ssidFile = ssidFile
    self.needed = needed
    self.lookedAt = lookedAt
  }
}

extension NetworkSnapshot {
  /// A snapshot of which nothing was read: no fact of the table is known. A fact that is declared, and that no observer reads, stays so.
  package static let unread: NetworkSnapshot = {
    var snapshot = NetworkSnapshot()
    for case .machine(let access) in FactTable.ofMachine.map(\.place) { access.makeUnknown(&snapshot, Fact<Bool>.notNeededReason) }
    return snapshot
  }()
}

/// The underlay, with the sources of its facts.
package struct SnapshotWithSources: Equatable, Sendable {
  package var snapshot: NetworkSnapshot
  package var provenance: Provenance

  /// Merges the sources. Our own tunnels are not part of the underlay. Neither are links without carrier, or without an address that is
  /// valid beyond the link (those of containers, by the hundred). The tunnels of others are no network either: one is primary only if no
  /// other link has a default route.
  package init(_ sources: SnapshotInputs) {
    let kernel = sources.kernel
    let ours = Set(kernel.links.lazy.filter { Ownership.tunnel(ofAlias: $0.alias) != nil }.map(\.name))
    let usable = kernel.links.filter { $0.isUp && $0.hasCarrier && !$0.isLoopback && !ours.contains($0.name) }
    let names = Set(usable.lazy.map(\.name))
    let defaults = kernel.routes.filter { route in
      route.destination.length == 0 && route.kind == .unicast && route.table == Route.mainTable && !route.isDead
        && route.routeProtocol != Ownership.routeProtocol && route.link.map(names.contains) ?? false
    }
    let ordered = defaults.inKernelOrder
    // A modem's link may have the kind of a tunnel.
    let overlays = Set(
      usable.lazy.filter { kernel.isOverlay($0) && sources.mediums[$0.index]?.type != .cellular }.map(\.name))
    let primary = (ordered.first { $0.link.map { !overlays.contains($0) } ?? false } ?? ordered.first)?.link
    var facts = FactGathering(sources)
    let addressesByLink = Dictionary(grouping: kernel.addresses) { $0.link }
    let links = usable.compactMap { link -> LinkFacts? in
      let addresses = (addressesByLink[link.name] ?? []).map(\.address).sorted()
      let isPrimary = link.name == primary
      guard isPrimary || link.master == nil && addresses.contains(where: { !$0.address.isLinkLocal }) else { return nil }
      let gateways = ordered.filter { $0.link == link.name }.compactMap(\.gateway).uniqued()
      var found = facts.link(link, isPrimary: isPrimary, addresses: addresses, gateways: gateways)
      found.preferredSources = ordered.filter { $0.link == link.name }.compactMap(\.preferredSource).uniqued()
      return found
    }
    let primaryLink = usable.first { $0.name == primary }
    snapshot = NetworkSnapshot(primary: primary, links: links, otherProbes: .unknown(reason: "it was not asked"))
    facts.machine(primary: primaryLink, &snapshot)
    snapshot.portalAPI = primaryLink.flatMap { facts.portalAPI(of: $0) }
    provenance = facts.provenance
  }
}

extension NetworkSnapshot {
  package init(_ sources: SnapshotInputs) { self = SnapshotWithSources(sources).snapshot }
}

extension [Route] {
  /// The order in which the kernel tries default routes: by the metric, and among equal metrics as it lists them. It has no order between
  /// families: IPv4 goes first if both metrics are equal.
  fileprivate var inKernelOrder: [Route] {
    enumerated().sorted { a, b in
      (a.element.metric, a.element.destination.family, a.offset) < (b.element.metric, b.element.destination.family, b.offset)
    }.map(\.element)
  }
}
