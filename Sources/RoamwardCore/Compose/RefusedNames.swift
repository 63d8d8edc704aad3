import KernelModel
package import NetworkTypes

extension DesiredState {
  /// The names of tunnels that are not up (`down`) go nowhere where their policies say so: to a link of ours with a name server that nobody
  /// is. It stays as long as such a policy does, so that in the moment when a tunnel goes nothing has to be made first.
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

  /// Leaves what an earlier agent refused as it is: nobody knows yet what is wanted.
  package mutating func keepRefusal(of observed: ObservedState) {
    guard observed.kernel.link(named: Ownership.refusalLink).map({ Ownership.tunnel(ofAlias: $0.alias) != nil }) ?? false else { return }
    links.append(.refusal)
    resolvedLinks[Ownership.refusalLink] = observed.resolver.links[Ownership.refusalLink]
  }

  /// The domains whose names are refused.
  package var refusedDomains: [DomainName] { resolvedLinks[Ownership.refusalLink]?.domains.compactMap(\.name) ?? [] }
}

extension DNSPolicy {
  /// Whether its names are not to be asked elsewhere while the tunnel is not up.
  package var refusesWhenDown: Bool { whenDown == .refuse && isSplit && !servers.isEmpty }

  /// The domains that are the tunnel's own.
  package var ownDomains: [DomainName] {
    let matched = matchDomains.compactMap { if case .within(let domain) = $0 { domain } else { nil } }
    return (searchDomains + matched).uniqued()
  }
}

extension ResolverChoice {
  /// Why names cannot be kept from the network's servers by whoever keeps the resolver; `nil` where they can.
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
  /// The address for what has none (RFC 7600): systemd-resolved asks no link without one.
  fileprivate static let ofNobody = [InterfaceAddress("192.0.0.8/32")].compactMap { $0 }
}

extension LinkResolver {
  /// Leads these names to where nobody answers: the machine itself, at the port "discard" (RFC 863), where no name server listens, not even
  /// one that listens at every address. The refusal comes back at once.
  static func refusing(_ domains: [DomainName]) -> LinkResolver {
    LinkResolver(servers: [InterfaceAddress].ofNobody.map(\.address), domains: domains.map { Domain($0, isRoutingOnly: true) }, port: 9)
  }
}
