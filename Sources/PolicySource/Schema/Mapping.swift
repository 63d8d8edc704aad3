internal import JSON

/// The only declaration of a mapping's keys. Both the reader and the JSON Schema are derived from it.
struct Mapping<Draft: Sendable>: Sendable {
  /// The described object, with its article: `a tunnel`.
  let subject: String
  /// The noun for its keys, for `expected the keys of a tunnel`.
  var noun = "keys"
  /// The value without any keys.
  let draft: Draft
  /// Reserved keys that this version does not support yet.
  var planned: [String] = []
  let keys: [Key<Draft>]

  /// Reads the mapping. `nil`, and reported, if the node is not a mapping. An absent value counts as an empty mapping. Keys are read in the
  /// order of the file.
  func read(_ node: Node, as name: String? = nil, help: String? = nil, _ reading: inout Reading) -> Draft? {
    let subject = name ?? subject
    let entries: [Node.Entry]
    switch node.content {
    case .mapping(let found): entries = found
    case .null: entries = []
    case .scalar, .sequence, .refused:
      reading.expected("the \(noun) of \(subject)", at: node, help: help)
      return nil
    }
    var result = draft
    for entry in entries {
      if let key = keys.first(where: { $0.declaration.name == entry.key }) {
        key.read(entry, &result, &reading)
      } else {
        reportUnknown(entry, in: subject, known: keys.map(\.declaration.name), planned: planned, &reading)
      }
    }
    for key in keys {
      guard let help = key.declaration.missing, !entries.contains(where: { $0.key == key.declaration.name }) else { continue }
      reading.error("`\(key.declaration.name)` is missing in \(subject)", help: help, at: node.location)
    }
    return result
  }

  var schema: Schema {
    var members: [JSON.Member] = [
      .init(key: "type", value: "object"), .init(key: "additionalProperties", value: false),
      .init(key: "properties", value: .object(keys.map { .init(key: $0.declaration.name, value: $0.declaration.property) })),
    ]
    let required = keys.filter { $0.declaration.missing != nil }.map { JSON.string($0.declaration.name) }
    if !required.isEmpty { members.append(.init(key: "required", value: .array(required))) }
    return Schema(members: members)
  }

  /// A reader of values that `finish` creates from the keys.
  func reader<Value>(
    _ expected: String, _ finish: @escaping @Sendable (Draft, Node, inout Reading) -> Value?
  ) -> ValueReader<Value> {
    ValueReader(expected: expected, schema: schema) { node, reading in
      guard let draft = read(node, &reading) else { return nil }
      return finish(draft, node, &reading)
    }
  }
}

/// The declaration of a key, for all its uses.
struct KeyDeclaration: Sendable {
  let name: String
  /// A description of one sentence.
  let about: String
  /// The expected value, in the words of messages: `a number from 576 to 65535`.
  let expected: String
  let schema: Schema
  /// The default value, if it has one.
  var standard: String?
  /// An example value, as in a file.
  let example: String
  /// A suggestion for a missing required key; `nil`: the key is optional.
  var missing: String?
  /// A limitation of this version.
  var limitation: String?
}

/// One key of a mapping.
struct Key<Draft: Sendable>: Sendable {
  let declaration: KeyDeclaration
  let read: @Sendable (Node.Entry, inout Draft, inout Reading) -> Void
}

extension Key {
  /// An optional key. Empty or a plain `null` means the same as absent.
  ///
  /// `limitation` is a limitation of this version, reported once per file.
  init<Value>(
    _ name: String, _ reader: ValueReader<Value>, _ about: String, standard: String? = nil, example: String, limitation: String? = nil,
    _ assign: @escaping @Sendable (inout Draft, Value) -> Void
  ) {
    declaration = KeyDeclaration(
      name: name, about: about, expected: reader.expected, schema: reader.schema, standard: standard, example: example,
      limitation: limitation)
    read = { entry, draft, reading in
      switch entry.value.content {
      case .null, .scalar("null", isPlain: true): return
      default: break
      }
      if let limitation { reading.tellLimit(of: name, limitation, at: entry.keyLocation) }
      if let value = reader.read(entry.value, &reading) { assign(&draft, value) }
    }
  }

  /// A required key. `missing` is the suggestion if it is absent.
  init<Value>(
    required name: String, _ reader: ValueReader<Value>, _ about: String, example: String, missing: String? = nil,
    _ assign: @escaping @Sendable (inout Draft, Value) -> Void
  ) {
    declaration = KeyDeclaration(
      name: name, about: about, expected: reader.expected, schema: reader.schema, example: example,
      missing: missing ?? "expected \(reader.expected)")
    read = { entry, draft, reading in
      if let value = reader.read(entry.value, &reading) { assign(&draft, value) }
    }
  }

  /// A key whose reader needs its place.
  init(
    _ name: String, expects expected: String, schema: Schema, _ about: String, standard: String? = nil, example: String,
    missing: String? = nil, limitation: String? = nil, _ read: @escaping @Sendable (Node.Entry, inout Draft, inout Reading) -> Void
  ) {
    declaration = KeyDeclaration(
      name: name, about: about, expected: expected, schema: schema, standard: standard, example: example, missing: missing,
      limitation: limitation)
    self.read = read
  }
}

extension KeyDeclaration {
  /// The key as a property of a JSON Schema. A reference is wrapped in `allOf`, because draft 7 ignores keywords beside `$ref`.
  fileprivate var property: JSON {
    var members: [JSON.Member] = [.init(key: "description", value: .string(about))]
    if let standard { members.append(.init(key: "default", value: value(of: standard))) }
    members.append(.init(key: "examples", value: .array([value(of: example)])))
    guard case .object(let own) = schema.value else { return .object(members) }
    return .object(members + (own.contains { $0.key == "$ref" } ? [.init(key: "allOf", value: .array([schema.value]))] : own))
  }

  private func value(of text: String) -> JSON {
    readYAML(SourceText(file: name, bytes: Array(text.utf8))).root.map { JSON($0) } ?? .string(text)
  }
}

func reportUnknown(_ entry: Node.Entry, in subject: String, known: [String], planned: [String], _ reading: inout Reading) {
  if planned.contains(entry.key) {
    reading.error(
      "`\(entry.key)` is not supported by this version", help: "remove it, or wait for a version that knows it", at: entry.keyLocation)
    return
  }
  if isSecretName(entry.key) {
    reading.error(
      "\(quoted(entry.key)) looks like a secret, and a policy never holds one",
      help: "keep it in a file of mode 0600 that the provider reads, such as the wg-quick file, and change it if others have seen it",
      at: entry.keyLocation)
    return
  }
  reading.error(
    "unknown key \(quoted(entry.key)) in \(subject)",
    help: nearest(to: entry.key, among: known + planned).map { "did you mean `\($0)`?" } ?? "known keys: \(known.joined(separator: ", "))",
    at: entry.keyLocation)
}
