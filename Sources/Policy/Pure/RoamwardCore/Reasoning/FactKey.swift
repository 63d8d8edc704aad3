import NetworkTypes

/// A fact that conditions test. All other properties of a network vary independently, except those that `FactStates` links.
package enum FactKey: Hashable {
  /// A fact by its key in the fact table.
  case fact(String)
  /// A fact of the network's own answers, which needs the fact `below`. An SSID may or may not be on a list, which can change at any time.
  case own(String, below: String?, proof: FactProof)
  /// The match of a network whose file could not be read.
  case opaque(String)

  package var declaration: FactDeclaration? { if case .fact(let key) = self { FactTable.fact(key) } else { nil } }

  /// The strength of a match on this fact as proof of the machine's place.
  package var proof: FactProof {
    switch self {
    case .fact: declaration?.proof ?? .forgeable
    case .own(_, _, let proof): proof
    case .opaque: .hardToForge
    }
  }

  /// True if an observation of the network may fail to include it. Names, addresses and gateways are always included.
  package var mayBeUnknown: Bool { declaration.map { $0.kind != nil } ?? true }

  /// True if a link may have several values of it.
  package var isPlural: Bool { declaration?.isList ?? false }
}

/// The test of a fact by a key of a match.
package struct FactTest: Hashable {
  package enum Question: Hashable {
    /// The value is in these cells.
    case isIn(CellSet)
    /// At least one of the values is.
    case someIn(CellSet)
    /// There is at least one value, and every value is.
    case eachIn(CellSet)
  }

  package let fact: Int
  package let question: Question
}

extension FactUniverse {
  /// The number of cells of a fact's values.
  package func cellCount(of fact: FactKey) -> Int { if case .fact(let key) = fact { values(of: key).count } else { 2 } }

  /// The fact that a key tests, and the test.
  package func question(of criterion: Criterion) -> (fact: FactKey, question: FactTest.Question) {
    switch criterion.question {
    case .own(let text, let below, let proof): return (.own(text, below: below, proof: proof), .isIn(.flag(true)))
    case .isAmong(let key):
      let isPlural = FactKey.fact(key).isPlural
      let cells = cells(of: key, where: criterion)
      return (.fact(key), isPlural ? .someIn(cells) : .isIn(cells))
    case .areAllAmong(let key): return (.fact(key), .eachIn(cells(of: key, where: criterion)))
    }
  }

  /// The values on which the key matches, by the evaluator's own test.
  private func cells(of key: String, where criterion: Criterion) -> CellSet {
    let contexts = contexts(of: key)
    return CellSet(count: contexts.count) { criterion.holds(on: contexts[$0]) == .yes }
  }
}

extension CellSet {
  /// The cell of a boolean fact: cell 1 is true.
  package static func flag(_ value: Bool) -> CellSet { CellSet(count: 2) { $0 == (value ? 1 : 0) } }
}
