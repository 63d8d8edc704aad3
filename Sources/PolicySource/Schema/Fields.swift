import RoamwardCore

/// The keys of a mapping while they are being taken out of it, where a table of keys would not do: what a key means hangs on others.
/// Each key is declared by taking it; `finish` reports what was left.
struct Fields {
  /// What the mapping describes, with its article: `a tunnel`.
  private let subject: String
  let location: SourceLocation
  private var entries: [Node.Entry]
  private var known: [String] = []

  /// `nil`, and reported, where the node is no mapping. Nothing at all counts as an empty mapping.
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

  /// The key's value; `nil` where the key is absent, has nothing or a plain `null` after it, or could not be read.
  mutating func optional<Value>(_ key: String, _ reader: ValueReader<Value>, _ reading: inout Reading) -> Value? {
    guard let entry = take(key) else { return nil }
    switch entry.value.content {
    case .null, .scalar("null", isPlain: true): return nil
    default: return reader.read(entry.value, &reading)
    }
  }

  /// The entry itself, for values that need their key's place.
  mutating func take(_ key: String) -> Node.Entry? {
    known.append(key)
    return entries.firstIndex { $0.key == key }.map { entries.remove(at: $0) }
  }

  /// Reports the keys that were not taken.
  func finish(_ reading: inout Reading) {
    for entry in entries { reportUnknown(entry, in: subject, known: known, planned: [], &reading) }
  }
}
