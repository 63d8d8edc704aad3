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

  private var tests: [Test] = []
  /// The end of each rule's tests.
  private var ends: [Int] = []

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

extension Condition {
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
