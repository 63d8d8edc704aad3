import NetworkTypes
import RoamwardCore
import SeededRandom
import TestKit
import Testing

/// The sentence on unknown facts, against brute force: the decision is the most protective of those that some completion of the unknown
/// facts gives.
@Suite struct CompletionTests {
  /// The facts that vary, each with values that the conditions tell apart.
  private static let facts: [(key: String, values: [FactValue])] = [
    ("metered", [.flag(true), .flag(false)]), ("captive-portal", [.flag(true), .flag(false)]),
    ("ssid", [.absent, .text("A"), .text("B"), .text("BC"), .text("other")]), ("power", [.text("ac"), .text("battery")]),
  ]

  private static let leaves: [Condition] = [
    .metered(true), .metered(false), .captivePortal(true), .captivePortal(false), .ssid([Sample.ssid("A")]),
    .ssid([Sample.ssid("A"), Sample.ssid("BC")]), .ssidGlob([Glob("B*")]), .ssidGlob([Glob("*")]), .power([.ac]), .power([.battery]),
    .power([.ac, .battery]), .network(["n"]), .always,
  ]

  private static func condition(_ depth: Int, _ random: inout SplitMix64) -> Condition {
    func parts() -> [Condition] { (0..<Int.random(in: 1...3, using: &random)).map { _ in condition(depth - 1, &random) } }
    switch Int.random(in: 0..<(depth > 0 ? 8 : 4), using: &random) {
    case 4: return .all(parts())
    case 5: return .any(parts())
    case 6: return .not(condition(depth - 1, &random))
    default: return leaves.randomElement(using: &random) ?? .always
    }
  }

  private static func protection(_ outcome: Decision.Outcome) -> Int {
    [Decision.Outcome.connect, .evaluateConnection, .ignore, .disconnect].firstIndex(of: outcome) ?? 9
  }

  @Test("an unknown fact: the most protective decision of all completions", arguments: 0..<8)
  func completions(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let facts = try Self.facts.map { (fact: try #require(FactTable.fact($0.key)), values: $0.values) }
    for _ in 0..<400 {
      let leaf = Self.condition(1, &random)
      let networks = [NamedNetwork(name: "n", condition: leaf.networksNamed.isEmpty ? leaf : .always, location: Sample.place())]
      let evaluator = Evaluator(networks: networks)
      let rules = (1...Int.random(in: 1...4, using: &random)).map { _ in
        Rule(
          match: Self.condition(2, &random), action: Action.allCases.randomElement(using: &random) ?? .connect,
          onUnknown: Int.random(in: 0..<5, using: &random) == 0 ? UnknownPolicy.allCases.randomElement(using: &random) : nil,
          location: Sample.place())
      }
      var partial = Sample.network(Sample.wifi("A"))
      var completions: [NetworkSnapshot] = []
      for (fact, values) in facts {
        if Bool.random(using: &random) {
          partial.makeUnknown(fact, reason: "it is varied", link: 0)
        } else {
          _ = partial.set(fact, to: values.randomElement(using: &random) ?? .absent, link: 0)
        }
      }
      completions = [partial]
      for (fact, values) in facts where fact.value(partial) == nil {
        completions = completions.flatMap { one in
          values.map { value in
            var one = one
            _ = one.set(fact, to: value, link: 0)
            return one
          }
        }
      }
      // `on-unknown` settles a match that stays unknown, in every completion.
      let holds = evaluator.trace(Sample.tunnel(rules: rules), on: partial).map(\.holds)
      let settled = zip(rules, holds).map { rule, holds in
        var rule = rule
        if holds == .unknown, let counts = rule.onUnknown { rule.match = counts == .match ? .always : .never }
        return rule
      }
      let outcomes = completions.map { evaluator.decide(Sample.tunnel(rules: settled), on: $0, explaining: .none).outcome }
      let expected = outcomes.min { Self.protection($0) < Self.protection($1) }
      for explanation in [Evaluator.Explanation.none, .ofDecidingRule, .whole] {
        let decision = evaluator.decide(Sample.tunnel(rules: rules), on: partial, patience: .isOver, explaining: explanation)
        #expect(decision.outcome == expected, "\(rules.map { ($0.match, $0.action, $0.onUnknown) })")
      }
      let now = evaluator.decide(Sample.tunnel(rules: rules), on: partial)
      #expect((now.pending?.then ?? now.outcome) == expected)
      #expect(outcomes.count > 1 || now.outcome != .pending)
    }
  }
}

extension FactDeclaration {
  /// The value of a snapshot with one link; `nil`: unknown.
  fileprivate func value(_ snapshot: NetworkSnapshot) -> FactValue? { snapshot.value(of: self, link: 0).value }
}
