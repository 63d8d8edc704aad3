/// What follows from the matches of one tunnel's rules, or from one network's condition: they are the formula's roots.
struct RuleReasoning {
  /// Why no network reaches a rule. Rules count from 0.
  enum Death {
    /// These keys of its own contradict one another.
    case impossible([String])
    case afterCatchAll(Int)
    /// Wherever it holds, one of these does. With one of them less that is no longer so.
    case shadowed([Int])
  }

  let formula: Formula
  var search: Satisfiability

  init(_ formula: Formula) {
    self.formula = formula
    search = Satisfiability(formula)
  }

  mutating func isPossible(_ goals: [Formula.Goal]) -> Bool? { search.isPossible(goals) }

  /// `nil` for a rule that some network reaches, and where that could not be found out.
  mutating func death(of rule: Int) -> Death? {
    let own = formula.roots[rule]
    guard isPossible(reach(rule)) == false else { return nil }
    if isPossible([own]) == false { return .impossible(conflict(in: own)) }
    for other in 0..<rule where isPossible([own, !formula.roots[other]]) == false {
      return isPossible([!formula.roots[other]]) == false ? .afterCatchAll(other) : .shadowed([other])
    }
    var needed = Array(0..<rule)
    for other in (0..<rule).reversed() {
      let fewer = needed.filter { $0 != other }
      if isPossible([own] + fewer.map { !formula.roots[$0] }) == false { needed = fewer }
    }
    return .shadowed(needed)
  }

  /// The goals of a network that comes to this rule and on which it holds.
  func reach(_ rule: Int) -> [Formula.Goal] { formula.roots[..<rule].map { !$0 } + [formula.roots[rule]] }

  /// Keys of parts that cannot hold together, as few as will do.
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

  /// The keys of every `not` that excludes nothing which the criteria beside it leave. Networks are not gone into.
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
          if isPossible(others) == true, isPossible(others + [Formula.Goal(node: inner)]) == false {
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
