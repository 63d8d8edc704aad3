import KernelModel
import NetworkTypes

extension DesiredState {
  /// Has our own name server watch for look-ups that start a tunnel. `tunnels` are in the order in which they win conflicts.
  mutating func watchNames(of tunnels: [TunnelSetup], on underlay: UnderlayFit) {
    let watching = tunnels.filter { $0.watch != nil }
    if watching.isEmpty { return }
    if let reason = underlay.resolver.reasonNotToWatch {
      notes += watching.map { Remark(.dnsLimited, of: $0.policy.name, "no look-up starts it: \(reason)") }
      return
    }
    var settings = nameServer ?? NameServerSettings(of: underlay)
    settings.watches = watches(of: watching, beside: settings.shares, on: underlay)
    // The watch decides on names that are refused otherwise while their tunnel is down.
    settings.refused = settings.refused.filter { settings.watch(for: $0).map { $0.fate == .never } ?? true }
    remarks += watching.compactMap(watchRemark)
    guard underlay.resolver.backend == .resolved else { return lead(to: settings, by: underlay, searching: []) }
    settings.listensAt = NameServerSettings.addressOnLink
    settings.refused = refusedDomains.filter { settings.watch(for: $0).map { $0.fate == .never } ?? true }
    nameServer = settings
    if !links.contains(where: { $0.name == Ownership.refusalLink }) { links.append(.refusal) }
    let claimed = Set(resolvedLinks.filter { $0.key != Ownership.refusalLink }.values.flatMap(\.domains).map(\.name))
    // An exception is one below a domain of a tunnel's link too: its longer domain leads to us.
    let starting = settings.watches.flatMap(\.startingDomains)
    let exceptions = settings.watches.flatMap(\.exceptions).filter { exception in
      starting.contains(where: exception.isWithin) || claimed.contains { $0.map(exception.isWithin) ?? true }
    }
    let watched = (exceptions + starting).map { LinkResolver.Domain($0, isRoutingOnly: true) }
    let root = settings.watches.contains { $0.entries.contains(where: \.holdsOthers) } ? [LinkResolver.Domain.root] : []
    let domains = (settings.refused.map { LinkResolver.Domain($0, isRoutingOnly: true) } + watched + root).uniqued()
    resolvedLinks[Ownership.refusalLink] = LinkResolver(
      servers: [NameServerSettings.addressOnLink], domains: domains.filter { !claimed.contains($0.name) })
    // As on the links of the tunnels that have these names (`DNSPolicy.validation`).
    if root.isEmpty { resolvedLinks[Ownership.refusalLink]?.dnssec = .no }
  }

  /// The watches, each domain once: one that another tunnel's servers resolve now is theirs, and then the first watch has it.
  private mutating func watches(of tunnels: [TunnelSetup], beside shares: [NameServerSettings.Share], on underlay: UnderlayFit)
    -> [NameWatch]
  {
    var owners: [DomainName: String] = [:]
    for share in shares { for domain in share.domains { owners[domain] = share.tunnel } }
    var ownerOfOthers = shares.first(where: \.domains.isEmpty)?.tunnel
    var watches: [NameWatch] = []
    for tunnel in tunnels {
      guard var watch = tunnel.watch else { continue }
      watch.blocked = tunnel.privatePrefixes(besides: underlay.attachedPrefixes)
      for i in watch.entries.indices {
        watch.entries[i].domains.removeAll { owners[$0].map { $0 != watch.tunnel } ?? false }
        if let ownerOfOthers, ownerOfOthers != watch.tunnel { watch.entries[i].holdsOthers = false }
        for domain in watch.entries[i].domains { owners[domain] = watch.tunnel }
        if watch.entries[i].holdsOthers { ownerOfOthers = watch.tunnel }
      }
      watches.append(watch)
    }
    return watches
  }
}

extension TunnelSetup {
  /// Whether names of the tunnel must not be asked of all servers alike: they are watched, refused or its own.
  package var needsNameServer: Bool {
    watch != nil || refusesNames || routesNames || blocksNames || level.hasRoutes && dns.isSplit && !dns.servers.isEmpty
  }
}

/// A remark on the names whose look-ups start the tunnel, for people.
private func watchRemark(of tunnel: TunnelSetup) -> Remark? {
  guard let watch = tunnel.watch, watch.progress == .down else { return nil }
  func names(_ entries: [NameWatch.Entry]) -> String {
    let all = entries.flatMap(\.domains).map(\.text) + (entries.contains(where: \.holdsOthers) ? ["every other name"] : [])
    return all.count > 4 ? all.prefix(3).joined(separator: ", ") + " and \(all.count - 3) more" : all.joined(separator: ", ")
  }
  let always = names(watch.entries.filter { $0.fate == .always })
  let needed = names(
    watch.entries.filter { entry in
      if case .ifNeeded = entry.fate { true } else { false }
    })
  let parts = [
    always.isEmpty ? nil : "comes up at a look-up of \(always)",
    needed.isEmpty ? nil : "comes up if the network's servers do not resolve a name of \(needed)", readyRemark(of: tunnel),
  ]
  return Remark(.armed, of: watch.tunnel, parts.compactMap { $0 }.joined(separator: "; "))
}
