import NetworkTypes

/// The facts that follow from a set of policies alone: the places of tunnels, the facts and probes that rules ask for.
final class PolicyFacts: Sendable {
  /// The places of tunnels in the set, by name.
  let places: [String: Int]
  let needed: Set<FactKind>
  let asksTheNetwork: Bool
  let probes: [Probe]
  let probesOfNames: [Probe]
  let timeWindows: [TimeWindow]
  /// Whether a rule or a named network asks for evidence.
  let hasEvidence: Bool
  /// Whether a tunnel brings name servers, or rules watch look-ups.
  let bringsNames: Bool
  /// Whether a policy concerns the firewall.
  let concernsFirewall: Bool
  let capturesNames: Bool
  let concerns: TunnelConcerns
  let sieve: SieveOfSet

  init(networks: [NamedNetwork], tunnels: [TunnelPolicy], groups: [TunnelGroup]) {
    places = Dictionary(zip(tunnels.map(\.name), tunnels.indices)) { first, _ in first }
    var needed: Set<FactKind> = [.type, .ssid]
    var (probes, windows, hasEvidence) = ([Probe](), [TimeWindow](), false)
    func ask(_ condition: Condition) {
      switch condition {
      case .all(let parts), .any(let parts): for part in parts { ask(part) }
      case .not(let part): ask(part)
      case .network: break
      case .criterion:
        if let kind = condition.kind { needed.insert(kind) }
        if condition.evidence != nil { hasEvidence = true }
        if let probe = condition.wanted(of: FactTable.probe) { probes.append(probe) }
        if let window = condition.wanted(of: FactTable.time) { windows.append(window) }
      }
    }
    for network in networks { ask(network.condition) }
    for tunnel in tunnels { for rule in tunnel.onDemand.rules { ask(rule.match) } }
    probesOfNames = tunnels.flatMap { $0.onDemand.rules.flatMap { $0.connections.compactMap(\.probe) } }.uniqued()
    self.probes = (probes + probesOfNames).uniqued()
    timeWindows = windows.uniqued()
    self.hasEvidence = hasEvidence
    bringsNames = tunnels.contains { !$0.dnsInForce.servers.isEmpty || $0.mayWatch || $0.routesByName }
    concernsFirewall = tunnels.contains(where: touchesFirewall)
    capturesNames = tunnels.contains { $0.dnsInForce.names == .capture }
    concerns = TunnelConcerns(tunnels, groups: groups)
    sieve = SieveOfSet(tunnels)
    asksTheNetwork = hasEvidence || !probesOfNames.isEmpty || tunnels.contains(where: \.provider.needsLookup)
    if asksTheNetwork || tunnels.contains(where: \.provider.bringsAddresses) { needed.insert(.dnsServers) }
    if bringsNames { needed.formUnion([.searchDomains, .dnsServers]) }
    if !concerns.owners.isEmpty { needed.insert(.users) }
    self.needed = needed
  }
}

/// The tunnels that concern others, names or the firewall while they are down, and those that do not.
struct TunnelConcerns: Sendable {
  /// The tunnels that concern nothing: no names, no firewall, and no proxies. One firewall of a tunnel concerns all others.
  let passive: Set<String>
  /// The tunnels that concern no other tunnel, no names and no firewall.
  let alone: Set<String>
  /// The tunnels whose kill switch is active while their rules may want them, and not by `always`.
  let guarded: [TunnelPolicy]
  /// The WireGuard tunnels that look-ups may start.
  let startedByLookups: [TunnelPolicy]
  /// The place of the group of each tunnel that is in one.
  let groups: [String: Int]
  /// The owners of the tunnels that have one.
  let owners: [String: UserName]

  init(_ tunnels: [TunnelPolicy], groups: [TunnelGroup]) {
    let members = groups.enumerated().flatMap { place, group in group.members.map { ($0.name, place) } }
    self.groups = Dictionary(members) { first, _ in first }
    owners = Dictionary(tunnels.compactMap { tunnel in tunnel.availability.owner.map { (tunnel.name, $0) } }) { first, _ in first }
    let outer = Set(tunnels.compactMap { $0.through?.name }).union(self.groups.keys)
    let quiet = tunnels.filter { !concernsNamesWhileDown($0) }
    passive = tunnels.contains(where: touchesFirewall) ? [] : Set(quiet.lazy.filter { !$0.publishesProxies }.map(\.name))
    alone = Set(quiet.lazy.filter { !touchesFirewall($0) && $0.through == nil }.map(\.name)).subtracting(outer)
    guarded = tunnels.filter { $0.guarding == .on && $0.isEnabled && $0.onDemand.isEnabled }
    startedByLookups = tunnels.filter { $0.provider.isWireGuard && $0.through == nil && $0.mayWatch }
  }
}

extension PolicySet {
  /// The facts that policies need; others are not gathered. They include the facts in rules and networks, and name servers if an endpoint
  /// or a probe's host has to be looked up. They include domains if a tunnel brings a resolv.conf of its own, which keeps the network's
  /// search list.
  package var neededFacts: Set<FactKind> { facts.needed }

  /// Whether the agent may have to look up a name or send a probe.
  package var asksTheNetwork: Bool { facts.asksTheNetwork }

  /// Every probe that a rule, an entry of names or a named network contains, each once.
  package var probes: [Probe] { facts.probes }

  /// The probes of `connect-if-needed` entries.
  package var probesOfNames: [Probe] { facts.probesOfNames }

  /// All time windows that rules or networks contain.
  package var timeWindows: [TimeWindow] { facts.timeWindows }

  /// Whether a tunnel brings name servers, or rules watch look-ups.
  package var bringsNames: Bool { facts.bringsNames }

  /// Whether a policy concerns the firewall, whatever state its tunnel is in.
  package var concernsFirewall: Bool { facts.concernsFirewall }

  /// Whether the names of programs with name servers of their own are captured for a tunnel.
  package var capturesNames: Bool { facts.capturesNames }

  /// Whether a tunnel concerns nothing while it is down.
  package func isPassive(_ tunnel: String) -> Bool { facts.concerns.passive.contains(tunnel) }

  /// The rules of all tunnels.
  var sieve: SieveOfSet { facts.sieve }

  /// Whether a tunnel concerns no other tunnel, no names and no firewall while it is down.
  func concernsItselfAlone(_ tunnel: String) -> Bool { facts.concerns.alone.contains(tunnel) }
}

private func concernsNamesWhileDown(_ tunnel: TunnelPolicy) -> Bool {
  tunnel.dnsInForce.refusesWhenDown || tunnel.routesByName || tunnel.onDemand.rules.contains { $0.action == .evaluateConnection }
}

private func touchesFirewall(_ tunnel: TunnelPolicy) -> Bool {
  tunnel.guarding != .off || tunnel.takesEverything || tunnel.routes?.isEnforced == true || tunnel.routes?.answersByArrival == true
}

extension ProviderConfiguration {
  /// Whether addresses of a tunnel are judged when its provider names them.
  fileprivate var bringsAddresses: Bool { if case .installed = self { true } else { false } }

  /// Whether the agent may have to resolve a name for it.
  fileprivate var needsLookup: Bool {
    switch self {
    case .wireGuard(let provider): provider.configuration?.needsLookup ?? false
    case .installed(let provider): provider.program.needs.contains(.resolve)
    // Their programs resolve names themselves.
    case .command, .service: false
    }
  }
}
