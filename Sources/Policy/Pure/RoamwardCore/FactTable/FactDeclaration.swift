package import NetworkTypes

/// The declaration of one fact for every use: storage, sources, text forms, display and analysis.
///
/// Comparisons with the fact are keys of a match (`CriterionKey`), in the same file.
package final class FactDeclaration: Sendable {
  /// The meaning of a fact that a snapshot file leaves out.
  package enum Silence: Equatable, Sendable {
    /// The fact is known to have this value. The value is not written.
    case means(FactValue)
    case isUnknown
    /// A fact that is known is always written.
    case never
  }

  /// The object that stores the values.
  package enum Place: Sendable {
    case link(FactAccess<LinkFacts>)
    case machine(FactAccess<NetworkSnapshot>)
  }

  /// The key in snapshot files.
  package let key: String
  /// The fact's kind; `nil`: it comes with every observation of the network, and is never unknown.
  package let kind: FactKind?
  package let about: String
  /// A value as it would stand in a snapshot file.
  package let example: String
  package let form: WrittenForm
  package let isList: Bool
  package let silence: Silence
  package let space: FactSpace
  package let proof: FactProof
  /// Whether only Wi-Fi has the fact.
  package let isOfRadio: Bool
  /// Whether programs of this host know the fact, and the kernel does not.
  package let isOfHostServices: Bool
  /// Whether a source may still appear after all present sources have answered that they do not know.
  let isWrittenLate: Bool
  package let place: Place

  package var isOfLink: Bool { if case .link = place { true } else { false } }

  private init(
    key: String, kind: FactKind?, about: String, example: String, form: WrittenForm, isList: Bool, silence: Silence, space: FactSpace,
    proof: FactProof, isOfRadio: Bool, isOfHostServices: Bool, isWrittenLate: Bool, place: Place
  ) {
    self.key = key
    self.kind = kind
    self.about = about
    self.example = example
    self.form = form
    self.isList = isList
    self.silence = silence
    self.space = space
    self.proof = proof
    self.isOfRadio = isOfRadio
    self.isOfHostServices = isOfHostServices
    self.isWrittenLate = isWrittenLate
    self.place = place
  }
}

/// The access to a fact's value in the object that stores it.
package struct FactAccess<Holder>: Sendable {
  package let value: @Sendable (Holder) -> Fact<FactValue>
  /// Sets the value. Returns false, and changes nothing, if this is not a value of the fact.
  package let set: @Sendable (inout Holder, FactValue) -> Bool
  package let makeUnknown: @Sendable (inout Holder, _ reason: String) -> Void
  /// The reason why the fact is unknown; `nil` if it is known.
  package let reason: @Sendable (Holder) -> String?
  let take: @Sendable (inout Holder, Holder) -> Void
  /// The value as text for people.
  let text: @Sendable (Holder) -> String
  /// Queries the sources, records their answers, and stores the value.
  let gather: @Sendable (inout FactGathering, GatheredLink?, inout Holder) -> Void
}

/// The strength of the proof, by a match on a fact, that the machine is at a location.
package enum FactProof: Equatable, Sendable {
  /// It proves nothing about the location.
  case none
  /// Any other network can show the same value.
  case forgeable
  /// Forging it requires the location's own hardware, or a key.
  case hardToForge
}

/// The classes of a fact's values, as divided by the constants in policies: for an analysis of all possible networks.
package enum FactSpace: Sendable {
  /// The values of the form: true and false, or the words of an enumeration.
  case ofForm
  /// Names that patterns are compared with.
  case names(NameSpace)
  case hardwareAddresses
  case domains
  /// Addresses, divided by prefixes or one by one.
  case addresses
  /// Moments of a week, divided by windows.
  case moments
}

/// The set of strings that are names.
package struct NameSpace: Sendable {
  /// The length in bytes.
  package let lengths: ClosedRange<Int>
  package let isAllowed: @Sendable (UInt8) -> Bool
  package let isForbidden: @Sendable ([UInt8]) -> Bool
  /// The name in the fact's form; `nil` if the bytes are not a name.
  package let text: @Sendable ([UInt8]) -> String?

  init(
    lengths: ClosedRange<Int>, isAllowed: @escaping @Sendable (UInt8) -> Bool = { _ in true },
    isForbidden: @escaping @Sendable ([UInt8]) -> Bool = { _ in false }, text: @escaping @Sendable ([UInt8]) -> String?
  ) {
    self.lengths = lengths
    self.isAllowed = isAllowed
    self.isForbidden = isForbidden
    self.text = text
  }

  /// Lines of printable ASCII.
  static let lines = NameSpace(lengths: 1...64, isAllowed: { $0 >= 0x20 && $0 < 0x7f }, text: { String(validating: $0, as: UTF8.self) })
}

extension FactDeclaration {
  /// Declares a fact of each link.
  ///
  /// `gather` finds the value in `FactGathering.sources`, for a link whose facts of earlier declarations are present.
  convenience init<Value>(
    _ kind: FactKind, ofLink path: any WritableKeyPath<LinkFacts, Fact<Value>> & Sendable, _ code: ValueCode<Value>, silence: Silence,
    space: FactSpace = .ofForm, proof: FactProof = .forgeable, isOfRadio: Bool = false, isOfHostServices: Bool = false,
    isWrittenLate: Bool = false, isGatheredAlways: Bool = false, _ about: String, example: String,
    gather: @escaping @Sendable (FactGathering, GatheredLink, LinkFacts) -> Traced<Value>
  ) {
    let access = FactAccess(path, code) { gathering, link, facts in
      guard let link else { return }
      facts[keyPath: path] = gathering.record(kind, of: link, isAlways: isGatheredAlways) { [facts] in gather($0, link, facts) }
    }
    self.init(
      key: kind.rawValue, kind: kind, about: about, example: example, form: code.form, isList: code.isList, silence: silence, space: space,
      proof: proof, isOfRadio: isOfRadio, isOfHostServices: isOfHostServices, isWrittenLate: isWrittenLate, place: .link(access))
  }

  /// Declares a fact of the machine as a whole. `gather` gets the primary link, if there is one.
  convenience init<Value>(
    _ kind: FactKind, ofMachine path: any WritableKeyPath<NetworkSnapshot, Fact<Value>> & Sendable, _ code: ValueCode<Value>,
    silence: Silence, space: FactSpace = .ofForm, proof: FactProof = .none, isOfHostServices: Bool = false, _ about: String,
    example: String,
    gather: @escaping @Sendable (FactGathering, GatheredLink?) -> Traced<Value>
  ) {
    let access = FactAccess(path, code) { gathering, primary, snapshot in
      snapshot[keyPath: path] = gathering.record(kind, of: nil) { gather($0, primary) }
    }
    self.init(
      key: kind.rawValue, kind: kind, about: about, example: example, form: code.form, isList: code.isList, silence: silence, space: space,
      proof: proof, isOfRadio: false, isOfHostServices: isOfHostServices, isWrittenLate: false, place: .machine(access))
  }

  /// Declares a fact that comes with every observation of a link.
  convenience init<Value>(
    known key: String, ofLink path: any WritableKeyPath<LinkFacts, Value> & Sendable, _ code: ValueCode<Value>, silence: Silence,
    space: FactSpace, _ about: String, example: String
  ) {
    let access = FactAccess<LinkFacts>(
      value: { .known(code.write($0[keyPath: path])) },
      set: { facts, value in
        guard let value = code.read(value) else { return false }
        facts[keyPath: path] = value
        return true
      }, makeUnknown: { _, _ in }, reason: { _ in nil }, take: { $0[keyPath: path] = $1[keyPath: path] },
      text: { code.text($0[keyPath: path]) }, gather: { _, _, _ in })
    self.init(
      key: key, kind: nil, about: about, example: example, form: code.form, isList: code.isList, silence: silence, space: space,
      proof: .forgeable, isOfRadio: false, isOfHostServices: false, isWrittenLate: false, place: .link(access))
  }
}

extension FactAccess {
  fileprivate init<Value>(
    _ path: any WritableKeyPath<Holder, Fact<Value>> & Sendable, _ code: ValueCode<Value>,
    gather: @escaping @Sendable (inout FactGathering, GatheredLink?, inout Holder) -> Void
  ) {
    self.init(
      value: { holder in
        switch holder[keyPath: path] {
        case .known(let value): .known(code.write(value))
        case .unknown(let reason): .unknown(reason: reason)
        }
      },
      set: { holder, value in
        guard let value = code.read(value) else { return false }
        holder[keyPath: path] = .known(value)
        return true
      },
      makeUnknown: { $0[keyPath: path] = .unknown(reason: $1) },
      reason: { if case .unknown(let reason) = $0[keyPath: path] { reason } else { nil } },
      take: { $0[keyPath: path] = $1[keyPath: path] },
      text: { holder in
        switch holder[keyPath: path] {
        case .known(let value): code.text(value)
        case .unknown(let reason): "unknown: \(reason)"
        }
      }, gather: gather)
  }
}
