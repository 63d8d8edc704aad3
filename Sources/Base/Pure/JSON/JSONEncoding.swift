internal import NetworkTypes

extension JSON {
  /// Encodes a value by its declaration: one member for each coding key, in their order, and `null` for `nil`. The members of a dictionary
  /// are in the order of their keys.
  ///
  /// Encoding fails only for whole numbers beyond the range of signed 64-bit integers. No declaration of ours contains one; such a value
  /// becomes `null`.
  package init(encoding value: some Encodable) {
    do {
      self = try Node.of(value).json
    } catch {
      assertionFailure("\(error)")
      self = .null
    }
  }
}

extension JSON: Encodable {
  public func encode(to encoder: any Encoder) throws {
    guard let writing = encoder as? Writing else {
      throw EncodingError.invalidValue(self, .init(codingPath: encoder.codingPath, debugDescription: "a JSON value is part of JSON alone"))
    }
    writing.node.content = .value(self)
  }
}

/// A value during encoding: several containers may write into the same object.
private final class Node {
  enum Content {
    case value(JSON)
    case object([(key: String, node: Node)])
    case array([Node])
  }

  var content = Content.value(.null)

  var json: JSON {
    switch content {
    case .value(let value): value
    case .object(let members): .object(members.map { JSON.Member(key: $0.key, value: $0.node.json) })
    case .array(let items): .array(items.map(\.json))
    }
  }

  static func of(_ value: some Encodable) throws -> Node {
    let node = Node()
    switch value {
    case let text as String: node.content = .value(.string(text))
    case let flag as Bool: node.content = .value(.bool(flag))
    case let number as any BinaryInteger:
      guard let whole = Int64(exactly: number) else {
        throw EncodingError.invalidValue(value, .init(codingPath: [], debugDescription: "a whole number beyond 64 bits"))
      }
      node.content = .value(.integer(whole))
    case let number as any BinaryFloatingPoint: node.content = .value(.real(Double(number)))
    default:
      try value.encode(to: Writing(node: node))
      if value is any KeyedByNames, case .object(let members) = node.content {
        node.content = .object(members.sorted { $0.key < $1.key })
      }
    }
    return node
  }

  func makeObject() { if case .object = content {} else { content = .object([]) } }

  func makeArray() { if case .array = content {} else { content = .array([]) } }

  func put(_ node: Node, for key: any CodingKey) {
    guard case .object(var members) = content else { return }
    content = .value(.null)
    members.removeAll { $0.key == key.stringValue }
    members.append((key.stringValue, node))
    content = .object(members)
  }

  func append(_ node: Node) {
    guard case .array(var items) = content else { return }
    content = .value(.null)
    items.append(node)
    content = .array(items)
  }

  var count: Int { if case .array(let items) = content { items.count } else { 0 } }
}

/// A dictionary whose keys are names from the user: it has an order in JSON, and its schema describes the items.
package protocol KeyedByNames {
  static var item: any Decodable.Type { get }
}

extension Dictionary: KeyedByNames where Key == String, Value: Codable {
  package static var item: any Decodable.Type { Value.self }
}

private struct Writing: Encoder {
  let node: Node
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    node.makeObject()
    return KeyedEncodingContainer(Members<Key>(node: node))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    node.makeArray()
    return Items(node: node)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { Single(node: node) }
}

private struct Members<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let node: Node
  var codingPath: [any CodingKey] { [] }

  private func child(_ key: any CodingKey) -> Node {
    let child = Node()
    node.put(child, for: key)
    return child
  }

  func encodeNil(forKey key: Key) { _ = child(key) }

  func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { node.put(try .of(value), for: key) }

  // Without these an absent value would have no member.
  func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: String?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try put(value, key) }
  func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) throws { try put(value, key) }

  private func put(_ value: (some Encodable)?, _ key: Key) throws {
    if let value { try encode(value, forKey: key) } else { encodeNil(forKey: key) }
  }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<Nested> {
    Writing(node: child(key)).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { Writing(node: child(key)).unkeyedContainer() }

  func superEncoder() -> any Encoder { Writing(node: child(SuperKey())) }
  func superEncoder(forKey key: Key) -> any Encoder { Writing(node: child(key)) }
}

private struct Items: UnkeyedEncodingContainer {
  let node: Node
  var codingPath: [any CodingKey] { [] }
  var count: Int { node.count }

  private func child() -> Node {
    let child = Node()
    node.append(child)
    return child
  }

  func encodeNil() { _ = child() }

  func encode<Value: Encodable>(_ value: Value) throws { node.append(try .of(value)) }

  func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
    Writing(node: child()).container(keyedBy: type)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { Writing(node: child()).unkeyedContainer() }

  func superEncoder() -> any Encoder { Writing(node: child()) }
}

private struct Single: SingleValueEncodingContainer {
  let node: Node
  var codingPath: [any CodingKey] { [] }

  func encodeNil() { node.content = .value(.null) }

  func encode<Value: Encodable>(_ value: Value) throws { node.content = try Node.of(value).content }
}

/// The key of the member for `superEncoder` and `superDecoder`.
struct SuperKey: CodingKey {
  var stringValue: String { "super" }
  var intValue: Int? { nil }

  init() {}
  init?(stringValue: String) { nil }
  init?(intValue: Int) { nil }
}
