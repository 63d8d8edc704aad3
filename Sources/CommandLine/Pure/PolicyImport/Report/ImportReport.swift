/// The result for every key of a file. It never contains a secret.
package struct ImportReport: Equatable, Sendable {
  package enum Outcome: String, Equatable, Sendable, CaseIterable {
    /// Same meaning in the policy.
    case taken
    /// Different meaning in the policy, or at a different place.
    case changed
    /// Not in the policy.
    case dropped
    /// About the file as a whole.
    case note
  }

  package enum Weight: String, Equatable, Sendable {
    /// The tunnel is the same without it.
    case plain
    /// Probably not the author's intention, or less than the file says.
    case warning
    /// Cannot be imported as it is. Rules with such entries are not acted on.
    case error
  }

  package struct Entry: Hashable, Sendable {
    package var outcome: Outcome
    package var weight: Weight
    /// `PayloadContent[0].VPN.OnDemandRules[1].Action`; empty for a note.
    package var key: String
    package var line: Int?
    /// The effect and its reason.
    package var text: String
  }

  /// The name of the file, as the user gave it.
  package var file: String
  package var entries: [Entry] = []
  package var signature: ProfileSignature?

  package init(file: String) { self.file = file }

  package var hasErrors: Bool { entries.contains { $0.weight == .error } }

  package func count(_ outcome: Outcome) -> Int { entries.count { $0.outcome == outcome } }
}

extension ImportReport {
  mutating func add(_ outcome: Outcome, _ place: KeyPath, _ text: String, weight: Weight = .plain) {
    entries.append(Entry(outcome: outcome, weight: weight, key: shown(place.text), line: place.line, text: text))
  }

  mutating func taken(_ place: KeyPath, _ text: String = "") { add(.taken, place, text) }

  mutating func changed(_ place: KeyPath, _ text: String, weight: Weight = .plain) { add(.changed, place, text, weight: weight) }

  mutating func dropped(_ place: KeyPath, _ text: String, weight: Weight = .plain) { add(.dropped, place, text, weight: weight) }

  mutating func record(_ text: String, weight: Weight = .plain, line: Int? = nil) {
    entries.append(Entry(outcome: .note, weight: weight, key: "", line: line, text: text))
  }
}

extension ImportReport {
  /// Adds a finding of `roamward check` about what the import writes.
  package mutating func addFinding(_ message: String, help: String?) {
    let entry = Entry(outcome: .note, weight: .warning, key: "", line: nil, text: help.map { "\(message); \($0)" } ?? message)
    if !entries.contains(where: { $0.text.hasSuffix(message) || $0 == entry }) { entries.append(entry) }
  }
}

/// The place of a value in a file.
struct KeyPath: Equatable, Sendable {
  var text: String
  var line: Int?

  static let root = KeyPath(text: "", line: nil)

  func key(_ name: String, line: Int?) -> KeyPath { KeyPath(text: text.isEmpty ? name : "\(text).\(name)", line: line) }

  func item(_ index: Int, line: Int?) -> KeyPath { KeyPath(text: "\(text)[\(index)]", line: line) }
}
