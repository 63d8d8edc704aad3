package import NetworkTypes

/// A value of a column, in the common subset of SQLite and PostgreSQL.
package enum SQLValue: Hashable, Sendable {
  case null
  case integer(Int64)
  case text(String)
  case bytes([UInt8])
}

/// A table of rows with an `id` and a `version`, which gateways follow.
package struct TableDeclaration: Hashable, Sendable {
  package let name: String
  /// The columns besides `id` and `version`, in the order of `Row.values`.
  package let columns: [String]
}

/// A row of a followed table.
package protocol Row: Hashable, Sendable {
  static var table: TableDeclaration { get }
  var id: Int64 { get set }
  var values: [SQLValue] { get }
  /// Throws if the values are none that this version writes.
  init(id: Int64, values: [SQLValue]) throws(RowError)
}

/// A row that this version cannot read: it was changed by hand, or by a later version.
package struct RowError: Error, Hashable, Sendable, CustomStringConvertible {
  package let table: String
  package let id: Int64

  package var description: String { "table \(table), row \(id): unexpected values" }
}

/// The values of a row, read in their order; `isValid` is false after the first one of another type.
struct RowReader {
  private var rest: ArraySlice<SQLValue>
  private(set) var isValid = true

  init(_ values: [SQLValue]) { rest = values[...] }

  private mutating func next() -> SQLValue {
    guard let value = rest.popFirst() else {
      isValid = false
      return .null
    }
    return value
  }

  mutating func integer() -> Int64 {
    if case .integer(let number) = next() { return number }
    isValid = false
    return 0
  }

  mutating func optionalInteger() -> Int64? {
    switch next() {
    case .null: return nil
    case .integer(let number): return number
    default:
      isValid = false
      return nil
    }
  }

  /// A time, in seconds since 1970.
  mutating func time() -> Timestamp { Timestamp(seconds: integer()) }
  mutating func optionalTime() -> Timestamp? { optionalInteger().map { Timestamp(seconds: $0) } }

  mutating func text() -> String {
    if case .text(let text) = next() { return text }
    isValid = false
    return ""
  }

  mutating func optionalText() -> String? {
    switch next() {
    case .null: return nil
    case .text(let text): return text
    default:
      isValid = false
      return nil
    }
  }

  mutating func bytes() -> [UInt8] {
    if case .bytes(let bytes) = next() { return bytes }
    isValid = false
    return []
  }

  mutating func optionalBytes() -> [UInt8]? {
    switch next() {
    case .null: return nil
    case .bytes(let bytes): return bytes
    default:
      isValid = false
      return nil
    }
  }

  mutating func flag() -> Bool { integer() != 0 }

  /// A value with a text form.
  mutating func parsed<T: LosslessStringConvertible>(_ type: T.Type = T.self) -> T? {
    let value = T(text())
    if value == nil { isValid = false }
    return value
  }

  /// Values with a text form, separated by commas; the empty text is none.
  mutating func list<T: LosslessStringConvertible>(_ type: T.Type = T.self) -> [T] {
    let parts = text().split(separator: ",")
    let values = parts.compactMap { T(String($0)) }
    if values.count < parts.count { isValid = false }
    return values
  }
}

extension SQLValue {
  init(_ number: Int64?) { self = number.map { .integer($0) } ?? .null }
  /// A time is a column of seconds since 1970.
  package init(_ time: Timestamp) { self = .integer(time.seconds) }
  init(_ time: Timestamp?) { self.init(time?.seconds) }
  init(_ text: String?) { self = text.map { .text($0) } ?? .null }
  init(_ flag: Bool) { self = .integer(flag ? 1 : 0) }
  init(list values: [some CustomStringConvertible]) { self = .text(values.map(\.description).joined(separator: ",")) }
}
