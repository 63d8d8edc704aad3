/// The version of the documents for users' programs: 1. Members may be added to it; no member is removed or changes its meaning without
/// another number.
package struct DocumentVersion: Hashable, Sendable, Codable, SchemaDescribed {
  package static let current: Int64 = 1
  package static let schema: JSON = ["const": 1]
  package static let sample = DocumentVersion()

  package init() {}

  package init(from decoder: any Decoder) throws {
    let number = try decoder.singleValueContainer().decode(Int64.self)
    guard number == Self.current else { throw JSONMismatch(at: decoder.codingPath, "expected version \(Self.current), not \(number)") }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(Self.current)
  }
}
