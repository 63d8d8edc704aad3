import KernelModel
import NetworkTypes

extension DesiredState {
  /// Gives each name to the servers that it belongs to, by our own name server, and leads programs to it. `tunnels` are up, in the order in
  /// which they win conflicts.
  mutating func applyNameServer(of tunnels: [TunnelSetup], on underlay: UnderlayFit) {
    var settings = nameServer ?? NameServerSettings(of: underlay)
    var claims: [DomainName?: String] = [:]
    for tunnel in tunnels {
      let name = tunnel.policy.name
      let wanted: [DomainName?] = tunnel.dns.isSplit ? tunnel.dns.ownDomains : [nil]
      let own = wanted.filter { claims[$0] == nil }
      for case let lost in wanted where claims[lost] != nil {
        notes.append(
          Remark(
            .dnsLimited, of: name,
            "its name servers get no queries for \(lost?.text ?? "every name"), because those of \(claims[lost] ?? "another tunnel") are"))
      }
      for domain in own { claims[domain] = name }
      if own.isEmpty { continue }
      settings.shares.append(NameServerSettings.Share(tunnel: name, servers: tunnel.dns.servers, domains: own.compactMap { $0 }))
      settings.blocked += tunnel.privatePrefixes(besides: underlay.attachedPrefixes)
    }
    settings.blocked = settings.blocked.uniqued().sorted()
    settings.rebindAllowed = (settings.rebindAllowed + tunnels.flatMap(\.dns.rebindAllowed)).uniqued().sorted { $0.text < $1.text }
    lead(to: settings, by: underlay, searching: tunnels.flatMap(\.dns.searchDomains))
  }

  /// Has our own name server refuse these names.
  mutating func refuseNames(in domains: [DomainName], on underlay: UnderlayFit) {
    if domains.isEmpty, nameServer == nil { return }
    var settings = nameServer ?? NameServerSettings(of: underlay)
    let claimed = Set(settings.shares.flatMap(\.domains))
    settings.refused = domains.filter { !claimed.contains($0) }
    lead(to: settings, by: underlay, searching: [])
  }

  mutating func lead(to settings: NameServerSettings, by underlay: UnderlayFit, searching domains: [DomainName]) {
    let present = (resolvConf ?? record?.content)?.searchDomains ?? []
    let content = ResolvConf(
      nameServers: [NameServerSettings.address], searchDomains: (domains + present + underlay.searchDomains).uniqued())
    nameServer = settings
    nameServer?.searchDomains = content.searchDomains
    switch underlay.resolver.backend {
    case .resolvconf(let program): record = ResolverRecord(content, program: program)
    default: resolvConf = content
    }
  }
}

extension NameServerSettings {
  /// Those of this network, without tunnels.
  init(of underlay: UnderlayFit) {
    self.init(network: underlay.nameServers, place: underlay.place, searchDomains: underlay.searchDomains)
  }
}

extension TunnelSetup {
  /// Its private prefixes (RFC 1918, RFC 4193, RFC 6598), without those that this machine reaches by itself: the network's servers give no
  /// address in them, except by mistake or to lead programs astray (DNS rebinding). Public prefixes have names that everybody resolves.
  func privatePrefixes(besides attached: [IPPrefix]) -> [IPPrefix] {
    includedPrefixes.filter { prefix in
      Self.privateNetworks.contains { $0.contains(prefix) } && !attached.contains { $0.overlaps(prefix) }
    }
  }

  /// Whether the network's servers may only be asked through it: it takes everything and brings no servers, or its kill switch is active.
  var takesNamesInside: Bool {
    isGuarding || level.hasRoutes && dns.servers.isEmpty && includedPrefixes.coverEverything
  }

  static let privateNetworks = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"].compactMap {
    IPPrefix($0)
  }
}
