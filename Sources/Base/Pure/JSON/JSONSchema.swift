/// A coding key with a description of its member: the name, for encoding and decoding, and the sentence, for the published schema.
package protocol DescribedKey: CodingKey {
  /// The description, a sentence.
  var about: String { get }
  /// The only texts that the member may have; `nil`: any.
  var values: [String]? { get }
}

extension DescribedKey {
  package var values: [String]? { nil }
}

/// A type that declares its own JSON Schema.
package protocol SchemaDescribed {
  static var schema: JSON { get }
  /// Any value, used in place of a decoded one while a schema is made.
  static var sample: Self { get }
}

/// An enumeration whose cases are words in JSON.
package protocol JSONEnum: SchemaDescribed, Codable, CaseIterable, RawRepresentable where RawValue == String {}

extension JSONEnum {
  package static var schema: JSON { ["enum": JSON(allCases.map(\.rawValue))] }

  package static var sample: Self {
    guard let first = allCases.first else { preconditionFailure("\(Self.self) has no cases") }
    return first
  }
}

extension JSON: SchemaDescribed {
  package static var schema: JSON { ["type": "object"] }
  package static var sample: JSON { .null }
}

extension JSON {
  /// The JSON Schema (draft 2020-12) of a type, made from its decoding: each member's name, type and description. Other members are
  /// allowed, because later versions may add some.
  package static func schema<Value: Decodable>(of type: Value.Type) throws -> JSON {
    if let described = type as? any SchemaDescribed.Type { return described.schema }
    if let named = type as? any KeyedByNames.Type { return ["type": "object", "additionalProperties": try schema(of: named.item)] }
    switch type {
    case is String.Type: return ["type": "string"]
    case is Bool.Type: return ["type": "boolean"]
    case is any FixedWidthInteger.Type: return ["type": "integer"]
    case is Double.Type: return ["type": "number"]
    default:
      let shape = Shape()
      _ = try Value(from: Probing(shape: shape))
      return shape.schema
    }
  }

  /// The schema of a whole document, as it is published.
  package static func documentSchema(_ title: String, of schema: JSON) -> JSON {
    let head: [Member] = [
      .init(key: "$schema", value: "https://json-schema.org/draft/2020-12/schema"), .init(key: "title", value: .string(title)),
    ]
    return .object(head + (schema.members ?? []))
  }

  /// The same schema, or null.
  fileprivate var orNull: JSON {
    if let type = self["type"]?.string, self["enum"] == nil, let members {
      return .object(members.map { $0.key == "type" ? Member(key: "type", value: [.string(type), "null"]) : $0 })
    }
    if case .array(let values)? = self["enum"], members?.count == 1 { return ["enum": .array(values + [.null])] }
    return ["anyOf": [self, ["type": "null"]]]
  }
}

/// The members that the decoding of a type has requested.
private final class Shape {
  var properties: [JSON.Member] = []
  var item: JSON?
  var isObject = false
  var scalar: JSON?

  var schema: JSON {
    if let scalar { return scalar }
    guard isObject else { return ["type": "array", "items": item ?? [:]] }
    return [
      "type": "object", "properties": .object(properties), "required": JSON(properties.map(\.key)),
    ]
  }

  func add(_ schema: JSON, for key: any CodingKey) {
    var schema = schema
    if let key = key as? any DescribedKey {
      if let values = key.values {
        let isOptional = schema["type"]?.array != nil
        schema = JSON.object([.init(key: "enum", value: JSON(values))])
        if isOptional { schema = schema.orNull }
      }
      schema = .object([.init(key: "description", value: .string(key.about))] + (schema.members ?? []))
    }
    properties.removeAll { $0.key == key.stringValue }
    properties.append(.init(key: key.stringValue, value: schema))
  }
}

/// A decoder without input that records the requested members.
private struct Probing: Decoder {
  let shape: Shape
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    shape.isObject = true
    return KeyedDecodingContainer(ProbedMembers<Key>(shape: shape))
  }

  func unkeyedContainer() -> any UnkeyedDecodingContainer { ProbedItems(shape: shape) }

  func singleValueContainer() -> any SingleValueDecodingContainer { ProbedScalar(shape: shape) }

  /// Any value of the type.
  static func sample<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let sample: Any =
      switch type {
      case let described as any SchemaDescribed.Type: described.sample
      case is String.Type: ""
      case is Bool.Type: false
      case let number as any FixedWidthInteger.Type: number.init(1)
      case is Double.Type: 0.0
      default: try type.init(from: Probing(shape: Shape()))
      }
    guard let value = sample as? Value else { preconditionFailure("\(type)") }
    return value
  }
}

private struct ProbedMembers<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let shape: Shape
  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { [] }

  func contains(_ key: Key) -> Bool { true }
  func decodeNil(forKey key: Key) -> Bool { false }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    shape.add(try JSON.schema(of: type), for: key)
    return try Probing.sample(type)
  }

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try optional(type, key) }
  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try optional(type, key) }
  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try optional(type, key) }
  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try optional(type, key) }
  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try optional(type, key) }
  func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try optional(type, key) }
  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? { try optional(type, key) }

  private func optional<Value: Decodable>(_ type: Value.Type, _ key: Key) throws -> Value? {
    shape.add(try JSON.schema(of: type).orNull, for: key)
    return try Probing.sample(type)
  }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) throws -> KeyedDecodingContainer<Nested> {
    throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "a type of its own says more than a nested container")
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "a type of its own says more than a nested container")
  }

  func superDecoder() throws -> any Decoder { Probing(shape: Shape()) }
  func superDecoder(forKey key: Key) throws -> any Decoder { Probing(shape: Shape()) }
}

private struct ProbedItems: UnkeyedDecodingContainer {
  let shape: Shape
  var codingPath: [any CodingKey] { [] }
  var count: Int? { 1 }
  private(set) var currentIndex = 0

  init(shape: Shape) { self.shape = shape }

  var isAtEnd: Bool { currentIndex > 0 }

  mutating func decodeNil() -> Bool { false }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    currentIndex += 1
    shape.item = try JSON.schema(of: type)
    return try Probing.sample(type)
  }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedDecodingContainer<Nested> {
    Probing(shape: Shape()).container(keyedBy: type)
  }

  func nestedUnkeyedContainer() -> any UnkeyedDecodingContainer { ProbedItems(shape: Shape()) }
  func superDecoder() -> any Decoder { Probing(shape: Shape()) }
}

private struct ProbedScalar: SingleValueDecodingContainer {
  let shape: Shape
  var codingPath: [any CodingKey] { [] }

  func decodeNil() -> Bool { false }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    shape.scalar = try JSON.schema(of: type)
    return try Probing.sample(type)
  }
}
