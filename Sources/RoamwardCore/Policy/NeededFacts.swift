import NetworkTypes

extension PolicySet {
  /// The facts that rules and networks ask for; name servers where an endpoint or the host of a probe has to be looked up; domains where a
  /// tunnel brings a resolv.conf of its own, in which the network's search list stays. The others are not gathered.
  package var neededFacts: Set<FactKind> {
    var needed: Set<FactKind> = [.type, .ssid]
    for key in keys { if let fact = key.kind { needed.insert(fact) } }
    if asksTheNetwork { needed.insert(.dnsServers) }
    if tunnels.contains(where: { !$0.dnsInForce.servers.isEmpty }) { needed.insert(.searchDomains) }
    return needed
  }

  /// Whether the agent may have to look up a name or send a probe.
  package var asksTheNetwork: Bool { tunnels.contains(where: \.provider.needsLookup) || keys.contains { $0.evidence != nil } }

  /// All windows of the clock that rules or networks ask for.
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
  fileprivate var needsLookup: Bool {
    guard case .wireGuard(let provider) = self else { return false }
    return provider.configuration.needsLookup
  }
}
