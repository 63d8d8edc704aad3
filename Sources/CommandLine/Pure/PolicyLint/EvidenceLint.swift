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
    if let shared = sharedAddresses(formula, test) {
      guard case .isIn(let cells) = test.question else { continue }
      var own = cells
      own.subtract(shared)
      guard states.exclude(test.fact, own) else { return nil }
    } else {
      guard states.answer(test, false, orUnknown: true) else { return nil }
    }
  }
  return states
}

/// The cells of shared hardware addresses; `nil`: the test is not of hardware addresses, or none is shared.
private func sharedAddresses(_ formula: Formula, _ test: FactTest) -> CellSet? {
  guard case .fact(let key) = formula.facts[test.fact] else { return nil }
  let values = formula.universe.values(of: key)
  let shared = CellSet(count: values.count) { cell in
    guard case .text(let text) = values[cell], let address = MACAddress(text) else { return false }
    return address.isShared
  }
  return shared.isEmpty ? nil : shared
}

extension MACAddress {
  /// Whether routers of many networks have the address: those of virtual routers are made of a fixed prefix and a small number. VRRP and
  /// CARP (RFC 9568), HSRP, HSRP of version 2 and of IPv6, GLBP.
  fileprivate var isShared: Bool {
    [
      [0x00, 0x00, 0x5e, 0x00, 0x01], [0x00, 0x00, 0x5e, 0x00, 0x02], [0x00, 0x00, 0x0c, 0x07, 0xac], [0x00, 0x05, 0x73, 0xa0],
      [0x00, 0x07, 0xb4, 0x00],
    ].contains { bytes.starts(with: $0) } || value >> 12 == 0x00000c_9ff
  }
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
      let proof = search.formula.facts[test.fact].proof
      // Of hardware addresses only shared ones are left.
      if goal.holds, proof == .forgeable || proof == .hardToForge && sharedAddresses(search.formula, test) != nil, !keys.contains(key) {
        keys.append(key)
      }
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
