internal import JSON
internal import NetworkTypes

/// Reads the members of an object, each exactly once: a member that is missing, and one that is not taken, is an error. Values outside of
/// their bounds are errors too; nothing is truncated or corrected.
struct MemberReader {
  private let path: String
  private var members: [String: JSON] = [:]

  init(_ json: JSON, at path: String = "") throws(MessageError) {
    guard let found = json.members else {
      throw path.isEmpty ? .notAnObject : .invalid(member: path, expected: "an object")
    }
    self.path = path
    for member in found { members[member.key] = member.value }
  }

  /// The reading of a member that `read` makes from its value and its path.
  mutating func take<Value>(
    _ key: String, _ read: (JSON, String) throws(MessageError) -> Value
  ) throws(MessageError) -> Value {
    let place = place(of: key)
    guard let value = members.removeValue(forKey: key) else { throw .missingMember(place) }
    return try read(value, place)
  }

  /// The same; `null` is `nil`.
  mutating func optional<Value>(
    _ key: String, _ read: (JSON, String) throws(MessageError) -> Value
  ) throws(MessageError) -> Value? {
    try take(key) { (value, place) throws(MessageError) -> Value? in value == .null ? nil : try read(value, place) }
  }

  mutating func identifier() throws(MessageError) -> UInt32 { UInt32(try take("id", whole(1...Int(ProtocolLimits.identifier)))) }

  /// Call it last.
  func finish() throws(MessageError) {
    // The first by its name, so that the same message has the same error.
    if let key = members.keys.min() { throw .unknownMember(place(of: key)) }
  }

  private func place(of key: String) -> String { path.isEmpty ? shortened(key) : "\(path).\(shortened(key))" }
}

/// A stranger's text in an error: short, and safe to print.
func shortened(_ text: String) -> String {
  let safe = escaped(text)
  return safe.count > 60 ? safe.prefix(57) + "…" : safe
}

/// A reader of one value; the text is its path.
typealias Reader<Value> = (JSON, String) throws(MessageError) -> Value

func whole(_ range: ClosedRange<Int>) -> Reader<Int> {
  { (json, path) throws(MessageError) -> Int in
    // `1.0` is no integer here: other languages print integers without a fraction.
    guard case .integer(let number) = json, let value = Int(exactly: number), range.contains(value) else {
      throw .invalid(member: path, expected: "an integer from \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }
}

func flag(_ json: JSON, _ path: String) throws(MessageError) -> Bool {
  guard let value = json.bool else { throw .invalid(member: path, expected: "true or false") }
  return value
}

func text(atMost limit: Int = ProtocolLimits.text) -> Reader<String> {
  { (json, path) throws(MessageError) -> String in
    guard let value = json.string, value.utf8.count <= limit else {
      throw .invalid(member: path, expected: "a text of at most \(limit) bytes")
    }
    return value
  }
}

func object(_ json: JSON, _ path: String) throws(MessageError) -> JSON {
  guard json.members != nil else { throw .invalid(member: path, expected: "an object") }
  return json
}

/// A value that has a text form.
func parsed<Value: LosslessStringConvertible>(_ type: Value.Type, _ expected: String) -> Reader<Value> {
  { (json, path) throws(MessageError) -> Value in
    guard let text = json.string, text.utf8.count <= 300, let value = Value(text) else { throw .invalid(member: path, expected: expected) }
    return value
  }
}

func choice<Value: CaseIterable & RawRepresentable>(_ type: Value.Type) -> Reader<Value> where Value.RawValue == String {
  { (json, path) throws(MessageError) -> Value in
    guard let text = json.string, let value = Value(rawValue: text) else {
      throw .invalid(member: path, expected: "one of \(Value.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return value
  }
}

func list<Value>(atMost limit: Int, _ read: @escaping Reader<Value>) -> Reader<[Value]> {
  { (json, path) throws(MessageError) -> [Value] in
    guard let items = json.array, items.count <= limit else {
      throw .invalid(member: path, expected: "a list of at most \(limit) values")
    }
    var values: [Value] = []
    values.reserveCapacity(items.count)
    for (index, item) in items.enumerated() { values.append(try read(item, "\(path)[\(index)]")) }
    return values
  }
}

var word: Reader<Word> { parsed(Word.self, "a small letter, then small letters, digits, `-` and `.`, 64 bytes at most") }
var address: Reader<IPAddress> { parsed(IPAddress.self, "an IP address") }
var prefix: Reader<IPPrefix> { parsed(IPPrefix.self, "ADDRESS/LENGTH") }
var interfaceAddress: Reader<InterfaceAddress> { parsed(InterfaceAddress.self, "ADDRESS/LENGTH") }
var domain: Reader<DomainName> { parsed(DomainName.self, "a domain name") }
var endpoint: Reader<Endpoint> { parsed(Endpoint.self, "HOST:PORT") }
