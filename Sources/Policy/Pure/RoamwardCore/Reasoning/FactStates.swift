import NetworkTypes

/// The possible states of every fact after some tests: one of its values, or unknown.
package struct FactStates {
  private var states: [FactState]
  private let radio: RadioFacts

  package init(_ formula: Formula) {
    states = formula.facts.map { FactState($0, cells: formula.universe.cellCount(of: $0)) }
    radio = RadioFacts(formula)
  }

  /// Adds a test result. False if it contradicts earlier ones.
  package mutating func answer(_ test: FactTest, _ holds: Bool, orUnknown: Bool = false) -> Bool {
    guard states[test.fact].answer(test.question, holds, orUnknown: orUnknown) else { return false }
    guard radio.contains(test.fact) else { return true }
    return linkRadio()
  }

  package func admits(_ test: FactTest, _ holds: Bool, orUnknown: Bool = false) -> Bool {
    if radio.contains(test.fact) {
      var copy = self
      return copy.answer(test, holds, orUnknown: orUnknown)
    }
    var state = states[test.fact]
    return state.answer(test.question, holds, orUnknown: orUnknown)
  }

  /// Removes cells of a fact that has one value.
  package mutating func exclude(_ fact: Int, _ cells: CellSet) -> Bool {
    answer(FactTest(fact: fact, question: .isIn(cells)), false, orUnknown: true)
  }

  /// Removes from each radio fact the states that the others exclude. The facts form a tree, so one pass up and one pass down are enough.
  private mutating func linkRadio() -> Bool {
    for pair in radio.pairs.reversed() where !restrict(pair.above, to: pair.rule.above(beside: presence(of: pair.below))) { return false }
    for pair in radio.pairs where !restrict(pair.below, to: pair.rule.below(beside: presence(of: pair.above))) { return false }
    return true
  }

  private func presence(of fact: Int) -> Presence { states[fact].presence(radio.present[fact] ?? .all(0)) }

  private mutating func restrict(_ fact: Int, to presence: Presence) -> Bool {
    states[fact].restrict(to: presence, radio.present[fact] ?? .all(0))
  }
}

/// The possible states of a radio fact, as far as other facts depend on it. For the type: Wi-Fi, another or unknown.
private struct Presence: OptionSet {
  let rawValue: UInt8

  static let absent = Presence(rawValue: 1)
  static let present = Presence(rawValue: 2)
  static let unknown = Presence(rawValue: 4)
}

/// The facts that only a radio has, and their dependencies.
private struct RadioFacts {
  /// The allowed combinations of two facts.
  struct Rule {
    let allowed: [(above: Presence, below: Presence)]

    func above(beside below: Presence) -> Presence {
      allowed.reduce(into: []) { result, pair in if !below.isDisjoint(with: pair.below) { result.formUnion(pair.above) } }
    }

    func below(beside above: Presence) -> Presence {
      allowed.reduce(into: []) { result, pair in if above.contains(pair.above) { result.formUnion(pair.below) } }
    }

    /// An SSID, an access point and a Wi-Fi security are present, or unknown, only on Wi-Fi. A link with one of them is Wi-Fi.
    static let typeAndFact = Rule(allowed: [
      (.present, [.absent, .present, .unknown]), (.absent, .absent), (.unknown, [.absent, .unknown]),
    ])
    /// Only an SSID can be on a list. The list may be unreadable, which does not matter without an SSID.
    static let nameAndList = Rule(allowed: [(.absent, .absent), (.present, [.absent, .present, .unknown]), (.unknown, .unknown)])
  }

  /// The pairs, from the root of the tree.
  private(set) var pairs: [(above: Int, below: Int, rule: Rule)] = []
  /// The values of each radio fact that mean that it is present.
  private(set) var present: [Int: CellSet] = [:]

  init(_ formula: Formula) {
    let facts = formula.facts
    let type = facts.firstIndex(of: .fact(FactKind.type.rawValue))
    for (i, fact) in facts.enumerated() {
      guard let declaration = fact.declaration else { continue }
      let values = formula.universe.values(of: declaration.key)
      if i == type {
        present[i] = CellSet(count: values.count) { values[$0] == .text(InterfaceType.wifi.rawValue) }
      } else if declaration.isOfRadio {
        present[i] = CellSet(count: values.count) { values[$0] != .absent }
        if let type { pairs.append((type, i, .typeAndFact)) }
      }
    }
    for (i, fact) in facts.enumerated() {
      guard case .own(_, let below?, _) = fact, let above = facts.firstIndex(of: .fact(below)) else { continue }
      present[i] = .flag(true)
      pairs.append((above, i, .nameAndList))
    }
  }

  func contains(_ fact: Int) -> Bool { present[fact] != nil }
}

/// The possible states of one fact.
private struct FactState {
  private let cells: Int
  private var mayBeUnknown: Bool
  /// If the fact is known, its value, or each of its values, is in one of these.
  private var allowed: CellSet
  private let isPlural: Bool
  /// Of several values, at least one is in each of these.
  private var met: [CellSet] = []
  /// There is at least one value.
  private var isPresent = false
  /// For each of these, not every value is in it, or there is no value.
  private var left: [CellSet] = []

  init(_ fact: FactKey, cells: Int) {
    self.cells = cells
    mayBeUnknown = fact.mayBeUnknown
    allowed = .all(cells)
    isPlural = fact.isPlural
  }

  mutating func answer(_ question: FactTest.Question, _ holds: Bool, orUnknown: Bool) -> Bool {
    if !orUnknown { mayBeUnknown = false }
    switch (question, holds) {
    case (.isIn(let set), true): allowed.formIntersection(set)
    case (.isIn(let set), false), (.someIn(let set), false): allowed.subtract(set)
    case (.someIn(let set), true): met.append(set)
    case (.eachIn(let set), true):
      allowed.formIntersection(set)
      isPresent = true
    case (.eachIn(let set), false): left.append(set)
    }
    return isPossible
  }

  private var isPossible: Bool { mayBeUnknown || mayBeKnown }

  /// Of several values, more are always possible if they are allowed. So either all cells are used or, if that fails, none.
  private var mayBeKnown: Bool {
    guard isPlural else { return !allowed.isEmpty }
    if met.isEmpty, !isPresent { return true }
    return !allowed.isEmpty && met.allSatisfy(allowed.intersects) && left.allSatisfy { !allowed.isSubset(of: $0) }
  }

  /// The presence of a fact that has one value.
  func presence(_ present: CellSet) -> Presence {
    var result: Presence = mayBeUnknown ? .unknown : []
    if allowed.intersects(present) { result.insert(.present) }
    if !allowed.isSubset(of: present) { result.insert(.absent) }
    return result
  }

  mutating func restrict(to presence: Presence, _ present: CellSet) -> Bool {
    if !presence.contains(.unknown) { mayBeUnknown = false }
    if !presence.contains(.present) { allowed.subtract(present) }
    if !presence.contains(.absent) { allowed.formIntersection(present) }
    return isPossible
  }
}
