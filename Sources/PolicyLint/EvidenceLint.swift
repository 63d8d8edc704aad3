import NetworkTypes
import RoamwardCore

/// Finds rules that take the tunnel down on facts which any stranger's network could show: without the place's own hardware or a key.
///
/// A rule is reported if it can be reached while every hardware address and every pinned probe differs from the values in the policy. A
/// rule that matches on networks of any kind needs no evidence: that is a decision, not a mistake. Media that strangers do not offer (the
/// user's own phone, a cellular modem) are not checked.
func weakEvidence(
  of index: Int, in tunnel: TunnelPolicy, reasoning: inout RuleReasoning, networks: NetworkTable
) -> LintFinding? {
  let formula = reasoning.formula
  guard let strangers = strangersFacts(formula) else { return nil }
  for (goal, network) in alternatives(of: formula.roots[index], in: formula) {
    var goals = reasoning.reach(index)
    goals[goals.count - 1] = goal
    guard let states = try? reasoning.search.solution(of: goals, from: strangers),
      let keys = try? shownFacts(for: goal, given: states, search: &reasoning.search), !keys.isEmpty
    else { continue }
    let list = keys.map { "`\($0)`" }.joined(separator: ", ")
    let place = network.map { " (network `\($0)`)" } ?? ""
    var related: SourceLocation?
    if let network, case .defined(let definition) = networks[network] { related = definition.location }
    return LintFinding(
      .weakEvidence,
      "rule \(index + 1) of `\(tunnel.name)` disconnects on weak evidence alone: \(list)\(place), which anyone's network can show",
      help: "add `gateway-mac:`, or a `probe:` with a `pin:`, to what has to hold", at: tunnel.onDemand.rules[index].location,
      related: related)
  }
  return nil
}

/// Every fact as a stranger's network may show it; `nil` if that is contradictory.
private func strangersFacts(_ formula: Formula) -> FactStates? {
  var states = FactStates(formula)
  let ownMedia = [InterfaceType.cellular, .usbTether, .bluetooth].map { FactValue.text($0.rawValue) }
  for (i, fact) in formula.facts.enumerated() where fact == .fact(FactKind.type.rawValue) {
    let values = formula.universe.values(of: FactKind.type.rawValue)
    guard states.exclude(i, CellSet(count: values.count) { ownMedia.contains(values[$0]) }) else { return nil }
  }
  for case .test(let test, _) in formula.nodes where formula.facts[test.fact].proof == .hardToForge {
    guard states.answer(test, false, orUnknown: true) else { return nil }
  }
  return states
}

/// The alternatives of a goal as a policy writes them: entries of `any-of` and of lists of networks, with the network's name.
private func alternatives(of goal: Formula.Goal, in formula: Formula) -> [(goal: Formula.Goal, network: String?)] {
  var found: [(goal: Formula.Goal, network: String?)] = []
  var rest: [(node: Int, network: String?)] = [(goal.node, nil)]
  while let (node, network) = rest.popLast(), found.count < 64 {
    switch formula.nodes[node] {
    case .network(let name, let part): rest.append((part, network ?? name))
    case .any(let parts): rest += parts.reversed().map { ($0, network) }
    case .all(let parts) where parts.count == 1: rest.append((parts[0], network))
    default: found.append((Formula.Goal(node: node), network))
    }
  }
  return found
}

/// The keys of the facts that the network must have for the goal. Facts that must be absent are no evidence.
private func shownFacts(
  for goal: Formula.Goal, given states: FactStates, search: inout Satisfiability
) throws(Satisfiability.GaveUp) -> [String] {
  var keys: [String] = []
  var rest = [goal]
  while let goal = rest.popLast() {
    switch search.formula.nodes[goal.node] {
    case .constant: break
    case .test(let test, let key):
      if goal.holds, search.formula.facts[test.fact].proof == .forgeable, !keys.contains(key) { keys.append(key) }
    case .not(let part): rest.append(goal.ofNegated(part))
    case .network(_, let part): rest.append(goal.of(part))
    case .all, .any:
      let parts = search.formula.parts(of: goal)
      guard search.formula.isDisjunction(goal) else {
        rest += parts.reversed()
        continue
      }
      for part in parts where try search.verdict(on: part, given: states) == .yes {
        rest.append(part)
        break
      }
    }
  }
  return keys
}
