extension JSON {
  /// Decodes a value by its declaration. Members that it does not declare are ignored.
  package func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws(JSONMismatch) -> Value {
    do {
      return try Reading(value: self, codingPath: []).read(type)
    } catch let error as JSONMismatch {
      throw error
    } catch let DecodingError.dataCorrupted(context) {
      throw JSONMismatch(at: context.codingPath, context.debugDescription)
    } catch let DecodingError.typeMismatch(_, context) {
      throw JSONMismatch(at: context.codingPath, context.debugDescription)
    } catch {
      throw JSONMismatch(at: [], "\(error)")
    }
  }
}

extension JSON: Decodable {
  public init(from decoder: any Decoder) throws {
    guard let reading = decoder as? Reading else {
      throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "a JSON value is part of JSON alone"))
    }
    self = reading.value
  }
}

/// A mismatch between a JSON value and its declaration, for people: `tunnels[0].state: expected a text`.
package struct JSONMismatch: Error, Hashable, Sendable, CustomStringConvertible {
  /// The path to the value, such as `tunnels[0].state`; empty for the whole value.
  package let path: String
  package let reason: String

  package init(at path: [any CodingKey], _ reason: String) {
    self.path = path.reduce("") { path, key in
      key.intValue.map { "\(path)[\($0)]" } ?? (path.isEmpty ? key.stringValue : "\(path).\(key.stringValue)")
    }
    self.reason = reason
  }

  package var description: String { path.isEmpty ? reason : "\(path): \(reason)" }
}

private struct Index: CodingKey {
  let index: Int
  var stringValue: String { "\(index)" }
  var intValue: Int? { index }

  init(_ index: Int) { self.index = index }
  init?(stringValue: String) { nil }
  init?(intValue: Int) { index = intValue }
}

private struct Reading: Decoder {
  let value: JSON
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func read<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let found: Any?
    let expected: String
    switch type {
    case is String.Type: (found, expected) = (value.string, "a text")
    case is Bool.Type: (found, expected) = (value.bool, "true or false")
    case let number as any FixedWidthInteger.Type: (found, expected) = (value.integer.flatMap { whole($0, number) }, "a whole number")
    case is Double.Type: (found, expected) = (value.real, "a number")
    default: return try type.init(from: self)
    }
    guard let result = found as? Value else { throw JSONMismatch(at: codingPath, "expected \(expected)") }
    return result
  }

  private func whole<Number: FixedWidthInteger>(_ number: Int64, _ type: Number.Type) -> Any? { Number(exactly: number) }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard let members = value.members else { throw JSONMismatch(at: codingPath, "expected an object") }
    return KeyedDecodingContainer(Members<Key>(members: members, codingPath: codingPath))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard let items = value.array else { throw JSONMismatch(at: codingPath, "expected a list") }
    return Items(items: items, codingPath: codingPath)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { Single(reading: self) }
}

private struct Members<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let members: [JSON.Member]
  let codingPath: [any CodingKey]

  var allKeys: [Key] { members.compactMap { Key(stringValue: $0.key) } }

  func contains(_ key: Key) -> Bool { members.contains { $0.key == key.stringValue } }

  private func member(_ key: any CodingKey) throws -> Reading {
    guard let member = members.first(where: { $0.key == key.stringValue }) else {
      throw JSONMismatch(at: codingPath, "there is no `\(key.stringValue)`")
    }
    return Reading(value: member.value, codingPath: codingPath + [key])
  }

  func decodeNil(forKey key: Key) throws -> Bool { try member(key).value == .null }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value { try member(key).read(type) }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) throws -> KeyedDecodingContainer<Nested> {
    try member(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { try member(key).unkeyedContainer() }

  func superDecoder() throws -> any Decoder { try member(SuperKey()) }
  func superDecoder(forKey key: Key) throws -> any Decoder { try member(key) }
}

private struct Items: UnkeyedDecodingContainer {
  let items: [JSON]
  let codingPath: [any CodingKey]
  private(set) var currentIndex = 0

  init(items: [JSON], codingPath: [any CodingKey]) {
    self.items = items
    self.codingPath = codingPath
  }

  var count: Int? { items.count }
  var isAtEnd: Bool { currentIndex >= items.count }

  private func next() throws -> Reading {
    guard !isAtEnd else { throw JSONMismatch(at: codingPath, "the list ends too early") }
    return Reading(value: items[currentIndex], codingPath: codingPath + [Index(currentIndex)])
  }

  mutating func decodeNil() throws -> Bool {
    guard try next().value == .null else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let value = try next().read(type)
    currentIndex += 1
    return value
  }

  mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested> {
    defer { currentIndex += 1 }
    return try next().container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    defer { currentIndex += 1 }
    return try next().unkeyedContainer()
  }

  mutating func superDecoder() throws -> any Decoder {
    defer { currentIndex += 1 }
    return try next()
  }
}

private struct Single: SingleValueDecodingContainer {
  let reading: Reading
  var codingPath: [any CodingKey] { reading.codingPath }

  func decodeNil() -> Bool { reading.value == .null }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try reading.read(type) }
}
