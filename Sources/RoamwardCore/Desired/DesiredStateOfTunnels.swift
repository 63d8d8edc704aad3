import NetworkTypes

extension DesiredState {
  /// What the tunnels, at their levels, want of the machine on this underlay.
  package init(of tunnels: [TunnelSetup], on underlay: UnderlayFit, isPortalOpen: Bool = false) {
    self.init()
    firewall = FirewallTable(of: tunnels, on: underlay, isPortalOpen: isPortalOpen).map { .table($0) } ?? .open
    let ordered = tunnels.sorted { $0.slot < $1.slot }
    for tunnel in ordered where tunnel.level > .nothing {
      if let link = DesiredLink(tunnel, on: underlay) { links.append(link) }
      guard tunnel.level == .full else { continue }
      let (routes, notes) = tunnelRoutes(tunnel, on: underlay)
      self.routes += routes
      self.notes += notes
      let families = Set(routes.map(\.destination.family)).sorted()
      rules += families.map {
        RoutingRule(
          family: $0, priority: tunnel.table, table: tunnel.table, mark: Ownership.mark, mask: Ownership.markMask, isInverted: true)
      }
    }
    applyDNS(of: ordered.filter { $0.level == .full }, on: underlay)
  }
}

extension DesiredLink {
  fileprivate init?(_ tunnel: TunnelSetup, on underlay: UnderlayFit) {
    guard let link = tunnel.link else { return nil }
    switch (tunnel.device, tunnel.policy.provider) {
    case (.wireGuard, .wireGuard(let provider)):
      // 80 bytes: IPv6, UDP and WireGuard's own headers.
      let usual = provider.configuration.mtu ?? underlay.mtu(afterOverhead: 80)
      self.init(
        name: link, tunnel: tunnel.policy.name, device: tunnel.device, mtu: tunnel.policy.mtu.map(underlay.mtu) ?? usual,
        addresses: provider.configuration.addresses)
    default:
      self.init(name: link, tunnel: tunnel.policy.name, device: .foreign, mtu: tunnel.policy.mtu.map(underlay.mtu))
    }
  }
}

extension TunnelSetup {
  var dns: DNSPolicy { policy.dnsInForce }
}

extension TunnelPolicy {
  /// The policy's servers, else those of the provider's own configuration.
  package var dnsInForce: DNSPolicy {
    if let own = dns { return own }
    guard case .wireGuard(let provider) = provider else { return DNSPolicy() }
    return DNSPolicy(servers: provider.configuration.dnsServers, searchDomains: provider.configuration.searchDomains)
  }
}
