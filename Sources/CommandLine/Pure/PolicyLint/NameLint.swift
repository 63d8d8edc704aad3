import KernelModel
import NetworkTypes
import RoamwardCore

/// Finds domains that two tunnels claim for their own servers. A domain below another tunnel's domain is intended: the longer name wins.
/// Tunnels that the rules never have up on one network are no rivals.
func overlappingDomains(of tunnels: [TunnelPolicy], _ together: inout TunnelsTogether) -> [LintFinding] {
  var claims: [DomainName: [Int]] = [:]
  var findings: [LintFinding] = []
  for (i, tunnel) in tunnels.enumerated() {
    for domain in tunnel.matchDomainNames {
      let others = claims[domain] ?? []
      guard tunnel.isApplied, !others.contains(i) else { continue }
      claims[domain, default: []].append(i)
      guard let other = others.first(where: { together.mayBeUp($0, i) }) else { continue }
      let first = tunnels[other]
      findings.append(
        LintFinding(
          .overlappingDomains,
          "`\(tunnel.name)` and `\(first.name)` (\(first.location.short)) both answer for \(domain): with both up, only one is asked",
          help: "leave the domain to one of them, or give one the narrower names that it answers for", at: tunnel.location,
          related: first.location))
    }
  }
  return findings
}

/// Finds tunnels that capture questions, and leave their names to the network while they are down.
func namesOutside(of tunnel: TunnelPolicy) -> [LintFinding] {
  let dns = tunnel.dnsInForce
  // If look-ups start the tunnel, they are captured for that.
  let isStarted = tunnel.onDemand.isEnabled && tunnel.onDemand.rules.contains { $0.action == .evaluateConnection }
  guard dns.names == .capture, dns.isSplit, dns.whenDown == .ask, !isStarted else { return [] }
  return [
    LintFinding(
      .capturedWhileUp, "`\(tunnel.name)` captures questions only while it is up, so its names are asked outside whenever it is down",
      help: "add `when-down: refuse` beside `names: capture`", at: tunnel.location)
  ]
}

/// Finds tunnels for a part of the addresses, whose file of wg-quick names domains: wg-quick asks the file's servers for all names, also
/// for those of other networks. A policy with `dns` of its own says which of the two is meant.
func allNames(of tunnel: TunnelPolicy) -> [LintFinding] {
  let dns = tunnel.dnsInForce
  guard tunnel.dns == nil, !dns.servers.isEmpty, !dns.searchDomains.isEmpty, !dns.isSplit, tunnel.knownIncludes != nil,
    !tunnel.takesEverything
  else { return [] }
  let servers = dns.servers.map(\.description).joined(separator: ", ")
  let domains = dns.searchDomains.map(\.text).joined(separator: ", ")
  return [
    LintFinding(
      .allNames, "all names are asked of \(servers) while `\(tunnel.name)` is up, though it takes a part of the addresses only",
      help: "for names of \(domains) alone, add `dns: { servers: [\(servers)], match-domains: [\(domains)] }`; for all names, add"
        + " `dns: { servers: [\(servers)], search-domains: [\(domains)] }`", at: tunnel.location)
  ]
}

/// Finds domains of `rebind-allowed` whose names the tunnel's own servers resolve: their answers are never withheld.
func pointlessRebinding(in tunnel: TunnelPolicy) -> [LintFinding] {
  let dns = tunnel.dnsInForce
  if dns.servers.isEmpty { return [] }
  return dns.rebindAllowed.filter { domain in !dns.isSplit || dns.ownDomains.contains(where: domain.isWithin) }.map {
    LintFinding(
      .pointlessRebind, "`rebind-allowed` of `\(tunnel.name)` changes nothing for \($0): the tunnel's own servers answer for it",
      help: "remove it; answers of a tunnel's servers are never withheld", at: tunnel.location)
  }
}

/// Finds domains of `include-domains` and `exclude-domains` that change nothing, and included names whose addresses no peer takes.
func routedNames(of tunnel: TunnelPolicy) -> [LintFinding] {
  guard let routes = tunnel.routes, tunnel.routesByName else { return [] }
  var findings: [LintFinding] = []
  func add(_ key: String, _ domain: DomainName, _ reason: String, help: String) {
    findings.append(
      LintFinding(
        .pointlessDomain, "`\(key)` of `\(tunnel.name)` changes nothing for \(domain): \(reason)", help: help, at: tunnel.location))
  }
  for domain in routes.includeDomains {
    if routes.excludeDomains.contains(domain) {
      add("include-domains", domain, "`exclude-domains` has it too", help: "remove one of the two")
    } else if tunnel.takesEverything, !routes.excludeDomains.contains(where: domain.isWithin), routes.exclude.isEmpty {
      add("include-domains", domain, "the tunnel includes everything", help: "remove it, or remove `default` from `include`")
    }
  }
  let isByNameAlone = routes.include.isEmpty && !routes.includeDomains.isEmpty && !tunnel.includesAllNetworks
  for domain in routes.excludeDomains where isByNameAlone && !routes.includeDomains.contains(where: domain.isWithin) {
    add("exclude-domains", domain, "nothing but the names of `include-domains` goes through it", help: "remove it")
  }
  if case .wireGuard(let provider) = tunnel.provider, let configuration = provider.configuration, !routes.includeDomains.isEmpty,
    !IPAddress.Family.allCases.contains(where: configuration.destinations.coverEverything)
  {
    findings.append(
      LintFinding(
        .namesBeyondPeers,
        "`\(tunnel.name)` includes names, but its peers take some addresses only (AllowedIPs): packets to others are lost",
        help: "set `AllowedIPs = 0.0.0.0/0, ::/0` for the peer that leads there; `routes:` decides what goes through the tunnel",
        at: tunnel.location))
  }
  return findings
}

/// Finds domains whose names two tunnels include: with both up, their addresses go through the first.
func overlappingNames(of tunnels: [TunnelPolicy], _ together: inout TunnelsTogether) -> [LintFinding] {
  var claims: [DomainName: [Int]] = [:]
  var findings: [LintFinding] = []
  for (i, tunnel) in tunnels.enumerated() where tunnel.isApplied {
    for domain in (tunnel.routes?.includeDomains ?? []).uniqued() {
      let other = (claims[domain] ?? []).first { together.mayBeUp($0, i) }
      claims[domain, default: []].append(i)
      guard let other else { continue }
      let first = tunnels[other]
      findings.append(
        LintFinding(
          .overlappingNames,
          "`\(tunnel.name)` and `\(first.name)` (\(first.location.short)) both include the names of \(domain): with both up, one gets them",
          help: "leave the domain to one of them", at: tunnel.location, related: first.location))
    }
  }
  return findings
}

/// Finds peers whose name is looked up through a tunnel that may need it to connect.
func endpointsInside(_ tunnels: [TunnelPolicy], _ together: inout TunnelsTogether) -> [LintFinding] {
  var claims: [DomainName: [Int]] = [:]
  for (i, tunnel) in tunnels.enumerated() where tunnel.isApplied {
    for domain in tunnel.matchDomainNames.uniqued() { claims[domain, default: []].append(i) }
  }
  var findings: [LintFinding] = []
  for (i, tunnel) in tunnels.enumerated() {
    guard case .wireGuard(let provider) = tunnel.provider, let configuration = provider.configuration else { continue }
    let endpoints = configuration.peers.compactMap(\.endpoint).uniqued()
    for case .name(let name) in endpoints.map(\.host) {
      let holders = name.selfAndParents.flatMap { domain in (claims[domain] ?? []).map { (tunnel: $0, domain: domain) } }
      let own = holders.first { $0.tunnel == i }
      guard let holder = own ?? holders.first(where: { together.mayBeUp($0.tunnel, i) }) else { continue }
      let other = tunnels[holder.tunnel]
      let whose = holder.tunnel == i ? "its own" : "`\(other.name)`'s (\(other.location.short))"
      findings.append(
        LintFinding(
          .endpointInDomains, "the endpoint \(name) of `\(tunnel.name)` lies in \(whose) match-domains, within \(holder.domain)",
          help: "name the endpoint by its address or outside of that domain, or narrow `match-domains`", at: tunnel.location,
          related: holder.tunnel == i ? nil : other.location))
    }
  }
  return findings
}
