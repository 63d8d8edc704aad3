import NetworkTypes

/// What every fact may still be, once some questions about it have been answered.
struct FactStates {
  private var states: [FactState]
  private let radio: RadioFacts

  init(_ formula: Formula) {
    states = formula.facts.map { FactState($0, cells: formula.universe.cellCount(of: $0)) }
    radio = RadioFacts(formula.facts)
  }

  /// Takes an answer in. False where it contradicts those before.
  mutating func answer(_ test: FactTest, _ holds: Bool) -> Bool {
    guard states[test.fact].answer(test.question, holds) else { return false }
    guard radio.contains(test.fact) else { return true }
    return linkRadio()
  }

  func admits(_ test: FactTest, _ holds: Bool) -> Bool {
    if radio.contains(test.fact) {
      var copy = self
      return copy.answer(test, holds)
    }
    var state = states[test.fact]
    return state.answer(test.question, holds)
  }

  /// Takes cells away from a fact that has one value.
  mutating func exclude(_ fact: Int, _ cells: CellSet) -> Bool { answer(FactTest(fact: fact, question: .isIn(cells)), false) }

  /// An SSID, an access point and a Wi-Fi security are there on Wi-Fi alone, and only an SSID can be on a list of SSIDs.
  private mutating func linkRadio() -> Bool {
    if let ssid = radio.ssid {
      if radio.lists.contains(where: { !states[$0].mayBe(0) }), !states[ssid].answerAbsent(false) { return false }
      if states[ssid].mustBe(0) { for list in radio.lists where !states[list].answerAbsent(true) { return false } }
    }
    guard let type = radio.type else { return true }
    let others = (radio.ssid.map { [$0] } ?? []) + radio.others + radio.lists
    if others.contains(where: { !states[$0].mayBe(0) }), !states[type].answer(.isIn(RadioFacts.wifi), true) { return false }
    if !states[type].mayBe(RadioFacts.wifiCell) { for fact in others where !states[fact].answerAbsent(true) { return false } }
    return true
  }
}

/// Which facts only a radio has.
private struct RadioFacts {
  static let wifiCell = InterfaceType.allCases.firstIndex(of: .wifi) ?? 0
  static let wifi = CellSet(count: InterfaceType.allCases.count) { $0 == wifiCell }

  private(set) var type: Int?
  private(set) var ssid: Int?
  private(set) var others: [Int] = []
  private(set) var lists: [Int] = []

  init(_ facts: [FactKey]) {
    for (i, fact) in facts.enumerated() {
      switch fact {
      case .interface: type = i
      case .ssid: ssid = i
      case .bssid, .wifiSecurity: others.append(i)
      case .ssidFile: lists.append(i)
      default: break
      }
    }
  }

  func contains(_ fact: Int) -> Bool { fact == type || fact == ssid || others.contains(fact) || lists.contains(fact) }
}

/// What one fact may still be.
private struct FactState {
  private let cells: Int
  /// The value, or each of several, lies in one of these.
  private var allowed: CellSet
  private let isPlural: Bool
  /// Of several values: into each of these at least one falls.
  private var met: [CellSet] = []
  /// There is at least one value.
  private var isPresent = false
  /// Not every value lies in one of these, or there is none.
  private var left: [CellSet] = []

  init(_ fact: FactKey, cells: Int) {
    self.cells = cells
    allowed = .all(cells)
    isPlural = [.dnsDomain, .dnsServer, .subnet, .gateway].contains(fact)
  }

  /// Whether it is cell 0: there is none, or it is false.
  mutating func answerAbsent(_ isAbsent: Bool) -> Bool { answer(.isIn(CellSet(count: cells) { $0 == 0 }), isAbsent) }

  func mayBe(_ cell: Int) -> Bool { allowed.contains(cell) }

  func mustBe(_ cell: Int) -> Bool { allowed.isSubset(of: CellSet(count: cells) { $0 == cell }) }

  mutating func answer(_ question: FactTest.Question, _ holds: Bool) -> Bool {
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

  /// Of several values, more never hurt, as long as they are allowed: so either all cells are hit or, where that fails, none.
  private var isPossible: Bool {
    guard isPlural else { return !allowed.isEmpty }
    if met.isEmpty, !isPresent { return true }
    return !allowed.isEmpty && met.allSatisfy(allowed.intersects) && left.allSatisfy { !allowed.isSubset(of: $0) }
  }
}
