import NetworkTypes

/// The look-ups that start a tunnel which no packet starts: one that cannot be armed, and names of an armed one that are not its own
/// (docs/decisions/0034-a-look-up-of-a-watched-name-starts-its-tunnel.md).
extension TunnelPolicy {
  /// The entries of this rule that the name server has to watch, in order; empty: it watches nothing.
  package func watchedEntries(of rule: Rule) -> [ConnectionRule] {
    watchedEntries(of: rule, except: armingObstacle(of: rule) == nil ? dnsInForce.ownDomains : [])
  }

  /// The entries of this rule that the name server has to watch, without names of `own`, whose look-ups are packets into the tunnel.
  func watchedEntries(of rule: Rule, except own: [DomainName]) -> [ConnectionRule] {
    guard rule.action == .evaluateConnection else { return [] }
    let watched = rule.connections.compactMap { entry -> ConnectionRule? in
      var entry = entry
      if entry.action != .neverConnect { entry.domains = DomainList(entry.domains.filter { !$0.isWithin(anyOf: own) }) }
      return entry.domains.isEmpty ? nil : entry
    }
    return watched.contains { $0.action != .neverConnect } ? watched : []
  }

  /// Whether any rule may need our name server.
  package var mayWatch: Bool { onDemand.rules.contains { !watchedEntries(of: $0).isEmpty } }
}
