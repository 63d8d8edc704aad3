package import KernelModel
import NetworkTypes

// The look-ups that start a tunnel under a decision.
extension TunnelPolicy {
  /// The rule that decided, if it is to start the tunnel by names.
  package func namingRule(of decision: Decision) -> Rule? {
    guard decision.outcome == .evaluateConnection, let index = decision.rule?.index, onDemand.rules.indices.contains(index - 1) else {
      return nil
    }
    return onDemand.rules[index - 1]
  }

  /// Whether look-ups are watched under this decision.
  package func watches(by decision: Decision) -> Bool { namingRule(of: decision).map { !watchedEntries(of: $0).isEmpty } ?? false }

  /// The watch under this decision.
  package func watch(by decision: Decision, on snapshot: NetworkSnapshot) -> NameWatch? {
    namingRule(of: decision).flatMap { watch(by: watchedEntries(of: $0), on: snapshot) }
  }

  /// The watch while no decision was made yet: by the first rule that starts the tunnel by names. `hasRoutes`: look-ups of its own names
  /// are packets into it. Otherwise a rule that would arm it watches these too, since they would be asked outside.
  func watchUntilDecided(on snapshot: NetworkSnapshot, hasRoutes: Bool) -> NameWatch? {
    onDemand.rules.lazy.map { hasRoutes ? watchedEntries(of: $0) : watchedEntries(of: $0, except: []) }.first { !$0.isEmpty }
      .flatMap { watch(by: $0, on: snapshot) }
  }

  /// The watch by these entries. A probe that is not answered starts the tunnel at each look-up of its names.
  private func watch(by rules: [ConnectionRule], on snapshot: NetworkSnapshot) -> NameWatch? {
    if rules.isEmpty { return nil }
    var entries: [NameWatch.Entry] = []
    var taken: [DomainList] = []
    for rule in rules {
      // The first entry that holds a name decides. In a name server the longest domain does, so a domain within an earlier one is left out.
      let domains = rule.domains.compactMap { pattern -> DomainName? in
        guard case .within(let name) = pattern else { return nil }
        return taken.contains { $0.holds(name) } ? nil : name
      }
      let holdsOthers = rule.domains.contains(.any) && !entries.contains(where: \.holdsOthers)
      taken.append(rule.domains)
      if domains.isEmpty && !holdsOthers { continue }
      entries.append(NameWatch.Entry(domains: domains.uniqued(), holdsOthers: holdsOthers, fate: rule.fate(on: snapshot)))
    }
    return NameWatch(tunnel: name, servers: dnsInForce.servers, entries: entries)
  }
}

extension ConnectionRule {
  fileprivate func fate(on snapshot: NetworkSnapshot) -> NameWatch.Fate {
    switch action {
    case .neverConnect: .never
    case .connectAlways: .always
    case .connectIfNeeded:
      if let probe, snapshot.answer(to: probe).value == false { .always } else { .ifNeeded(servers: servers) }
    }
  }
}
