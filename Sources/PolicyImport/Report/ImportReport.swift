/// What became of every key of a file. Never holds a secret.
package struct ImportReport: Hashable, Sendable {
  package enum Outcome: String, Hashable, Sendable, CaseIterable {
    /// Says the same in the policy.
    case taken
    /// Says something else in the policy than in the file, or stands in another place.
    case changed
    /// Is not in the policy.
    case dropped
    /// About the file as a whole.
    case note
  }

  package enum Weight: String, Hashable, Sendable {
    case plain
    /// Probably not what its author meant, or less than the file says.
    case warning
    /// Cannot be taken over as it stands; rules with such are not acted on.
    case error
  }

  package struct Entry: Hashable, Sendable {
    package var outcome: Outcome
    package var weight: Weight
    /// `PayloadContent[0].VPN.OnDemandRules[1].Action`; empty for a note.
    package var key: String
    package var line: Int?
    /// How and why.
    package var text: String
  }

  /// As it was named.
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

  mutating func note(_ text: String, weight: Weight = .plain, line: Int? = nil) {
    entries.append(Entry(outcome: .note, weight: weight, key: "", line: line, text: text))
  }
}

/// Where a value is in a file.
struct KeyPath: Hashable, Sendable {
  var text: String
  var line: Int?

  static let root = KeyPath(text: "", line: nil)

  func key(_ name: String, line: Int?) -> KeyPath { KeyPath(text: text.isEmpty ? name : "\(text).\(name)", line: line) }

  func item(_ index: Int, line: Int?) -> KeyPath { KeyPath(text: "\(text)[\(index)]", line: line) }
}
