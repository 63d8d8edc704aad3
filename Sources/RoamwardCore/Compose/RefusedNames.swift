import KernelModel
package import NetworkTypes

extension DesiredState {
  /// Refuses the names of tunnels that are down (`down`) if their policies say so: a dummy link of ours claims them, with an unused name
  /// server. The link stays as long as such a policy exists, so that a tunnel can go down without delay.
  mutating func refuseNames(of tunnels: [TunnelSetup], down: [TunnelSetup], on underlay: UnderlayFit) {
    let refusing = tunnels.filter { $0.policy.isEnabled && $0.policy.dnsInForce.refusesWhenDown }
    if refusing.isEmpty { return }
    if let reason = underlay.resolver.reasonNotToRefuse {
      notes += refusing.map { tunnel in
        Remark(
          .dnsLimited, of: tunnel.policy.name,
          "`when-down: refuse` is not possible, so its names go to the network's servers while it is not up: \(reason)")
      }
      return
    }
    let claimed = Set(resolvedLinks.values.flatMap(\.domains).map(\.name))
    let domains = down.filter(\.refusesNames).sorted { $0.policy.name < $1.policy.name }.flatMap(\.policy.dnsInForce.ownDomains).uniqued()
      .filter { !claimed.contains($0) }
    links.append(.refusal)
    resolvedLinks[Ownership.refusalLink] = .refusing(domains)
  }

  /// Keeps the names that an earlier agent refused: no decision exists yet.
  package mutating func keepRefusal(of observed: ObservedState) {
    guard observed.kernel.link(named: Ownership.refusalLink).map({ Ownership.tunnel(ofAlias: $0.alias) != nil }) ?? false else { return }
    links.append(.refusal)
    resolvedLinks[Ownership.refusalLink] = observed.resolver.links[Ownership.refusalLink]
  }

  /// The domains whose names are refused.
  package var refusedDomains: [DomainName] { resolvedLinks[Ownership.refusalLink]?.domains.compactMap(\.name) ?? [] }
}

extension DNSPolicy {
  /// Whether the tunnel's names must not be resolved elsewhere while it is down.
  package var refusesWhenDown: Bool { whenDown == .refuse && isSplit && !servers.isEmpty }

  /// The domains that belong to the tunnel.
  package var ownDomains: [DomainName] {
    let matched = matchDomains.compactMap { if case .within(let domain) = $0 { domain } else { nil } }
    return (searchDomains + matched).uniqued()
  }
}

extension ResolverChoice {
  /// The reason why this DNS backend cannot keep names from the network's servers; `nil` if it can.
  package var reasonNotToRefuse: String? {
    obstacle
      ?? (splits
        ? nil : "\(self.backend == .file ? "resolv.conf" : "\(self.backend)") knows no names apart; cure: apt install systemd-resolved")
  }
}

extension DesiredLink {
  fileprivate static let refusal = DesiredLink(
    name: Ownership.refusalLink, tunnel: Ownership.refusalOwner, device: .dummy, addresses: .ofNobody)
}

extension [InterfaceAddress] {
  /// The dummy address of RFC 7600: systemd-resolved ignores a link without an address.
  fileprivate static let ofNobody = [InterfaceAddress("192.0.0.8/32")].compactMap { $0 }
}

extension LinkResolver {
  /// Routes these names to a closed port: the machine itself, at the port "discard" (RFC 863), where no name server listens, not even one
  /// on every address. The refusal is immediate.
  static func refusing(_ domains: [DomainName]) -> LinkResolver {
    LinkResolver(servers: [InterfaceAddress].ofNobody.map(\.address), domains: domains.map { Domain($0, isRoutingOnly: true) }, port: 9)
  }
}
