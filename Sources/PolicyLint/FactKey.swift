import NetworkTypes
import RoamwardCore

/// A fact that conditions ask about; everything else about a network may vary without regard to it, but for what `FactStates` links.
enum FactKey: Hashable {
  /// By its key in the table of facts.
  case fact(String)
  /// What the network answers for itself, and needs the fact `below`. An SSID may or may not be on a list, which others change at any time.
  case own(String, below: String?, proof: FactProof)
  /// Whether a network holds whose file could not be read.
  case opaque(String)

  var declaration: FactDeclaration? { if case .fact(let key) = self { FactTable.fact(key) } else { nil } }

  /// How far a match on this fact tells where the machine is.
  var proof: FactProof {
    switch self {
    case .fact: declaration?.proof ?? .forgeable
    case .own(_, _, let proof): proof
    case .opaque: .hardToForge
    }
  }

  /// Whether a look at the network may fail to tell it. Names, addresses and gateways come with every look.
  var mayBeUnknown: Bool { declaration.map { $0.kind != nil } ?? true }

  /// Whether a link may have several values of it.
  var isPlural: Bool { declaration?.isList ?? false }
}

/// What a key of a match asks of a fact.
struct FactTest: Hashable {
  enum Question: Hashable {
    /// The value lies in these cells.
    case isIn(CellSet)
    /// One of the values does.
    case someIn(CellSet)
    /// There is a value, and every one does.
    case eachIn(CellSet)
  }

  let fact: Int
  let question: Question
}

extension FactUniverse {
  /// Into how many cells a fact's values are divided.
  func cellCount(of fact: FactKey) -> Int { if case .fact(let key) = fact { values(of: key).count } else { 2 } }

  /// The fact that a key asks about, and the question.
  func question(of criterion: Criterion) -> (fact: FactKey, question: FactTest.Question) {
    switch criterion.question {
    case .own(let text, let below, let proof): return (.own(text, below: below, proof: proof), .isIn(.flag(true)))
    case .isAmong(let key):
      let isPlural = FactKey.fact(key).isPlural
      let cells = cells(of: key, where: criterion)
      return (.fact(key), isPlural ? .someIn(cells) : .isIn(cells))
    case .areAllAmong(let key): return (.fact(key), .eachIn(cells(of: key, where: criterion)))
    }
  }

  /// The values on which the key holds, by the evaluator's own test.
  private func cells(of key: String, where criterion: Criterion) -> CellSet {
    let contexts = contexts(of: key)
    return CellSet(count: contexts.count) { criterion.holds(on: contexts[$0]) == .yes }
  }
}

extension CellSet {
  /// Of a fact that is true or false: cell 1 is true.
  static func flag(_ value: Bool) -> CellSet { CellSet(count: 2) { $0 == (value ? 1 : 0) } }
}
