package import NetworkTypes

/// Decides if some network, known or partly unknown, meets all goals. It is exact over the formula's universe; the work is bounded.
package struct Satisfiability {
  /// The search exceeded its limit.
  package struct GaveUp: Error {}

  /// The maximum cost of one question, and of all questions together, in tests of single facts.
  package static let stepsPerQuestion = 200_000
  package static let stepsInAll = 1_000_000

  package let formula: Formula
  /// Every network that the formula can distinguish.
  package let anyNetwork: FactStates
  private var steps = 0
  private var stepsBefore = 0

  package init(_ formula: Formula) {
    self.formula = formula
    anyNetwork = FactStates(formula)
  }

  /// `nil` if the search gave up.
  package mutating func isPossible(_ goals: [Formula.Goal]) -> Bool? {
    do throws(GaveUp) { return try solution(of: goals, from: anyNetwork) != nil } catch { return nil }
  }

  /// A network, or rather a class of equivalent networks, that meets the goals.
  package mutating func solution(of goals: [Formula.Goal], from states: FactStates) throws(GaveUp) -> FactStates? {
    stepsBefore += steps
    steps = 0
    var search = Branch(states: states)
    guard try settle(goals, in: &search) else { return nil }
    return try solve(search, depth: 0)
  }

  /// The result of a goal: met for certain, impossible, or open.
  package mutating func verdict(on goal: Formula.Goal, given states: FactStates) throws(GaveUp) -> Truth {
    try count()
    switch formula.nodes[goal.node] {
    case .constant(let value): return Truth(value == goal.holds)
    case .test(let test, _):
      if !states.admits(test, goal.holds, orUnknown: goal.orUnknown) { return .no }
      return states.admits(test, !goal.holds, orUnknown: !goal.orUnknown) ? .unknown : .yes
    case .not(let part): return try verdict(on: goal.ofNegated(part), given: states)
    case .network(_, let part): return try verdict(on: goal.of(part), given: states)
    case .all(let parts), .any(let parts):
      // Met by one part, or by all of them.
      let byOne = formula.isDisjunction(goal)
      var result = Truth(!byOne)
      for part in parts {
        let truth = try verdict(on: goal.of(part), given: states)
        if truth == Truth(byOne) { return truth }
        if truth == .unknown { result = .unknown }
      }
      return result
    }
  }

  private struct Branch {
    var states: FactStates
    /// Open goals for which one part is sufficient.
    var open: [Formula.Goal] = []
  }

  private mutating func count() throws(GaveUp) {
    steps += 1
    if steps > Self.stepsPerQuestion || stepsBefore + steps > Self.stepsInAll { throw GaveUp() }
  }

  /// Applies everything that follows from the goals without a choice. False if they contradict one another.
  private mutating func settle(_ goals: [Formula.Goal], in branch: inout Branch) throws(GaveUp) -> Bool {
    var rest = goals
    while let goal = rest.popLast() {
      try count()
      switch formula.nodes[goal.node] {
      case .constant(let value): if value != goal.holds { return false }
      case .test(let test, _): if !branch.states.answer(test, goal.holds, orUnknown: goal.orUnknown) { return false }
      case .not(let part): rest.append(goal.ofNegated(part))
      case .network(_, let part): rest.append(goal.of(part))
      case .all(let parts), .any(let parts):
        if formula.isDisjunction(goal) {
          branch.open.append(goal)
        } else {
          rest += parts.map(goal.of)
        }
      }
    }
    return true
  }

  /// Removes open goals that are met, applies those with one way left, and tries the ways of the one that has fewest.
  private mutating func solve(_ start: Branch, depth: Int) throws(GaveUp) -> FactStates? {
    if depth > 256 { throw GaveUp() }
    var branch = start
    var choice: [Formula.Goal] = []
    var chosen = 0
    var isSettled = false
    while !isSettled {
      isSettled = true
      choice = []
      let open = branch.open
      branch.open = []
      for goal in open {
        guard let ways = try ways(to: goal, given: branch.states) else { continue }
        guard let first = ways.first else { return nil }
        if ways.count == 1 {
          guard try settle([first], in: &branch) else { return nil }
          isSettled = false
          continue
        }
        branch.open.append(goal)
        if choice.isEmpty || ways.count < choice.count { (choice, chosen) = (ways, branch.open.count - 1) }
      }
    }
    if branch.open.isEmpty { return branch.states }
    branch.open.remove(at: chosen)
    for (i, way) in choice.enumerated() {
      var next = branch
      guard try settle([way] + choice[..<i].map { !$0 }, in: &next) else { continue }
      if let found = try solve(next, depth: depth + 1) { return found }
    }
    return nil
  }

  /// The parts of a disjunction that are still possible; `nil` if one is met.
  private mutating func ways(to goal: Formula.Goal, given states: FactStates) throws(GaveUp) -> [Formula.Goal]? {
    var ways: [Formula.Goal] = []
    for part in formula.parts(of: goal) {
      switch try verdict(on: part, given: states) {
      case .yes: return nil
      case .unknown: ways.append(part)
      case .no: break
      }
    }
    return ways
  }
}

extension Formula {
  /// True if one part is sufficient to meet the goal.
  package func isDisjunction(_ goal: Goal) -> Bool {
    switch nodes[goal.node] {
    case .all: !goal.holds
    case .any: goal.holds
    case .constant, .test, .not, .network: false
    }
  }

  package func parts(of goal: Goal) -> [Goal] {
    switch nodes[goal.node] {
    case .all(let parts), .any(let parts): parts.map(goal.of)
    case .constant, .test, .not, .network: []
    }
  }
}
