import RoamwardCore

/// The keys of a mapping while they are being taken out of it. Each key is declared by taking it; `finish` reports what was left.
struct Fields {
  /// What the mapping describes, with its article: `a tunnel`.
  private let subject: String
  let location: SourceLocation
  private var entries: [Node.Entry]
  private var known: [String] = []
  private var planned: [String] = []

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

  /// The key's value; `nil`, and reported, where it is absent or could not be read.
  mutating func required<Value>(_ key: String, _ reader: ValueReader<Value>, help: String? = nil, _ reading: inout Reading) -> Value? {
    guard let entry = take(key) else {
      reading.error("`\(key)` is missing in \(subject)", help: help ?? "expected \(reader.expected)", at: location)
      return nil
    }
    return reader.read(entry.value, &reading)
  }

  /// The entry itself, for values that need their key's place.
  mutating func take(_ key: String) -> Node.Entry? {
    known.append(key)
    return entries.firstIndex { $0.key == key }.map { entries.remove(at: $0) }
  }

  /// Declares keys that belong to the language, but not yet to this version.
  mutating func notYet(_ keys: String...) { planned += keys }

  /// Reports the keys that were not taken.
  func finish(_ reading: inout Reading) {
    for entry in entries { reportUnknown(entry, in: subject, known: known, planned: planned, &reading) }
  }
}

func reportUnknown(_ entry: Node.Entry, in subject: String, known: [String], planned: [String], _ reading: inout Reading) {
  if planned.contains(entry.key) {
    reading.error(
      "`\(entry.key)` is not supported by this version", help: "remove it, or wait for a version that knows it", at: entry.keyLocation)
    return
  }
  reading.error(
    "unknown key \(quoted(entry.key)) in \(subject)",
    help: nearest(to: entry.key, among: known + planned).map { "did you mean `\($0)`?" } ?? "known keys: \(known.joined(separator: ", "))",
    at: entry.keyLocation)
}
