internal import NetworkTypes

/// The rules of a tunnel as words to compare: it excludes rules that certainly do not match, without evaluating them.
///
/// Most rules are for other networks. Their conditions are many small objects, and visiting them takes most of the time of a decision. The
/// sieve is one list instead. It does not decide: every rule that it does not exclude is evaluated.
package struct RuleSieve: Hashable, Sendable {
  /// A part of a condition: without a common mark, the whole is false.
  struct Test: Hashable, Sendable {
    /// The place of the fact's marks in `EvaluationContext`.
    var place: Int
    var marks: Marks
  }

  fileprivate private(set) var tests: [Test] = []
  /// The end of each rule's tests.
  fileprivate private(set) var ends: [Int] = []

  init(_ rules: [Rule]) {
    for rule in rules {
      // The test that excludes most comes first.
      tests += rule.match.tests.sorted { $0.marks.count < $1.marks.count }
      ends.append(tests.count)
    }
  }

  /// The first rule from this place on that may match, counted from 0; `nil`: none.
  func candidate(from place: Int, on context: EvaluationContext) -> Int? {
    if context.marks.isEmpty { return place < ends.count ? place : nil }
    var next = place > 0 && place <= ends.count ? ends[place - 1] : 0
    for rule in place..<max(place, ends.count) {
      let end = ends[rule]
      while next < end, tests[next].marks.mayMeet(context.marks[tests[next].place]) { next += 1 }
      if next == end { return rule }
      next = end
    }
    return nil
  }

  /// The place of the marks of named networks: after those of the keys.
  static let networkPlace = FactTable.markedKeys.count

  private static let places = Dictionary(
    uniqueKeysWithValues: FactTable.markedKeys.enumerated().map { (ObjectIdentifier($1), $0) })

  /// The test of a criterion; `nil` for a key without marks.
  static func test(of criterion: Criterion) -> Test? {
    guard let place = places[ObjectIdentifier(criterion.key)], let marks = criterion.marks else { return nil }
    return Test(place: place, marks: marks)
  }
}

/// The rules of all tunnels of a set as one list of words, which a pass reads from its begin to its end. Of most tunnels it shows without
/// an evaluation which rule decides: the first one that it does not exclude has no condition.
package struct SieveOfSet: Sendable {
  /// The rule that decides, as far as no evaluation is needed.
  package enum Decider: Hashable, Sendable {
    /// Counted from 0.
    case rule(Int)
    /// No rule matches.
    case none
    /// An evaluation has to find it.
    case open
  }

  private var tests: [RuleSieve.Test] = []
  /// For each rule the end of its tests, whether it has no condition, and whether it connects.
  private var rules: [(end: Int, isAlways: Bool, connects: Bool)] = []
  /// The end of each tunnel's rules.
  private var ends: [Int] = []

  package init(_ tunnels: [TunnelPolicy]) {
    for tunnel in tunnels {
      let sieve = tunnel.onDemand.sieve
      rules += zip(tunnel.onDemand.rules, sieve.ends).map { ($1 + tests.count, $0.match.isAlways, $0.action == .connect) }
      tests += sieve.tests
      ends.append(rules.count)
    }
  }

  /// The decider for the tunnel at this place of the set.
  func decider(at place: Int, on context: EvaluationContext) -> Decider {
    let marks = context.marks
    if marks.isEmpty { return .open }
    let first = place > 0 ? ends[place - 1] : 0
    var next = first > 0 ? rules[first - 1].end : 0
    for rule in first..<ends[place] {
      let end = rules[rule].end
      while next < end, tests[next].marks.mayMeet(marks[tests[next].place]) { next += 1 }
      if next == end { return rules[rule].isAlways ? .rule(rule - first) : .open }
      next = end
    }
    return .none
  }

  /// Whether the tunnel at this place may be connected by a rule.
  func mayConnect(at place: Int, on context: EvaluationContext) -> Bool {
    switch decider(at: place, on: context) {
    case .rule(let rule): rules[(place > 0 ? ends[place - 1] : 0) + rule].connects
    case .none: false
    case .open: true
    }
  }
}

extension Condition {
  /// Whether it holds without a look at any fact.
  fileprivate var isAlways: Bool {
    switch self {
    case .all(let parts): parts.allSatisfy(\.isAlways)
    case .any(let parts): parts.isEmpty
    case .not, .network, .criterion: false
    }
  }

  /// Tests that all succeed wherever the condition is not false.
  fileprivate var tests: [RuleSieve.Test] {
    switch self {
    case .all(let parts): parts.flatMap(\.tests)
    case .any(let parts): testsOfAny(parts.map(\.tests))
    case .not: []
    case .network(let names):
      names.isEmpty ? [] : [RuleSieve.Test(place: RuleSieve.networkPlace, marks: names.marks { Marks($0) })]
    case .criterion(let criterion): RuleSieve.test(of: criterion).map { [$0] } ?? []
    }
  }
}

/// The tests of one of several parts: of each fact that all parts ask about, one test.
private func testsOfAny(_ parts: [[RuleSieve.Test]]) -> [RuleSieve.Test] {
  let places = (parts.first ?? []).map(\.place).filter { place in parts.allSatisfy { $0.contains { $0.place == place } } }
  return Set(places).sorted().map { place in
    RuleSieve.Test(place: place, marks: parts.marks { part in part.first { $0.place == place }?.marks ?? .none })
  }
}
