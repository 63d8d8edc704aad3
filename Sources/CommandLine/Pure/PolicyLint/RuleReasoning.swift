import RoamwardCore

/// Conclusions from the matches of one tunnel's rules, or from one network's condition: they are the formula's roots.
///
/// While facts are unknown, a rule decides only if some completion of them reaches it. So a rule decides if and only if a network reaches
/// it of which everything is known. With `on-unknown` a rule itself defines the result of an unknown match: it may decide although it
/// matches on no network, and it may let a rule decide that matches nowhere else. Beside such a rule a dead one may be missed, but none is
/// invented.
struct RuleReasoning {
  /// The reason why no network reaches a rule. Rules count from 0.
  enum Death {
    /// These keys of the rule contradict one another. A rule that counts an unknown match as a match still decides until they are known.
    case impossible([String], decidesUnknown: Bool)
    case afterCatchAll(Int)
    /// One of these rules matches on every network on which it matches. The list is minimal.
    case shadowed([Int])
  }

  let formula: Formula
  /// For each rule, how an unknown match counts, if the rule says so.
  private let onUnknown: [UnknownPolicy?]
  /// Whether no rule says so.
  private let isExact: Bool
  var search: Satisfiability

  init(_ formula: Formula, of rules: [Rule] = []) {
    self.formula = formula
    onUnknown = rules.map(\.onUnknown)
    isExact = rules.allSatisfy { $0.onUnknown == nil }
    search = Satisfiability(formula)
  }

  mutating func isPossible(_ goals: [Formula.Goal]) -> Bool? { search.isPossible(goals) }

  /// `nil` if some network reaches the rule, or if the search gave up.
  mutating func death(of rule: Int) -> Death? {
    let isReached = isPossible(reach(rule))
    if isReached != false, isExact { return nil }
    if isPossible([formula.roots[rule]]) == false {
      return .impossible(conflict(in: formula.roots[rule]), decidesUnknown: isReached == true && onUnknown[rule] == .match)
    }
    guard isReached == false else { return nil }
    let own = taking(rule)
    for other in 0..<rule where isPossible([own, leaving(other)]) == false {
      return isPossible([leaving(other)]) == false ? .afterCatchAll(other) : .shadowed([other])
    }
    var needed = Array(0..<rule)
    for other in (0..<rule).reversed() {
      let fewer = needed.filter { $0 != other }
      if isPossible([own] + fewer.map(leaving)) == false { needed = fewer }
    }
    return .shadowed(needed)
  }

  /// The rule decides, or lets a later one decide: of facts that are unknown, some completion may do either.
  private func taking(_ rule: Int) -> Formula.Goal {
    let root = formula.roots[rule]
    return if isExact { root } else { root.orUnknown(onUnknown[rule] != .noMatch) }
  }

  private func leaving(_ rule: Int) -> Formula.Goal {
    let root = formula.roots[rule]
    let goal = Formula.Goal(node: root.node, holds: false)
    return if isExact { goal } else { goal.orUnknown(onUnknown[rule] != .match) }
  }

  /// The goals for a network on which this rule decides.
  func reach(_ rule: Int) -> [Formula.Goal] { (0..<rule).map(leaving) + [taking(rule)] }

  /// A minimal set of keys whose parts cannot match together.
  mutating func conflict(in goal: Formula.Goal) -> [String] {
    guard goal.holds, case .all(var parts) = formula.nodes[goal.node] else { return formula.keys(below: goal.node) }
    for part in parts {
      let fewer = parts.filter { $0 != part }
      if isPossible(fewer.map { Formula.Goal(node: $0) }) == false { parts = fewer }
    }
    var keys: [String] = []
    for part in parts {
      if case .network = formula.nodes[part] {
        if !keys.contains("network") { keys.append("network") }
      } else {
        let own = formula.keys(below: part).map { if case .not = formula.nodes[part] { "not: \($0)" } else { $0 } }
        keys += own.filter { !keys.contains($0) }
      }
    }
    return keys
  }

  /// The keys of every `not` that excludes nothing more than the criteria beside it. Named networks are not followed.
  mutating func pointlessNots(below goal: Formula.Goal) -> [[String]] {
    var found: [[String]] = []
    var rest = [goal.node]
    while let node = rest.popLast() {
      switch formula.nodes[node] {
      case .all(let parts):
        for part in parts {
          guard case .not(let inner) = formula.nodes[part] else {
            rest.append(part)
            continue
          }
          let others = parts.filter { $0 != part }.map { Formula.Goal(node: $0) }
          guard isPossible(others) == true else { continue }
          // The `not` neither excludes networks that match nor turns an unknown result into no match.
          let excluded = Formula.Goal(node: inner)
          if isPossible(others + [excluded.orUnknown(true)]) == false, isPossible(others.map { $0.orUnknown(true) } + [excluded]) == false {
            found.append(formula.keys(below: inner))
          }
        }
      case .any(let parts): rest += parts
      case .constant, .test, .not, .network: break
      }
    }
    return found
  }
}
