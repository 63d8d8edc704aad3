import NetworkTypes

/// Decides what policies want on a network. All rule evaluation happens here: for the agent, the dry run and every explanation.
package struct Evaluator: Sendable {
  /// The treatment of an unknown fact.
  package enum Patience: Equatable, Sendable {
    /// The decision waits for it.
    case waits
    /// The most protective decision counts that some completion of the unknown facts gives.
    case isOver
  }

  /// The amount of explanation that a decision carries.
  package enum Explanation: Equatable, Sendable {
    /// The verdict alone.
    case none
    /// The findings of the deciding rule, or of the rule whose fact is awaited: the reason as text, and no more.
    case ofDecidingRule
    /// The findings of every rule up to that one.
    case whole
  }

  let networks: [String: Condition]

  package init(networks: [NamedNetwork]) {
    self.networks = Dictionary(networks.map { ($0.name, $0.condition) }) { first, _ in first }
  }

  /// Decides by the first rule that matches. Without a network no rule is evaluated and the tunnel is left as it is. Text of findings costs
  /// many times the evaluation, so it is made only for the requested rules.
  ///
  /// While a decision waits, earlier probe results on this network may connect, and nothing else.
  package func decide(
    _ tunnel: TunnelPolicy, on snapshot: PreparedSnapshot, patience: Patience = .waits, explaining explanation: Explanation = .whole
  ) -> Decision {
    guard let context = snapshot.context else {
      var decision = Decision(tunnel: tunnel.name, outcome: .ignore)
      decision.isWithoutNetwork = true
      return decision
    }
    let decision = judgeRules(of: tunnel, on: context, patience, explanation)
    guard decision.outcome == .pending, let remembered = snapshot.remembered else { return decision }
    let early = judgeRules(of: tunnel, on: remembered, patience, explanation)
    return early.outcome == .connect ? early : decision
  }

  /// The same for a single decision on a snapshot.
  package func decide(
    _ tunnel: TunnelPolicy, on snapshot: NetworkSnapshot, patience: Patience = .waits, explaining explanation: Explanation = .whole
  ) -> Decision {
    decide(tunnel, on: prepare(snapshot), patience: patience, explaining: explanation)
  }

  /// The rules that some completion of the unknown facts may reach, in order; with `onUnknown`, an unknown match counts as that says. The
  /// decision is the most protective one of these rules, or of none of them, as far as a completion reaches it (docs/policy-reference.md,
  /// "What is not known").
  private func judgeRules(
    of tunnel: TunnelPolicy, on context: EvaluationContext, _ patience: Patience, _ explanation: Explanation
  ) -> Decision {
    var trace: [RuleTrace] = []
    var unknown: [Int] = []
    let (rules, sieve) = (tunnel.onDemand.rules, tunnel.onDemand.sieve)
    var candidates = Candidates(of: rules)
    var next = 0
    // By index: a copy of each rule would cost more than its evaluation. The findings of every rule are only made by its evaluation.
    while let i = explanation == .whole ? next : sieve.candidate(from: next, on: context), i < rules.count {
      next = i + 1
      var holds: Truth
      if explanation == .whole {
        let finding = explain(rules[i].match, on: context)
        holds = finding.truth
        trace.append(RuleTrace(of: rules[i], at: i, finding))
      } else {
        holds = evaluate(rules[i].match, on: context)
      }
      if holds == .unknown {
        if patience == .waits, isAwaitingFact(rules[i].match, on: context) {
          candidates.end = .awaits(i)
          break
        }
        unknown.append(i)
        if let counts = rules[i].onUnknown { holds = Truth(counts == .match) }
      }
      if holds == .no { continue }
      candidates.add(i, holds == .unknown ? residue(of: rules[i].match, on: context) : nil)
      // Nothing is more protective than to connect, and nothing follows a match that holds.
      if holds == .yes || rules[i].action == .connect && candidates.isReached(candidates.rules.count - 1) { break }
    }
    let decider = candidates.decider
    let outcome = candidates.isAwaiting ? .pending : decider.map { rules[$0].action.outcome } ?? .ignore
    var decision = Decision(tunnel: tunnel.name, outcome: outcome)
    if let decider {
      decision.rule = RuleReference(to: rules[decider], at: decider)
      if explanation == .ofDecidingRule { trace = [RuleTrace(of: rules[decider], at: decider, explain(rules[decider].match, on: context))] }
      if explanation == .whole { trace.removeSubrange((decider + 1)...) }
    }
    decision.trace = trace
    if explanation != .none, !candidates.isAwaiting {
      decision.unknown = unknown.filter { $0 != decider }.map { RuleTrace(of: rules[$0], at: $0, explain(rules[$0].match, on: context)) }
    }
    if candidates.isAwaiting {
      let then = judgeRules(of: tunnel, on: context, .isOver, .none)
      decision.pending = Pending(decideWithin: tunnel.onDemand.timing.decideWithin, then: then.outcome, rule: then.rule)
    }
    return decision
  }

  /// Whether a rule decides whatever the facts are that its match and those of the rules before it leave unknown: nothing after it counts.
  func isSettled(by place: Int, of rules: [Rule], on context: EvaluationContext) -> Bool {
    guard rules[place].action == .connect, rules[place].onUnknown == nil else { return false }
    var candidates = Candidates(of: rules)
    for i in 0...place {
      var holds = evaluate(rules[i].match, on: context)
      if holds == .unknown, let counts = rules[i].onUnknown { holds = Truth(counts == .match) }
      if holds != .no { candidates.add(i, holds == .unknown ? residue(of: rules[i].match, on: context) : nil) }
    }
    return candidates.isReached(candidates.rules.count - 1)
  }

  /// The part of a condition that facts still decide, while these are unknown.
  private func residue(of condition: Condition, on context: EvaluationContext) -> Condition {
    switch condition {
    case .all(let parts): .all(parts.map { residue(of: $0, on: context) })
    case .any(let parts): .any(parts.map { residue(of: $0, on: context) })
    case .not(let part): .not(residue(of: part, on: context))
    case .network(let names): .any(names.map { residue(of: networks[$0] ?? .never, on: context) })
    case .criterion(let criterion):
      switch criterion.holds(on: context) {
      case .yes: .always
      case .no: .never
      case .unknown: condition
      }
    }
  }

  /// The findings of every rule, including those after the deciding one. Empty without a network.
  package func trace(_ tunnel: TunnelPolicy, on snapshot: NetworkSnapshot) -> [RuleTrace] {
    guard let context = EvaluationContext(snapshot) else { return [] }
    return tunnel.onDemand.rules.enumerated().map { i, rule in RuleTrace(of: rule, at: i, explain(rule.match, on: context)) }
  }

  /// Whether the machine is on one of the named networks. Without a network it is on none; unknown counts as no.
  package func isOn(anyOf names: [String], _ snapshot: NetworkSnapshot) -> Bool {
    guard !names.isEmpty, let context = EvaluationContext(snapshot) else { return false }
    return evaluate(.network(names), on: context) == .yes
  }

  /// The verdict alone; stops at the first key that settles it.
  func evaluate(_ condition: Condition, on context: EvaluationContext) -> Truth {
    switch condition {
    case .all(let parts): all(parts) { evaluate($0, on: context) }
    case .any(let parts): any(parts) { evaluate($0, on: context) }
    case .not(let part): !evaluate(part, on: context)
    case .network(let names): any(names) { context.networks[$0] ?? evaluate(networks[$0] ?? .never, on: context) }
    case .criterion(let criterion): criterion.holds(on: context)
    }
  }

  /// Whether a missing fact of the condition may still arrive; facts that no source of this host can provide are not awaited.
  func isAwaitingFact(_ condition: Condition, on context: EvaluationContext) -> Bool {
    switch condition {
    case .all(let parts), .any(let parts): parts.contains { isAwaitingFact($0, on: context) }
    case .not(let part): isAwaitingFact(part, on: context)
    case .network(let names): names.contains { isAwaitingFact(networks[$0] ?? .never, on: context) }
    case .criterion(let criterion):
      criterion.holds(on: context) == .unknown && !(criterion.key.kind.map(context.isUnavailable) ?? false)
    }
  }

  /// The verdict with all findings on the way.
  private func explain(_ condition: Condition, on context: EvaluationContext) -> Finding {
    switch condition {
    case .all(let parts):
      let findings = parts.map { explain($0, on: context) }
      return .all(all(findings, \.truth), findings)
    case .any(let parts):
      let findings = parts.map { explain($0, on: context) }
      return .any(any(findings, \.truth), findings)
    case .not(let part):
      let finding = explain(part, on: context)
      return .not(!finding.truth, finding)
    case .network(let names):
      let findings = names.map { name in
        let finding = explain(networks[name] ?? .never, on: context)
        return Finding.network(name, finding.truth, finding)
      }
      return findings.count == 1 ? findings[0] : .any(any(findings, \.truth), findings)
    case .criterion(let criterion):
      let truth = criterion.holds(on: context)
      return .key(criterion.key.name, truth, found: criterion.found(on: context, truth))
    }
  }

  private func all<Part>(_ parts: [Part], _ truth: (Part) -> Truth) -> Truth {
    var result = Truth.yes
    for part in parts {
      let truth = truth(part)
      if truth == .no { return .no }
      if truth == .unknown { result = .unknown }
    }
    return result
  }

  /// An empty list is an absent key: it always matches.
  private func any<Part>(_ parts: [Part], _ truth: (Part) -> Truth) -> Truth {
    var result = Truth(parts.isEmpty)
    for part in parts {
      let truth = truth(part)
      if truth == .yes { return .yes }
      if truth == .unknown { result = .unknown }
    }
    return result
  }
}

extension RuleTrace {
  /// `place` counts from 0.
  fileprivate init(of rule: Rule, at place: Int, _ finding: Finding) {
    self.init(rule: RuleReference(to: rule, at: place), action: rule.action, holds: finding.truth, finding: finding)
  }
}

extension RuleReference {
  /// `place` counts from 0.
  fileprivate init(to rule: Rule, at place: Int) { self.init(index: place + 1, name: rule.name, location: rule.location) }
}

extension Action {
  var outcome: Decision.Outcome {
    switch self {
    case .connect: .connect
    case .disconnect: .disconnect
    case .ignore: .ignore
    case .evaluateConnection: .evaluateConnection
    }
  }
}
