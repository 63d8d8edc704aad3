internal import JSON

/// A part of a JSON Schema (draft 7), for editors that complete and check policies.
struct Schema: Equatable, Sendable {
  var value: JSON

  init(_ value: JSON) { self.value = value }

  init(members: [JSON.Member]) { value = .object(members) }

  /// Text that a YAML reader cannot take for a number.
  static let string = Schema(["type": "string"])
  /// User text: `no` and `0123` are names too.
  static let anyText = Schema(["type": ["string", "number", "boolean"]])
  static let boolean = Schema(["enum": [true, false, "true", "false", "yes", "no", "on", "off"]])

  static func string(pattern: String) -> Schema { Schema(["type": "string", "pattern": .string(pattern)]) }

  static func integer(_ range: ClosedRange<UInt32>) -> Schema {
    Schema(["type": "integer", "minimum": .integer(Int64(range.lowerBound)), "maximum": .integer(Int64(range.upperBound))])
  }

  static func words(_ words: [String]) -> Schema { Schema(["enum": .array(words.map { .string($0) })]) }

  static func oneOrMore(_ item: Schema) -> Schema { Schema(["anyOf": [item.value, list(of: item).value]]) }

  static func list(of item: Schema) -> Schema { Schema(["type": "array", "items": item.value]) }

  static func either(_ schemas: Schema...) -> Schema { Schema(["anyOf": .array(schemas.map(\.value))]) }

  /// A reference to a definition of the whole schema.
  static func definition(_ name: String) -> Schema { Schema(["$ref": .string("#/definitions/\(name)")]) }

  /// A mapping whose keys are names of the user.
  static func named(_ item: Schema) -> Schema { Schema(["type": "object", "additionalProperties": item.value]) }
}

extension JSON {
  /// The JSON value of a YAML node.
  init(_ node: Node) {
    switch node.content {
    case .null, .refused: self = ""
    case .scalar(let text, let isPlain):
      if isPlain, let number = decimal(text), !text.hasPrefix("0") || text == "0" {
        self = .integer(Int64(number))
      } else if isPlain, text == "true" || text == "false" {
        self = .bool(text == "true")
      } else {
        self = .string(text)
      }
    case .sequence(let items): self = .array(items.map { JSON($0) })
    case .mapping(let entries): self = .object(entries.map { Member(key: $0.key, value: JSON($0.value)) })
    }
  }
}
