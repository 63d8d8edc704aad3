import KernelModel
import NetworkTypes

extension DesiredState {
  /// Applies the tunnels' name servers by this host's DNS backend. The tunnels are in the order in which they win conflicts.
  /// `isWatching`: look-ups of other names start a tunnel.
  mutating func applyDNS(of tunnels: [TunnelSetup], on underlay: UnderlayFit, isWatching: Bool) {
    let choice = underlay.resolver
    let tunnels = takingNames(withoutServersOf(underlay.familiesOff, tunnels).filter { !$0.dns.servers.isEmpty }, by: choice)
    guard !tunnels.isEmpty else { return }
    if let obstacle = choice.obstacle {
      notes += tunnels.map { Remark(.dnsLimited, of: $0.policy.name, "its name servers are not applied: \(obstacle)") }
    }
    if let remark = choice.remark { notes += tunnels.map { Remark(.dnsLimited, of: $0.policy.name, remark) } }
    for tunnel in tunnels { recordServersOutside(tunnel) }
    if choice.asksResolvedToo { applyLinks(of: tunnels, by: choice) }
    // Both ways may have the same limits.
    defer { notes = notes.uniqued() }
    if choice.hasNameServer, isWatching || tunnels.count > 1 || tunnels.contains(where: \.dns.isSplit) {
      return applyNameServer(of: tunnels, on: underlay)
    }
    switch choice.backend {
    case .resolved: applyLinks(of: tunnels, by: choice)
    case .resolvconf(let program): applyRecord(of: tunnels, program, on: underlay)
    case .file: applyFile(of: tunnels, on: underlay)
    case .none: break
    }
  }

  /// The tunnels without the name servers of a family that this machine has switched off: no question reaches them.
  private mutating func withoutServersOf(_ families: Set<IPAddress.Family>, _ tunnels: [TunnelSetup]) -> [TunnelSetup] {
    if families.isEmpty { return tunnels }
    return tunnels.compactMap { tunnel in
      var dns = tunnel.dns
      let lost = dns.servers.filter { families.contains($0.family) }
      if lost.isEmpty { return tunnel }
      dns.servers.removeAll { families.contains($0.family) }
      let names = lost.map(\.description).joined(separator: ", ")
      notes.append(
        Remark(.familyOff, of: tunnel.policy.name, "IPv6 is switched off on this machine, so its name server \(names) is left out"))
      if dns.servers.isEmpty { return nil }
      var tunnel = tunnel
      tunnel.policy.dns = dns
      return tunnel
    }
  }

  /// Records servers outside the tunnel: without a route of the tunnel, queries to them are sent in clear text.
  private mutating func recordServersOutside(_ tunnel: TunnelSetup) {
    let included = tunnel.includedPrefixes
    guard tunnel.link != nil, !included.isEmpty else { return }
    let outside = tunnel.dns.servers.filter { server in
      !included.hold(server) || tunnel.policy.routes?.exclude.hold(server) ?? false
    }
    if !outside.isEmpty {
      let names = outside.map(\.description).joined(separator: ", ")
      notes.append(
        Remark(
          .dnsLimited, of: tunnel.policy.name,
          "its name server \(names) lies outside of its routes, so queries to it bypass the tunnel; cure: add it to `include`"))
    }
  }

  // MARK: systemd-resolved

  /// Sets each link's own servers. Of two tunnels that claim the same names only the first gets them: the resolver would query both, and
  /// take the first answer.
  private mutating func applyLinks(of tunnels: [TunnelSetup], by choice: ResolverChoice) {
    let (rivals, validates) = (choice.rivals, choice.validates)
    var claims: [LinkResolver.Domain: String] = [:]
    for tunnel in tunnels {
      let name = tunnel.policy.name
      guard let link = tunnel.link else {
        notes.append(Remark(.dnsLimited, of: name, "its name servers are not applied, because its provider names no interface"))
        continue
      }
      let dns = tunnel.dns
      var domains = dns.searchDomains.uniqued().map { LinkResolver.Domain($0) }
      let searched = Set(dns.searchDomains)
      for case .within(let domain) in dns.matchDomains.uniqued() where !searched.contains(domain) {
        domains.append(LinkResolver.Domain(domain, isRoutingOnly: true))
      }
      if !dns.isSplit { domains.append(.root) }
      var lost: [LinkResolver.Domain] = []
      domains.removeAll { domain in
        let key = LinkResolver.Domain(domain.name)
        guard let other = claims[key] else {
          claims[key] = name
          return false
        }
        lost.append(domain)
        notes.append(
          Remark(
            .dnsLimited, of: name, "its name servers get no queries for \(domain.name?.text ?? "every name"), because those of \(other) are"
          )
        )
        return true
      }
      let takesAll = !dns.isSplit && !lost.contains(.root)
      if takesAll, let rival = rivals.first {
        notes.append(
          Remark(
            .dnsLimited, of: name,
            "\(rival) claims every name too (`~.`), so its servers get the same queries as the tunnel's; cure: resolvectl domain \(rival) \"\""
          ))
      }
      resolvedLinks[link] = LinkResolver(servers: dns.servers, domains: domains, isDefaultRoute: takesAll)
      resolvedLinks[link]?.dnssec = dns.validation
      if takesAll, dns.dnssec == nil, validates {
        notes.append(
          Remark(
            .dnsLimited, of: name,
            "this machine validates answers of its name servers (DNSSEC=yes in resolved.conf), so names of private zones may not resolve;"
              + " cure: `dns: { dnssec: no }`"))
      }
    }
  }

  // MARK: One list for all names

  /// The first tunnel with servers gets the list: one list has no split DNS.
  private mutating func only(_ tunnels: [TunnelSetup], of keeper: String, on underlay: UnderlayFit) -> TunnelSetup? {
    for tunnel in tunnels.dropFirst() {
      notes.append(
        Remark(.dnsLimited, of: tunnel.policy.name, "its name servers are not used, because \(keeper) serves another tunnel already"))
    }
    guard let tunnel = tunnels.first else { return nil }
    let name = tunnel.policy.name
    listOwner = name
    if tunnel.dns.isSplit {
      let reason = underlay.resolver.troubleOfNameServer
      let names = tunnel.dns.matchDomains.map(\.description).joined(separator: ", ")
      notes.append(
        Remark(
          .dnsLimited, of: name,
          "split DNS is not possible with \(keeper)\(reason), so its servers answer for all names, not for \(names) alone; cure: \(underlay.resolver.cureForNames)"
        ))
    }
    if tunnel.dns.servers.count > ResolvConf.maximumNameServers {
      notes.append(
        Remark(.dnsLimited, of: name, "resolv.conf takes \(ResolvConf.maximumNameServers) name servers; the others are left out"))
    }
    return tunnel
  }

  private mutating func applyFile(of tunnels: [TunnelSetup], on underlay: UnderlayFit) {
    guard let tunnel = only(tunnels, of: "resolv.conf", on: underlay) else { return }
    resolvConf = ResolvConf(
      nameServers: Array(tunnel.dns.servers.prefix(ResolvConf.maximumNameServers)),
      searchDomains: (tunnel.dns.searchDomains + underlay.searchDomains).uniqued())
  }

  private mutating func applyRecord(of tunnels: [TunnelSetup], _ program: ResolvconfProgram, on underlay: UnderlayFit) {
    guard let tunnel = only(tunnels, of: program.rawValue, on: underlay) else { return }
    let others = program == .openresolv ? underlay.searchDomains : []
    let content = ResolvConf(
      nameServers: Array(tunnel.dns.servers.prefix(ResolvConf.maximumNameServers)),
      searchDomains: (tunnel.dns.searchDomains + others).uniqued())
    record = ResolverRecord(content, program: program)
    if program == .debian, content.nameServers.count < ResolvConf.maximumNameServers {
      notes.append(
        Remark(
          .dnsLimited, of: tunnel.policy.name,
          "resolvconf lists the network's own name servers after the tunnel's, so they get a query that those do not answer;"
            + " cure: \(underlay.resolver.cureForNames)"))
    }
  }
}

extension ResolverChoice {
  /// The cure that makes split DNS possible here: a change for our own name server, or a resolver service.
  var cureForNames: String {
    let another = "apt install systemd-resolved"
    guard let reason = reasonOfNameServer, let seam = reason.firstRange(of: Self.seam) else { return another }
    return "\(reason[seam.upperBound...]); or \(another)"
  }

  /// The reason why our own name server does not serve this host, in brackets, without its cure; empty if it was not asked.
  package var troubleOfNameServer: String {
    guard let reason = reasonOfNameServer else { return "" }
    return " (\(reason[..<(reason.firstRange(of: Self.seam)?.lowerBound ?? reason.endIndex)]))"
  }

  private static let seam = "; cure: "

  private var reasonOfNameServer: String? {
    backend == .resolved || reasonAgainstNameServer == HostReports.notAsked ? nil : reasonAgainstNameServer
  }
}
