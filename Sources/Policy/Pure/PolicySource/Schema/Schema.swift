package import JSON

/// A part of a JSON Schema (draft 7), for editors that complete and check policies.
package struct Schema: Equatable, Sendable {
  package var value: JSON

  package init(_ value: JSON) { self.value = value }

  init(members: [JSON.Member]) { value = .object(members) }

  /// User text: `no` and `0123` are names too.
  package static let anyText = Schema(["type": ["string", "number", "boolean"]])
  static let boolean = either(
    Schema(["type": "boolean"]),
    .string(pattern: "^([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee]|[Yy][Ee][Ss]|[Nn][Oo]|[Oo][Nn]|[Oo][Ff][Ff])$"))
  package static let null = Schema(["type": "null"])

  /// Text that a YAML reader cannot take for a number.
  package static func string(pattern: String) -> Schema { Schema(["type": "string", "pattern": .string(pattern)]) }

  /// User text of this form; a number and a word such as `true` have it.
  package static func text(pattern: String) -> Schema { Schema(["type": ["string", "number", "boolean"], "pattern": .string(pattern)]) }

  /// A number, also in quotes.
  static func integer(_ range: ClosedRange<UInt32>) -> Schema {
    let pattern = SchemaPattern.number(Int(range.lowerBound)...Int(range.upperBound))
    return either(
      Schema(["type": "integer", "minimum": .integer(Int64(range.lowerBound)), "maximum": .integer(Int64(range.upperBound))]),
      .string(pattern: "^0*(\(pattern))$"))
  }

  package static func words(_ words: [String]) -> Schema { Schema(["enum": .array(words.map { .string($0) })]) }

  static func oneOrMore(_ item: Schema) -> Schema { Schema(["anyOf": [item.value, list(of: item).value]]) }

  package static func list(of item: Schema) -> Schema { Schema(["type": "array", "items": item.value]) }

  package static func either(_ schemas: Schema...) -> Schema { Schema(["anyOf": .array(schemas.map(\.value))]) }

  /// A mapping without keys.
  static let nothing = Schema(["type": "object", "maxProperties": 0])

  /// A reference to a definition of the whole schema.
  package static func definition(_ name: String) -> Schema { Schema(["$ref": .string("#/definitions/\(name)")]) }

  /// A mapping whose keys are names of the user, of this form.
  package static func named(_ pattern: String, _ item: Schema) -> Schema {
    Schema([
      "type": "object", "patternProperties": .object([.init(key: pattern, value: item.value)]), "additionalProperties": false,
    ])
  }

  /// A mapping whose keys are names of the machine.
  static func named(_ item: Schema) -> Schema { Schema(["type": "object", "additionalProperties": item.value]) }

  /// The same, or nothing.
  var orNull: Schema { Schema(["anyOf": [value, Schema.null.value]]) }
}

extension JSON {
  /// A schema of mappings that have values for all of these keys.
  static func given(_ keys: String...) -> JSON {
    [
      "required": .array(keys.map { .string($0) }),
      "properties": .object(keys.map { Member(key: $0, value: ["not": Schema.null.value]) }),
    ]
  }

  /// Keywords by which these keys stand only beside this action.
  static func only(_ keys: String..., with action: String, isRequired: Bool) -> [Member] {
    let nothing = JSON.object(keys.map { Member(key: $0, value: Schema.null.value) })
    let condition = Member(key: "if", value: ["required": ["action"], "properties": ["action": ["const": .string(action)]]])
    let needed = keys.map { Member(key: $0, value: ["not": Schema.null.value]) }
    let then = Member(key: "then", value: ["required": .array(keys.map { .string($0) }), "properties": .object(needed)])
    return [condition] + (isRequired ? [then] : []) + [Member(key: "else", value: ["properties": nothing])]
  }

  /// Keywords by which each rule of a tunnel with this action has `connections`, unless the tunnel is for some programs alone.
  static func connections(with action: String) -> [Member] {
    let rule: JSON = [
      "if": ["required": ["action"], "properties": ["action": ["const": .string(action)]]],
      "then": .given("connections"),
    ]
    let nothing: JSON = ["anyOf": [Schema.null.value, ["type": "array", "maxItems": 0]]]
    let apps: JSON = [
      "required": ["apps"],
      "properties": ["apps": ["type": "object", "required": ["include"], "properties": ["include": ["not": nothing]]]],
    ]
    func rules(_ rule: JSON) -> JSON { ["properties": ["on-demand": ["properties": ["rules": ["items": rule]]]]] }
    return [
      Member(key: "if", value: apps),
      Member(key: "then", value: rules(["properties": ["connections": Schema.null.value]])),
      Member(key: "else", value: rules(rule)),
    ]
  }

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
