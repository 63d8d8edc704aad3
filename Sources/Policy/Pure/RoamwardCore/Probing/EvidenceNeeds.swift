package import NetworkTypes

extension Evaluator {
  /// The evidence that a tunnel's rules need before they can decide, and the evidence that the decision depends on now.
  ///
  /// A rule's evidence counts only if the rule is reached and every cheaper key beside it matches; an unknown one is awaited first. So
  /// other answers cannot change the decision, unless it waits for a cheaper key.
  package func evidence(
    for tunnel: TunnelPolicy, on snapshot: NetworkSnapshot, patience: Patience = .waits
  ) -> Set<Evidence> {
    guard let context = EvaluationContext(snapshot) else { return [] }
    var needed = Set<Evidence>()
    let rules = tunnel.onDemand.rules
    for (i, rule) in rules.enumerated() {
      let support = support(of: rule.match, on: context)
      needed.formUnion(support.evidence)
      var holds = support.truth
      let isAwaited = holds == .unknown && patience == .waits && isAwaitingFact(rule.match, on: context)
      if holds == .unknown, !isAwaited, let counts = rule.onUnknown { holds = Truth(counts == .match) }
      if holds == .yes {
        // The probes of names, which decide whether a look-up starts the tunnel.
        needed.formUnion(tunnel.watchedEntries(of: rule).compactMap(\.probe).map { .probe($0) })
      }
      if holds == .yes || isAwaited || holds == .unknown && isSettled(by: i, of: rules, on: context) { break }
    }
    return needed
  }

  /// The evidence needed to decide whether the machine is on one of the networks on which a tunnel allows the LAN.
  func evidenceForLAN(of tunnel: TunnelPolicy, on snapshot: NetworkSnapshot) -> Set<Evidence> {
    guard let names = tunnel.routes?.lanNetworks, !names.isEmpty, let context = EvaluationContext(snapshot) else { return [] }
    return support(of: .network(names), on: context).evidence
  }

  /// A verdict, and the evidence that it depends on: none if keys without a request settle it.
  private struct Support {
    var truth: Truth
    var evidence = Set<Evidence>()

    var isFree: Bool { evidence.isEmpty }
  }

  private func support(of condition: Condition, on context: EvaluationContext) -> Support {
    switch condition {
    case .all(let parts): return all(parts.map { support(of: $0, on: context) })
    case .any(let parts): return any(parts.map { support(of: $0, on: context) })
    case .network(let names): return any(names.map { support(of: networks[$0] ?? .never, on: context) })
    case .not(let part):
      let support = support(of: part, on: context)
      return Support(truth: !support.truth, evidence: support.evidence)
    case .criterion(let criterion):
      return Support(truth: criterion.holds(on: context), evidence: criterion.evidence.map { [$0] } ?? [])
    }
  }

  private func all(_ parts: [Support]) -> Support {
    if let settling = settling(parts, .no) { return settling }
    let isUnknown = parts.contains { $0.truth == .unknown }
    // Cheaper keys come first: no request is sent to the network before they are known to match.
    if parts.contains(where: { $0.truth == .unknown && $0.isFree }) { return Support(truth: .unknown) }
    return Support(truth: isUnknown ? .unknown : .yes, evidence: parts.reduce(into: []) { $0.formUnion($1.evidence) })
  }

  /// An empty list is an absent key, as in `Evaluator`.
  private func any(_ parts: [Support]) -> Support {
    if parts.isEmpty { return Support(truth: .yes) }
    if let settling = settling(parts, .yes) { return settling }
    let isUnknown = parts.contains { $0.truth == .unknown }
    return Support(truth: isUnknown ? .unknown : .no, evidence: parts.reduce(into: []) { $0.formUnion($1.evidence) })
  }

  /// The part that settles the verdict alone, preferably one without a request.
  private func settling(_ parts: [Support], _ truth: Truth) -> Support? {
    let settling = parts.filter { $0.truth == truth }
    return settling.first(where: \.isFree) ?? settling.first
  }
}

extension DecisionScheduler {
  /// The evidence that the active rules need from the network, and no more. If a wait is over at `now`, the rules after an unknown one need
  /// it too.
  package func evidence(for policies: PolicySet, _ snapshot: NetworkSnapshot, at now: Moment) -> Set<Evidence> {
    if !policies.facts.hasEvidence, policies.facts.probesOfNames.isEmpty { return [] }
    let evaluator = Evaluator(networks: policies.networks)
    return policies.tunnels.reduce(into: []) { needed, tunnel in
      guard tunnel.isEnabled else { return }
      needed.formUnion(evaluator.evidenceForLAN(of: tunnel, on: snapshot))
      guard tunnel.onDemand.isEnabled, overrides[tunnel.name] == nil else { return }
      let isOver = waits[tunnel.name].map { $0 <= now } ?? false
      needed.formUnion(evaluator.evidence(for: tunnel, on: snapshot, patience: isOver ? .isOver : .waits))
    }
  }
}
