/// A type whose `description` is also its JSON form, which its initializer parses.
package protocol CodedAsText: Codable, CustomStringConvertible, SchemaDescribed {
  /// The expected form, for the error: `an address`.
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
