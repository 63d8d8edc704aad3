package import NetworkTypes

/// One key of a match with its value: `ssid: [Home, Work]`.
///
/// A policy of many rules evaluates criteria all the time: an evaluation calls one closure, made for the types that it compares. Everything
/// else comes from the declaration.
package final class Criterion: Sendable {
  package let key: any AnyCriterionKey
  private let test: @Sendable (EvaluationContext) -> Truth
  private let body: any CriterionBody

  fileprivate init<Wanted>(_ declaration: CriterionKey<Wanted>, _ wanted: Wanted) {
    key = declaration
    test = declaration.test(wanted)
    body = Body(declaration: declaration, wanted: wanted)
  }

  /// Whether the criterion matches the primary link.
  package func holds(on context: EvaluationContext) -> Truth { test(context) }

  /// The value found, next to the value wanted: `ssid "Cafe" is none of "Home", "Home 5G"`.
  package func found(on context: EvaluationContext, _ holds: Truth) -> String { body.found(on: context, holds) }

  /// The criterion as a policy writes it.
  package var written: WrittenCriterion { body.written }

  /// The values that the criterion compares the fact's values with.
  package var constants: [FactConstant] { body.constants }

  /// The criterion as a question, for an analysis of all possible networks.
  package var question: FactQuestion { body.question }

  /// The query to the network that the criterion requires; `nil` if it requires none.
  package var evidence: Evidence? { body.evidence }

  /// The marks of the values on which the criterion is not certainly false; `nil` for a key without marks.
  var marks: Marks? { body.marks.map { $0 | .unknown } }

  fileprivate func wanted<Wanted>(of key: CriterionKey<Wanted>) -> Wanted? {
    guard let body = body as? Body<Wanted>, body.declaration === key else { return nil }
    return body.wanted
  }
}

extension Criterion: Hashable {
  package static func == (a: Criterion, b: Criterion) -> Bool { a === b || a.body.isEqual(to: b.body) }

  package func hash(into hasher: inout Hasher) { body.hash(into: &hasher) }
}

/// The value of a key in a policy.
package enum WrittenCriterion: Equatable, Sendable {
  /// One or more texts. An empty list never matches.
  case list([String])
  /// One value, unchanged.
  case word(String)
  case text(String)
  /// A mapping that only the policy reader understands.
  case mapping
}

/// The syntax of a key's value in a policy.
package enum CriterionReading: Sendable {
  /// One or more texts; texts that are not of the form yield no condition.
  case list(WrittenForm, @Sendable ([String]) -> Condition)
  case flag(@Sendable (Bool) -> Condition)
  /// Read by a reader of its own, in `PolicySource`.
  case own
}

/// A value or a pattern that policies compare a fact with.
package enum FactConstant: Hashable, Sendable {
  case name([UInt8])
  case pattern(Glob)
  case hardwareAddress(MACAddress)
  case domain(DomainName)
  case prefix(IPPrefix)
  case address(IPAddress)
  case window(TimeWindow)
}

/// The question that a key asks about a fact.
package enum FactQuestion: Equatable, Sendable {
  /// Whether one value, or one of several, is in the key's list.
  case isAmong(fact: String)
  /// Whether there are values, and each one is in the key's list.
  case areAllAmong(fact: String)
  /// A question that the network itself answers, identified by the text. It requires the fact `below`, if that is given.
  case own(String, below: String?, proof: FactProof)
}

/// A fact that requires a query to the network; it is queried only if a decision depends on it.
package enum Evidence: Hashable, Sendable {
  case probe(Probe)
  case captivePortal
  case internet
}

/// The declaration of a key of a match, independent of the type of its value.
package protocol AnyCriterionKey: AnyObject, Sendable {
  /// The key in the policy language.
  var name: String { get }
  /// The fact that the key requires; `nil` for facts that come with every observation, and for probes.
  var kind: FactKind? { get }
  /// The fact's key in snapshot files, if one fact decides.
  var fact: String? { get }
  /// Other names of the fact for `--set`, besides the key's name.
  var aliases: [String] { get }
  var about: String { get }
  var example: String { get }
  var reading: CriterionReading { get }
  /// Whether the key has marks, by which rules are excluded without an evaluation.
  var isMarked: Bool { get }
  /// The marks of the fact on a network; `nil` for a key without marks.
  func marks(on context: EvaluationContext) -> Marks?
}

/// The marks of a key's value, and those of the fact on a network. The key is certainly false if they have none in common.
struct Marking<Wanted>: Sendable {
  let wanted: @Sendable (Wanted) -> Marks
  let found: @Sendable (EvaluationContext) -> Marks
}

/// The declaration of a key of a match, and the use of its value.
package final class CriterionKey<Wanted: Hashable & Sendable>: AnyCriterionKey {
  /// Called once for each value of the key; the closure that it returns is called for each evaluation.
  typealias Test = @Sendable (Wanted) -> @Sendable (EvaluationContext) -> Truth
  typealias Report = @Sendable (EvaluationContext, Wanted, Truth) -> String

  /// The syntax of the key's value in a policy.
  enum Reading: Sendable {
    case list(WrittenForm, @Sendable ([String]) -> Wanted)
    case flag(@Sendable (Bool) -> Wanted)
    case own
  }

  package let name: String
  package let kind: FactKind?
  package let fact: String?
  package let aliases: [String]
  package let about: String
  package let example: String
  private let ownReading: Reading
  fileprivate let write: @Sendable (Wanted) -> WrittenCriterion
  fileprivate let constants: @Sendable (Wanted) -> [FactConstant]
  fileprivate let question: @Sendable (Wanted) -> FactQuestion
  fileprivate let evidence: @Sendable (Wanted) -> Evidence?
  fileprivate let test: Test
  fileprivate let report: Report
  fileprivate let marking: Marking<Wanted>?

  /// Without `question`, the key asks whether the fact's value, or one of several, is among those that satisfy `test`. Without `marks`, its
  /// rules are always evaluated.
  init(
    _ name: String, kind: FactKind?, fact: String?, aliases: [String] = [], _ about: String, example: String, reading: Reading,
    write: @escaping @Sendable (Wanted) -> WrittenCriterion, constants: @escaping @Sendable (Wanted) -> [FactConstant] = { _ in [] },
    question: (@Sendable (Wanted) -> FactQuestion)? = nil, evidence: @escaping @Sendable (Wanted) -> Evidence? = { _ in nil },
    marks: Marking<Wanted>? = nil, holds test: @escaping Test, found report: @escaping Report
  ) {
    self.name = name
    self.kind = kind
    self.fact = fact
    self.aliases = aliases
    self.about = about
    self.example = example
    ownReading = reading
    self.write = write
    self.constants = constants
    self.question = question ?? { _ in .isAmong(fact: fact ?? name) }
    self.evidence = evidence
    self.test = test
    self.report = report
    marking = marks
  }

  package func marks(on context: EvaluationContext) -> Marks? { marking?.found(context) }

  package var isMarked: Bool { marking != nil }

  package func callAsFunction(_ wanted: Wanted) -> Condition { .criterion(Criterion(self, wanted)) }

  package var reading: CriterionReading {
    switch ownReading {
    case .list(let form, let make): .list(form) { [self] in self(make($0)) }
    case .flag(let make): .flag { [self] in self(make($0)) }
    case .own: .own
    }
  }
}

/// The result of a key for its value, independent of the value's type.
private protocol CriterionBody: Sendable {
  func found(on context: EvaluationContext, _ holds: Truth) -> String
  var written: WrittenCriterion { get }
  var constants: [FactConstant] { get }
  var question: FactQuestion { get }
  var evidence: Evidence? { get }
  var marks: Marks? { get }
  func isEqual(to other: any CriterionBody) -> Bool
  func hash(into hasher: inout Hasher)
}

private struct Body<Wanted: Hashable & Sendable>: CriterionBody {
  let declaration: CriterionKey<Wanted>
  let wanted: Wanted

  func found(on context: EvaluationContext, _ holds: Truth) -> String { declaration.report(context, wanted, holds) }
  var written: WrittenCriterion { declaration.write(wanted) }
  var constants: [FactConstant] { declaration.constants(wanted) }
  var question: FactQuestion { declaration.question(wanted) }
  var evidence: Evidence? { declaration.evidence(wanted) }
  var marks: Marks? { declaration.marking?.wanted(wanted) }

  func isEqual(to other: any CriterionBody) -> Bool {
    guard let other = other as? Body else { return false }
    return declaration === other.declaration && wanted == other.wanted
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(declaration.name)
    hasher.combine(wanted)
  }
}

extension Condition {
  /// The value of the key; `nil` for another key.
  package func wanted<Wanted>(of key: CriterionKey<Wanted>) -> Wanted? {
    if case .criterion(let criterion) = self { criterion.wanted(of: key) } else { nil }
  }
}

// MARK: Usual comparisons

extension CriterionKey where Wanted == Bool {
  /// Compares a fact with true or false. `words` are the texts for true and for false.
  convenience init(
    flag name: String, _ fact: FactDeclaration, _ about: String, example: String, text: (true: String, false: String),
    evidence: Evidence? = nil, of value: @escaping @Sendable (EvaluationContext) -> Fact<Bool>
  ) {
    self.init(
      name, kind: fact.kind, fact: fact.key, about, example: example, reading: .flag { $0 }, write: { .word(String($0)) },
      evidence: { _ in evidence }, marks: Marking(wanted: { Marks($0) }, found: { value($0).marks { Marks($0) } }),
      holds: { wanted in { context in value(context).truth { $0 == wanted } } },
      found: { context, _, _ in describe(value(context), as: name) { $0 ? text.true : text.false } })
  }
}

extension CriterionKey {
  /// Compares a fact that may be absent with a list of values: `ssid "Cafe" is not "Home"`, or `no ssid`.
  convenience init<Value, Item>(
    oneOf name: String, _ fact: FactDeclaration, _ about: String, example: String, form: WrittenForm,
    parse: @escaping @Sendable (String) -> Item?, print: @escaping @Sendable (Item) -> String, quotes: Bool = false,
    as noun: String? = nil, constant: @escaping @Sendable (Item) -> FactConstant? = { _ in nil },
    mark: @escaping @Sendable (Item) -> Marks, marks: @escaping @Sendable (Value) -> Marks,
    matches: @escaping @Sendable ([Item], Value) -> Bool, of value: @escaping @Sendable (EvaluationContext) -> Fact<Value?>,
    text: @escaping @Sendable (Value) -> String
  ) where Wanted == [Item] {
    let noun = noun ?? name
    self.init(
      name, kind: fact.kind, fact: fact.key, about, example: example, reading: .list(form) { $0.compactMap(parse) },
      write: { .list($0.map(print)) }, constants: { $0.compactMap(constant) },
      marks: Marking(wanted: { $0.marks(mark) }, found: { value($0).marks { $0.map(marks) ?? .none } }),
      holds: { wanted in { context in value(context).truth { found in found.map { matches(wanted, $0) } ?? false } } },
      found: { context, wanted, holds in
        describe(value(context), as: noun) { found in
          let texts = wanted.map { quotes ? "\"\(print($0))\"" : print($0) }
          return found.map { "\(noun) \(text($0)) \(relation(holds, to: texts))" } ?? "no \(noun)"
        }
      })
  }
}
