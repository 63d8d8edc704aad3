package import NetworkTypes

/// One key of a match with what stands behind it: `ssid: [Home, Work]`.
///
/// Judging is what a policy of many rules does all the time: it calls one closure, made for the types that it compares.
/// All else goes by the declaration.
package final class Criterion: Sendable {
  package let key: any AnyCriterionKey
  private let test: @Sendable (EvaluationContext) -> Truth
  private let body: any CriterionBody

  fileprivate init<Wanted>(_ declaration: CriterionKey<Wanted>, _ wanted: Wanted) {
    key = declaration
    test = declaration.test(wanted)
    body = Body(declaration: declaration, wanted: wanted)
  }

  /// Whether it holds on the primary link.
  package func holds(on context: EvaluationContext) -> Truth { test(context) }

  /// What was found, beside what was wanted: `ssid "Cafe" is none of "Home", "Home 5G"`.
  package func found(on context: EvaluationContext, _ holds: Truth) -> String { body.found(on: context, holds) }

  /// As a policy writes it.
  package var written: WrittenCriterion { body.written }

  /// What it compares the fact's values with.
  package var constants: [FactConstant] { body.constants }

  /// For who reasons about networks.
  package var question: FactQuestion { body.question }

  /// What it asks the network for; `nil` where it costs nothing.
  package var evidence: Evidence? { body.evidence }

  fileprivate func wanted<Wanted>(of key: CriterionKey<Wanted>) -> Wanted? {
    guard let body = body as? Body<Wanted>, body.declaration === key else { return nil }
    return body.wanted
  }
}

extension Criterion: Hashable {
  package static func == (a: Criterion, b: Criterion) -> Bool { a === b || a.body.isEqual(to: b.body) }

  package func hash(into hasher: inout Hasher) { body.hash(into: &hasher) }
}

/// What stands behind a key of a policy.
package enum WrittenCriterion: Hashable, Sendable {
  /// One or more texts. Without any it holds nowhere.
  case list([String])
  /// One value, as it is.
  case word(String)
  case text(String)
  /// A mapping that only a reader of policies knows.
  case mapping
}

/// How a policy writes a key.
package enum CriterionReading: Sendable {
  /// One or more texts; nothing comes of texts that are not of the form.
  case list(WrittenForm, @Sendable ([String]) -> Condition)
  case flag(@Sendable (Bool) -> Condition)
  /// By a reader of its own, in `PolicySource`.
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

/// What a key asks.
package enum FactQuestion: Hashable, Sendable {
  /// Of one value whether it is among those that the key lists, of several whether one is.
  case isAmong(fact: String)
  /// Of several values whether there is one, and each is among those.
  case areAllAmong(fact: String)
  /// Something that the network answers for itself, told apart by the text. It needs the fact `below` to be there, where that is given.
  case own(String, below: String?, proof: FactProof)
}

/// A fact that has to be asked for on the network, and so is asked for only where it decides something.
package enum Evidence: Hashable, Sendable {
  case probe(Probe)
  case captivePortal
  case internet
}

/// The declaration of a key of a match, whatever stands behind it.
package protocol AnyCriterionKey: AnyObject, Sendable {
  /// The key in the policy language.
  var name: String { get }
  /// The fact that has to be known; `nil` for what every look brings, and for probes.
  var kind: FactKind? { get }
  /// The fact's key in snapshot files, where it is settled by one fact.
  var fact: String? { get }
  /// What `--set` calls the fact beside the key's name.
  var aliases: [String] { get }
  var about: String { get }
  var example: String { get }
  var reading: CriterionReading { get }
}

/// The declaration of a key of a match, and what it does with what stands behind it.
package final class CriterionKey<Wanted: Hashable & Sendable>: AnyCriterionKey {
  /// Made once for what stands behind the key, and called for each judgement.
  typealias Test = @Sendable (Wanted) -> @Sendable (EvaluationContext) -> Truth
  typealias Report = @Sendable (EvaluationContext, Wanted, Truth) -> String

  /// How a policy writes it.
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

  /// Without `question` it asks whether the fact's value, or one of several, is among those for which `test` holds.
  init(
    _ name: String, kind: FactKind?, fact: String?, aliases: [String] = [], _ about: String, example: String, reading: Reading,
    write: @escaping @Sendable (Wanted) -> WrittenCriterion, constants: @escaping @Sendable (Wanted) -> [FactConstant] = { _ in [] },
    question: (@Sendable (Wanted) -> FactQuestion)? = nil, evidence: @escaping @Sendable (Wanted) -> Evidence? = { _ in nil },
    holds test: @escaping Test, found report: @escaping Report
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
  }

  package func callAsFunction(_ wanted: Wanted) -> Condition { .criterion(Criterion(self, wanted)) }

  package var reading: CriterionReading {
    switch ownReading {
    case .list(let form, let make): .list(form) { [self] in self(make($0)) }
    case .flag(let make): .flag { [self] in self(make($0)) }
    case .own: .own
    }
  }
}

/// What a key makes of what stands behind it, whatever its type.
private protocol CriterionBody: Sendable {
  func found(on context: EvaluationContext, _ holds: Truth) -> String
  var written: WrittenCriterion { get }
  var constants: [FactConstant] { get }
  var question: FactQuestion { get }
  var evidence: Evidence? { get }
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
  /// What stands behind the key; `nil` for another key.
  package func wanted<Wanted>(of key: CriterionKey<Wanted>) -> Wanted? {
    if case .criterion(let criterion) = self { criterion.wanted(of: key) } else { nil }
  }
}

// MARK: Usual comparisons

extension CriterionKey where Wanted == Bool {
  /// Whether a fact is true, or is not. `words` are those for true and for false.
  convenience init(
    flag name: String, _ fact: FactDeclaration, _ about: String, example: String, text: (true: String, false: String),
    evidence: Evidence? = nil, of value: @escaping @Sendable (EvaluationContext) -> Fact<Bool>
  ) {
    self.init(
      name, kind: fact.kind, fact: fact.key, about, example: example, reading: .flag { $0 }, write: { .word(String($0)) },
      evidence: { _ in evidence }, holds: { wanted in { context in value(context).truth { $0 == wanted } } },
      found: { context, _, _ in describe(value(context), as: name) { $0 ? text.true : text.false } })
  }
}

extension CriterionKey {
  /// Whether a fact that may be absent is one of the values: `ssid "Cafe" is not "Home"`, or `no ssid`.
  convenience init<Value, Item>(
    oneOf name: String, _ fact: FactDeclaration, _ about: String, example: String, form: WrittenForm,
    parse: @escaping @Sendable (String) -> Item?, print: @escaping @Sendable (Item) -> String, quotes: Bool = false,
    as noun: String? = nil, constant: @escaping @Sendable (Item) -> FactConstant? = { _ in nil },
    matches: @escaping @Sendable ([Item], Value) -> Bool, of value: @escaping @Sendable (EvaluationContext) -> Fact<Value?>,
    text: @escaping @Sendable (Value) -> String
  ) where Wanted == [Item] {
    let noun = noun ?? name
    self.init(
      name, kind: fact.kind, fact: fact.key, about, example: example, reading: .list(form) { $0.compactMap(parse) },
      write: { .list($0.map(print)) }, constants: { $0.compactMap(constant) },
      holds: { wanted in { context in value(context).truth { found in found.map { matches(wanted, $0) } ?? false } } },
      found: { context, wanted, holds in
        describe(value(context), as: noun) { found in
          let texts = wanted.map { quotes ? "\"\(print($0))\"" : print($0) }
          return found.map { "\(noun) \(text($0)) \(relation(holds, to: texts))" } ?? "no \(noun)"
        }
      })
  }
}
