import RoamwardCore

/// The keys of a mapping, taken one by one. It is for mappings in which the meaning of a key depends on others, so that a table of keys
/// does not fit. Each key is declared by taking it; `finish` reports the remaining keys.
struct Fields {
  /// The described object, with its article: `a tunnel`.
  private let subject: String
  let location: SourceLocation
  private var entries: [Node.Entry]
  private var known: [String] = []

  /// `nil`, and reported, if the node is not a mapping. An absent value counts as an empty mapping.
  init?(_ node: Node, of subject: String, _ reading: inout Reading) {
    self.subject = subject
    location = node.location
    switch node.content {
    case .mapping(let entries): self.entries = entries
    case .null: entries = []
    case .scalar, .sequence, .refused:
      reading.expected("the keys of \(subject)", at: node)
      return nil
    }
  }

  /// The key's value; `nil` if the key is absent, empty or a plain `null`, or could not be read.
  mutating func optional<Value>(_ key: String, _ reader: ValueReader<Value>, _ reading: inout Reading) -> Value? {
    guard let entry = take(key) else { return nil }
    switch entry.value.content {
    case .null, .scalar("null", isPlain: true): return nil
    default: return reader.read(entry.value, &reading)
    }
  }

  /// The entry itself, for values that need the place of their key.
  mutating func take(_ key: String) -> Node.Entry? {
    known.append(key)
    return entries.firstIndex { $0.key == key }.map { entries.remove(at: $0) }
  }

  /// Reports the keys that were not taken.
  func finish(_ reading: inout Reading) {
    for entry in entries { reportUnknown(entry, in: subject, known: known, planned: [], &reading) }
  }
}
