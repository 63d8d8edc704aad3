package import JSON

/// The only declaration of a mapping's keys. Both the reader and the JSON Schema are derived from it.
package struct Mapping<Draft: Sendable>: Sendable {
  /// The described object, with its article: `a tunnel`.
  let subject: String
  /// The noun for its keys, for `expected the keys of a tunnel`.
  let noun: String
  /// The value without any keys.
  let draft: Draft
  /// Reserved keys that this version does not support yet.
  let planned: [String]
  let keys: [Key<Draft>]
  /// The members of the schema beside those of the keys: which keys go together.
  let constraints: [JSON.Member]
  /// Of the keys. What needs no draft is compiled once for all mappings.
  let declarations: [KeyDeclaration]

  package init(
    subject: String, noun: String = "keys", draft: Draft, planned: [String] = [], constraints: [JSON.Member] = [], keys: [Key<Draft>]
  ) {
    self.subject = subject
    self.noun = noun
    self.draft = draft
    self.planned = planned
    self.keys = keys
    self.constraints = constraints
    declarations = keys.map(\.declaration)
  }

  /// Reads the mapping. `nil`, and reported, if the node is not a mapping. An absent value counts as an empty mapping. Keys are read in the
  /// order of the file.
  package func read(_ node: Node, as name: String? = nil, help: String? = nil, _ reading: inout Reading) -> Draft? {
    let subject = name ?? subject
    guard let entries = reading.entries(of: node, "the \(noun) of \(subject)", help: help) else { return nil }
    var result = draft
    for entry in entries {
      guard let place = reading.place(of: entry, among: declarations, planned: planned, in: subject) else { continue }
      keys[place].read(entry, &result, &reading)
    }
    reading.reportMissing(declarations, among: entries, of: node, in: subject)
    return result
  }

  package var schema: Schema { Schema(of: declarations, constraints) }

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

extension Reading {
  /// The entries of a mapping; `nil`, and reported, if the node is none.
  fileprivate mutating func entries(of node: Node, _ expected: String, help: String?) -> [Node.Entry]? {
    switch node.content {
    case .mapping(let found): return found
    case .null: return []
    case .scalar, .sequence, .refused:
      self.expected(expected, at: node, help: help)
      return nil
    }
  }

  /// The place of the declaration of an entry; `nil`, and reported, if there is none.
  fileprivate mutating func place(
    of entry: Node.Entry, among keys: [KeyDeclaration], planned: [String], in subject: String
  ) -> Int? {
    if let place = keys.firstIndex(where: { $0.name == entry.key }) { return place }
    reportUnknown(entry, in: subject, known: keys.map(\.name), planned: planned, &self)
    return nil
  }

  fileprivate mutating func reportMissing(_ keys: [KeyDeclaration], among entries: [Node.Entry], of node: Node, in subject: String) {
    for key in keys {
      guard let help = key.missing, !entries.contains(where: { $0.key == key.name }) else { continue }
      error("`\(key.name)` is missing in \(subject)", help: help, at: node.location)
    }
  }

}

extension Node.Entry {
  /// Whether an optional key has a value.
  fileprivate var isGiven: Bool {
    switch value.content {
    case .null, .scalar("null", isPlain: true): false
    default: true
    }
  }
}

extension Node {
  /// Whether it is a mapping in which this optional key has a value.
  func gives(_ key: String) -> Bool {
    if case .mapping(let entries) = content { entries.contains { $0.key == key && $0.isGiven } } else { false }
  }
}

extension Schema {
  fileprivate init(of keys: [KeyDeclaration], _ constraints: [JSON.Member]) {
    var members: [JSON.Member] = [
      .init(key: "type", value: "object"), .init(key: "additionalProperties", value: false),
      .init(key: "properties", value: .object(keys.map { .init(key: $0.name, value: $0.property) })),
    ]
    let required = keys.filter { $0.missing != nil }.map { JSON.string($0.name) }
    if !required.isEmpty { members.append(.init(key: "required", value: .array(required))) }
    self.init(members: members + constraints)
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
  /// Whether nothing (`~`) is a value: for an optional key it means the same as no key.
  var takesNull = true
}

/// One key of a mapping.
package struct Key<Draft: Sendable>: Sendable {
  let declaration: KeyDeclaration
  let read: @Sendable (Node.Entry, inout Draft, inout Reading) -> Void
}

extension Key {
  /// An optional key. Empty or a plain `null` means the same as absent.
  package init<Value>(
    _ name: String, _ reader: ValueReader<Value>, _ about: String, standard: String? = nil, example: String,
    _ assign: @escaping @Sendable (inout Draft, Value) -> Void
  ) {
    declaration = KeyDeclaration(
      name: name, about: about, expected: reader.expected, schema: reader.schema, standard: standard, example: example)
    read = { entry, draft, reading in
      guard entry.isGiven, let value = reader.read(entry.value, &reading) else { return }
      assign(&draft, value)
    }
  }

  /// A required key. `missing` is the suggestion if it is absent.
  package init<Value>(
    required name: String, _ reader: ValueReader<Value>, _ about: String, example: String, missing: String? = nil,
    _ assign: @escaping @Sendable (inout Draft, Value) -> Void
  ) {
    declaration = KeyDeclaration(
      name: name, about: about, expected: reader.expected, schema: reader.schema, example: example,
      missing: missing ?? "expected \(reader.expected)", takesNull: false)
    read = { entry, draft, reading in
      if let value = reader.read(entry.value, &reading) { assign(&draft, value) }
    }
  }

  /// A key whose reader needs its place. `judgesNull`: its reader judges nothing, too, which means no key otherwise.
  package init(
    _ name: String, expects expected: String, schema: Schema, _ about: String, standard: String? = nil, example: String,
    missing: String? = nil, judgesNull: Bool = false,
    _ read: @escaping @Sendable (Node.Entry, inout Draft, inout Reading) -> Void
  ) {
    declaration = KeyDeclaration(
      name: name, about: about, expected: expected, schema: schema, standard: standard, example: example, missing: missing,
      takesNull: missing == nil && !judgesNull)
    let isGivenAlways = missing != nil || judgesNull
    self.read = { entry, draft, reading in
      if isGivenAlways || entry.isGiven { read(entry, &draft, &reading) }
    }
  }
}

extension KeyDeclaration {
  /// The key as a property of a JSON Schema. A reference is wrapped in `allOf`, because draft 7 ignores keywords beside `$ref`.
  fileprivate var property: JSON {
    var members: [JSON.Member] = [.init(key: "description", value: .string(about))]
    if let standard { members.append(.init(key: "default", value: value(of: standard))) }
    members.append(.init(key: "examples", value: .array([value(of: example)])))
    let schema = takesNull ? schema.orNull : schema
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
