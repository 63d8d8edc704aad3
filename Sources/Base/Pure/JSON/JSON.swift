/// A JSON value (RFC 8259) whose objects keep the order of their members, so that the output is the same every time.
public enum JSON: Hashable, Sendable {
  case null
  case bool(Bool)
  /// A number without fraction and exponent.
  case integer(Int64)
  /// Any other number. Infinities and NaN have no JSON form, and are printed as `null`.
  case real(Double)
  case string(String)
  case array([JSON])
  case object([Member])

  public struct Member: Hashable, Sendable {
    public var key: String
    public var value: JSON

    public init(key: String, value: JSON) {
      self.key = key
      self.value = value
    }
  }

  public subscript(key: String) -> JSON? { members?.first { $0.key == key }?.value }

  public var string: String? { if case .string(let text) = self { text } else { nil } }
  public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
  public var array: [JSON]? { if case .array(let items) = self { items } else { nil } }
  public var members: [Member]? { if case .object(let members) = self { members } else { nil } }

  /// The number if it is whole: `1e3` is 1000, `1.5` is `nil`. Nothing is rounded.
  public var integer: Int64? {
    switch self {
    case .integer(let number): number
    case .real(let number): Int64(exactly: number)
    default: nil
    }
  }

  public var real: Double? {
    switch self {
    case .integer(let number): Double(number)
    case .real(let number): number
    default: nil
    }
  }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral,
  ExpressibleByFloatLiteral, ExpressibleByDictionaryLiteral
{
  public init(stringLiteral value: String) { self = .string(value) }
  public init(integerLiteral value: Int64) { self = .integer(value) }
  public init(floatLiteral value: Double) { self = .real(value) }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(arrayLiteral elements: JSON...) { self = .array(elements) }
  public init(dictionaryLiteral elements: (String, JSON)...) { self = .object(elements.map { Member(key: $0.0, value: $0.1) }) }

  /// The text, or `null`.
  public init(_ text: String?) { self = text.map { .string($0) } ?? .null }
  public init(_ number: Int?) { self = number.map { .integer(Int64($0)) } ?? .null }
  public init(_ texts: [String]) { self = .array(texts.map { .string($0) }) }
}
