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
    let refused = down.filter(\.refusesNames).sorted { $0.policy.name < $1.policy.name }.flatMap(\.policy.dnsInForce.ownDomains).uniqued()
    if underlay.resolver.hasNameServer { refuseNames(in: refused, on: underlay) }
    guard underlay.resolver.backend == .resolved || underlay.resolver.asksResolvedToo else { return }
    let claimed = Set(resolvedLinks.values.flatMap(\.domains).map(\.name))
    let domains = refused.filter { !claimed.contains($0) }
    links.append(.refusal)
    resolvedLinks[Ownership.refusalLink] = .refusing(domains)
  }

  /// Keeps the names that an earlier agent refused: no decision exists yet.
  package mutating func keepRefusal(of observed: ObservedState) {
    guard observed.kernel.link(named: Ownership.refusalLink).map({ Ownership.tunnel(ofAlias: $0.alias) != nil }) ?? false else { return }
    links.append(.refusal)
    resolvedLinks[Ownership.refusalLink] = observed.resolver.links[Ownership.refusalLink]
  }

  /// Keeps programs led to our own name server, as an earlier agent left them. No decision exists yet: if the network's servers got the
  /// queries for a moment, they would get those for names that only a tunnel may see.
  package mutating func keepLead(of observed: ObservedState) {
    if case .file(let text) = observed.resolvConf, observed.resolvConf.isOurs, ResolvConf(parsing: text).namesOwnServer {
      resolvConf = ResolvConf(parsing: text)
    }
    for (name, content) in observed.resolver.records where content.namesOwnServer {
      record = ResolverRecord(name: name, program: observed.resolver.facts.resolvconf ?? .debian, content: content)
    }
  }

  /// The domains whose names are refused.
  package var refusedDomains: [DomainName] {
    nameServer?.refused ?? resolvedLinks[Ownership.refusalLink]?.domains.compactMap(\.name) ?? []
  }
}

extension DNSPolicy {
  /// Whether the tunnel's names must not be resolved elsewhere while it is down.
  package var refusesWhenDown: Bool { whenDown == .refuse && isSplit && !servers.isEmpty }
}

extension ResolverChoice {
  /// The reason why this DNS backend cannot keep names from the network's servers; `nil` if it can.
  package var reasonNotToRefuse: String? {
    obstacle
      ?? (splits
        ? nil
        : "\(self.backend == .file ? "resolv.conf" : "\(self.backend)") knows no names apart\(troubleOfNameServer); cure: \(cureForNames)")
  }
}

extension DesiredLink {
  static let refusal = DesiredLink(
    name: Ownership.refusalLink, tunnel: Ownership.refusalOwner, device: .dummy, addresses: .ofDummy)
}

extension [InterfaceAddress] {
  /// The dummy address of RFC 7600: systemd-resolved ignores a link without an address.
  fileprivate static let ofDummy = [InterfaceAddress(NameServerSettings.addressOnLink, prefixLength: 32)].compactMap { $0 }
}

extension LinkResolver {
  /// Routes these names to a closed port: the machine itself, at the port "discard" (RFC 863), where no name server listens, not even one
  /// on every address. The refusal is immediate.
  static func refusing(_ domains: [DomainName]) -> LinkResolver {
    LinkResolver(servers: [InterfaceAddress].ofDummy.map(\.address), domains: domains.map { Domain($0, isRoutingOnly: true) }, port: 9)
  }
}
