package import KernelModel
package import NetworkTypes

/// What the sources say about the machine, before it is put together.
package struct SnapshotInputs: Hashable, Sendable {
  package var kernel: KernelState
  /// By interface index; what the kernel and the bus say about the medium.
  package var mediums: [InterfaceIndex: Medium]
  /// By interface index; links that nl80211 does not know are absent.
  package var wifi: [InterfaceIndex: WiFiFacts]
  /// What the programs of this host say.
  package var host: HostReports
  /// Of the SSID file, where the agent was given one.
  package var ssidFile: Fact<SSID?>?
  /// Facts of the machine that whoever looks reads for itself, where a snapshot has them; whatever else is in it is not asked for.
  package var direct = NetworkSnapshot(time: .notNeeded, power: .notNeeded)
  /// The facts that somebody needs; the others stay unknown.
  package var needed: Set<FactKind>
  /// When the machine was looked at, in seconds since 1970.
  package var lookedAt: Int64?

  package init(
    kernel: KernelState, mediums: [InterfaceIndex: Medium] = [:], wifi: [InterfaceIndex: WiFiFacts] = [:],
    host: HostReports = HostReports(),
    ssidFile: Fact<SSID?>? = nil, time: Fact<LocalTime> = .notNeeded,
    power: Fact<PowerSource> = .notNeeded, needed: Set<FactKind> = .all, lookedAt: Int64? = nil
  ) {
    self.kernel = kernel
    self.mediums = mediums
    self.wifi = wifi
    self.host = host
    self.ssidFile = ssidFile
    direct.time = time
    direct.power = power
    self.needed = needed
    self.lookedAt = lookedAt
  }
}

/// The network below all tunnels, and where its facts come from.
package struct SnapshotWithSources: Hashable, Sendable {
  package var snapshot: NetworkSnapshot
  package var provenance: Provenance

  /// Puts the sources together. Our own tunnels are no part of the underlay, and neither are links without carrier, or without an address
  /// that is valid beyond the link (those of containers, by the hundred).
  package init(_ sources: SnapshotInputs) {
    let kernel = sources.kernel
    let ours = Set(kernel.links.lazy.filter { Ownership.tunnel(ofAlias: $0.alias) != nil }.map(\.name))
    let usable = kernel.links.filter { $0.isUp && $0.hasCarrier && !$0.isLoopback && !ours.contains($0.name) }
    let names = Set(usable.lazy.map(\.name))
    let defaults = kernel.routes.filter { route in
      route.destination.length == 0 && route.kind == .unicast && route.table == Route.mainTable && !route.isDead
        && route.routeProtocol != Ownership.routeProtocol && route.link.map(names.contains) ?? false
    }
    // The kernel's own order within a family is the metric; between families IPv4 goes first where both are equally good.
    let ordered = defaults.sorted { (isBetter($0, than: $1)) }
    let primary = ordered.first?.link
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

/// Lower metric first; then IPv4; then name, so that the order never depends on chance.
private func isBetter(_ a: Route, than b: Route) -> Bool {
  (a.metric, a.destination.family, a.link ?? "") < (b.metric, b.destination.family, b.link ?? "")
}
