import NetworkTypes

/// A snapshot with everything that the rules of all tunnels use: the primary link, the verdicts of named networks, and the marks of the
/// facts. One is prepared for all decisions on the same snapshot.
package struct PreparedSnapshot: Sendable {
  /// `nil` without a network.
  let context: EvaluationContext?
  /// The network as it would be if the remembered probe results still applied; `nil` without any.
  let remembered: EvaluationContext?
}

extension Evaluator {
  package func prepare(_ snapshot: NetworkSnapshot) -> PreparedSnapshot {
    PreparedSnapshot(context: context(of: snapshot), remembered: snapshot.asRemembered.flatMap(context))
  }

  private func context(of snapshot: NetworkSnapshot) -> EvaluationContext? {
    guard var context = EvaluationContext(snapshot) else { return nil }
    for name in networks.keys { judge(network: name, in: &context) }
    context.marks = FactTable.markedKeys.compactMap { $0.marks(on: context) }
    context.marks.append(context.networks.marks { name, truth in truth == .no ? .none : Marks(name) })
    return context
  }

  /// Records the verdict of a named network, after those of the networks that it names.
  private func judge(network name: String, in context: inout EvaluationContext) {
    guard context.networks[name] == nil, let condition = networks[name] else { return }
    for other in condition.networksNamed { judge(network: other, in: &context) }
    context.networks[name] = evaluate(condition, on: context)
  }
}

extension SieveOfSet {
  /// The decider for the tunnel at this place of the set; without a network there is none.
  package func decider(at place: Int, on snapshot: PreparedSnapshot) -> Decider {
    snapshot.context.map { decider(at: place, on: $0) } ?? .open
  }

  /// Whether the tunnel at this place may be connected by a rule; without a network, none is.
  func mayConnect(at place: Int, on snapshot: PreparedSnapshot) -> Bool {
    snapshot.context.map { mayConnect(at: place, on: $0) } ?? false
  }
}

extension RuleSieve {
  /// The rules that are not excluded, counted from 0. Empty without a network.
  package func candidates(on snapshot: PreparedSnapshot) -> [Int] {
    guard let context = snapshot.context else { return [] }
    return Array(sequence(first: -1) { candidate(from: $0 + 1, on: context) }.dropFirst())
  }
}
