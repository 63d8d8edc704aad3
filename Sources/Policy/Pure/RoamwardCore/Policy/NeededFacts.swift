import NetworkTypes

extension PolicySet {
  /// The facts that policies need; others are not gathered. They include the facts in rules and networks, and name servers if an endpoint
  /// or a probe's host has to be looked up. They include domains if a tunnel brings a resolv.conf of its own, which keeps the network's
  /// search list.
  package var neededFacts: Set<FactKind> {
    var needed: Set<FactKind> = [.type, .ssid]
    for key in keys { if let fact = key.kind { needed.insert(fact) } }
    if asksTheNetwork || tunnels.contains(where: \.provider.bringsAddresses) { needed.insert(.dnsServers) }
    if tunnels.contains(where: { !$0.dnsInForce.servers.isEmpty || $0.mayWatch }) { needed.formUnion([.searchDomains, .dnsServers]) }
    return needed
  }

  /// Whether the agent may have to look up a name or send a probe.
  package var asksTheNetwork: Bool {
    tunnels.contains(where: \.provider.needsLookup) || keys.contains { $0.evidence != nil } || !probesOfNames.isEmpty
  }

  /// The probes of `connect-if-needed` entries.
  package var probesOfNames: [Probe] { tunnels.flatMap { $0.onDemand.rules.flatMap { $0.connections.compactMap(\.probe) } }.uniqued() }

  /// All time windows that rules or networks contain.
  package var timeWindows: [TimeWindow] {
    keys.compactMap { $0.wanted(of: FactTable.time) }.uniqued()
  }

  /// Every key of every match.
  var keys: [Condition] {
    networks.flatMap(\.condition.keys) + tunnels.flatMap { $0.onDemand.rules.flatMap(\.match.keys) }
  }
}

extension Condition {
  fileprivate var keys: [Condition] {
    switch self {
    case .all(let parts), .any(let parts): parts.flatMap(\.keys)
    case .not(let part): part.keys
    default: [self]
    }
  }
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
