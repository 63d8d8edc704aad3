/// A type whose `description` is its form in JSON too, and whose initializer reads it.
package protocol CodedAsText: Codable, CustomStringConvertible, SchemaDescribed {
  /// For the error: `an address`.
  static var expected: String { get }

  init?(_ text: String)
}

extension CodedAsText {
  package init(from decoder: any Decoder) throws {
    let text = try decoder.singleValueContainer().decode(String.self)
    guard let value = Self(text) else { throw JSONMismatch(at: decoder.codingPath, "expected \(Self.expected)") }
    self = value
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
