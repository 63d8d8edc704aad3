/// A piece of a JSON Schema (draft 7), for editors that complete and check policies.
struct Schema: Hashable, Sendable {
  var value: SchemaValue

  init(_ members: KeyValuePairs<String, SchemaValue>) { value = .object(members.map { .init(key: $0.key, value: $0.value) }) }

  init(members: [SchemaValue.Member]) { value = .object(members) }

  /// Text that a reader of YAML cannot take for a number.
  static let string = Schema(["type": "string"])
  /// Anybody's text: `no` and `0123` are names too.
  static let anyText = Schema(["type": ["string", "number", "boolean"]])
  static let boolean = Schema(["enum": [true, false, "true", "false", "yes", "no", "on", "off"]])

  static func string(pattern: String) -> Schema { Schema(["type": "string", "pattern": .string(pattern)]) }

  static func integer(_ range: ClosedRange<UInt32>) -> Schema {
    Schema(["type": "integer", "minimum": .integer(Int(range.lowerBound)), "maximum": .integer(Int(range.upperBound))])
  }

  static func words(_ words: [String]) -> Schema { Schema(["enum": .array(words.map { .string($0) })]) }

  static func oneOrMore(_ item: Schema) -> Schema { Schema(["anyOf": [item.value, list(of: item).value]]) }

  static func list(of item: Schema) -> Schema { Schema(["type": "array", "items": item.value]) }

  static func either(_ schemas: Schema...) -> Schema { Schema(["anyOf": .array(schemas.map(\.value))]) }

  /// One of the definitions of the whole schema.
  static func definition(_ name: String) -> Schema { Schema(["$ref": .string("#/definitions/\(name)")]) }

  /// A mapping whose keys are names of the user's own.
  static func named(_ item: Schema) -> Schema { Schema(["type": "object", "additionalProperties": item.value]) }
}

/// JSON, to be printed.
indirect enum SchemaValue: Hashable, Sendable {
  case string(String)
  case integer(Int)
  case boolean(Bool)
  case array([SchemaValue])
  case object([Member])

  struct Member: Hashable, Sendable {
    var key: String
    var value: SchemaValue
  }
}

extension SchemaValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral {
  init(stringLiteral value: String) { self = .string(value) }
  init(booleanLiteral value: Bool) { self = .boolean(value) }
  init(arrayLiteral elements: SchemaValue...) { self = .array(elements) }
}

extension SchemaValue {
  /// Indented by two spaces; short arrays stay on one line.
  func text(indent: Int = 0) -> String {
    let outer = String(repeating: " ", count: indent)
    let inner = outer + "  "
    switch self {
    case .string(let text): return jsonString(text)
    case .integer(let number): return String(number)
    case .boolean(let value): return String(value)
    case .array(let items):
      let line = "[\(items.map { $0.text() }.joined(separator: ", "))]"
      if line.utf8.count <= 110, !line.contains("\n") { return line }
      return "[\n\(items.map { inner + $0.text(indent: indent + 2) }.joined(separator: ",\n"))\n\(outer)]"
    case .object(let members):
      if members.isEmpty { return "{}" }
      let lines = members.map { "\(inner)\(jsonString($0.key)): \($0.value.text(indent: indent + 2))" }
      return "{\n\(lines.joined(separator: ",\n"))\n\(outer)}"
    }
  }

  /// What a value of a YAML file is to a reader of JSON.
  init(_ node: Node) {
    switch node.content {
    case .null, .refused: self = ""
    case .scalar(let text, let isPlain):
      if isPlain, let number = decimal(text), !text.hasPrefix("0") || text == "0" {
        self = .integer(number)
      } else if isPlain, text == "true" || text == "false" {
        self = .boolean(text == "true")
      } else {
        self = .string(text)
      }
    case .sequence(let items): self = .array(items.map { SchemaValue($0) })
    case .mapping(let entries): self = .object(entries.map { Member(key: $0.key, value: SchemaValue($0.value)) })
    }
  }
}

private func jsonString(_ text: String) -> String {
  var quoted = "\""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\"": quoted += "\\\""
    case "\\": quoted += "\\\\"
    case "\n": quoted += "\\n"
    default: quoted.unicodeScalars.append(scalar)
    }
  }
  return quoted + "\""
}
