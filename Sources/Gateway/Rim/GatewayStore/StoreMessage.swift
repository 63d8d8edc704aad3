package import GatewayCore

/// A request of a gateway to the process that has the connection to its store (`roamward-gateway-store`).
package enum StoreRequest: Equatable, Sendable {
  /// Connects, as libpq's connection string says. The first request, and the only one of its kind.
  case connect(String)
  case run(String, [SQLValue])
  case beginWriting, beginReading, commit, rollBack
  /// Tells every other gateway, when the transaction is committed.
  case announce
}

/// An answer of that process. Rows come in parts, before the answer that ends the request.
package enum StoreReply: Equatable, Sendable {
  case rows([[SQLValue]])
  case done
  case failed(StoreError)
  /// Some transaction was committed. Comes at any time.
  case changed
}

/// Bytes that are no message.
package struct StoreMessageError: Error, Hashable, Sendable {}

extension StoreRequest {
  package var bytes: [UInt8] {
    var bytes = StoreBytes()
    switch self {
    case .connect(let target):
      bytes.add(0)
      bytes.add(.text(target))
    case .run(let statement, let values):
      bytes.add(1)
      bytes.add(.text(statement))
      bytes.add(values)
    case .beginWriting: bytes.add(2)
    case .beginReading: bytes.add(3)
    case .commit: bytes.add(4)
    case .rollBack: bytes.add(5)
    case .announce: bytes.add(6)
    }
    return bytes.all
  }

  package init(_ bytes: [UInt8]) throws(StoreMessageError) {
    var reader = StoreByteReader(bytes)
    switch try reader.byte() {
    case 0: self = .connect(try reader.text())
    case 1: self = .run(try reader.text(), try reader.values())
    case 2: self = .beginWriting
    case 3: self = .beginReading
    case 4: self = .commit
    case 5: self = .rollBack
    case 6: self = .announce
    default: throw StoreMessageError()
    }
    try reader.end()
  }
}

extension StoreReply {
  package var bytes: [UInt8] {
    var bytes = StoreBytes()
    switch self {
    case .rows(let rows):
      bytes.add(0)
      for row in rows { bytes.add(row) }
    case .done: bytes.add(1)
    case .failed(let error):
      bytes.add(2)
      bytes.add(.text(error.text))
      bytes.add(.text(error.help ?? ""))
    case .changed: bytes.add(3)
    }
    return bytes.all
  }

  package init(_ bytes: [UInt8]) throws(StoreMessageError) {
    var reader = StoreByteReader(bytes)
    switch try reader.byte() {
    case 0:
      var rows: [[SQLValue]] = []
      while !reader.isAtEnd { rows.append(try reader.values()) }
      self = .rows(rows)
    case 1: self = .done
    case 2:
      let text = try reader.text()
      let help = try reader.text()
      self = .failed(StoreError(text, help: help.isEmpty ? nil : help))
    case 3: self = .changed
    default: throw StoreMessageError()
    }
    try reader.end()
  }

  /// The length of a row in `rows`, in bytes.
  package static func length(of row: [SQLValue]) -> Int {
    var bytes = StoreBytes()
    bytes.add(row)
    return bytes.all.count
  }
}

/// Values one after the other: a byte for the type, then eight bytes of a number, or four of a length and the bytes, least significant
/// first. Both ends are of one machine.
private struct StoreBytes {
  private(set) var all: [UInt8] = []

  mutating func add(_ byte: UInt8) { all.append(byte) }

  mutating func add(_ values: [SQLValue]) {
    add(number: UInt64(values.count), bytes: 4)
    for value in values { add(value) }
  }

  mutating func add(_ value: SQLValue) {
    switch value {
    case .null: add(0)
    case .integer(let number):
      add(1)
      add(number: UInt64(bitPattern: number), bytes: 8)
    case .text(let text):
      add(2)
      add(number: UInt64(text.utf8.count), bytes: 4)
      all += text.utf8
    case .bytes(let bytes):
      add(3)
      add(number: UInt64(bytes.count), bytes: 4)
      all += bytes
    }
  }

  private mutating func add(number: UInt64, bytes: Int) {
    for i in 0..<bytes { add(UInt8(truncatingIfNeeded: number >> (8 * UInt64(i)))) }
  }
}

private struct StoreByteReader {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  var isAtEnd: Bool { rest.isEmpty }

  func end() throws(StoreMessageError) { if !isAtEnd { throw StoreMessageError() } }

  mutating func byte() throws(StoreMessageError) -> UInt8 {
    guard let byte = rest.popFirst() else { throw StoreMessageError() }
    return byte
  }

  private mutating func number(bytes: Int) throws(StoreMessageError) -> UInt64 {
    var number: UInt64 = 0
    for i in 0..<bytes { number |= UInt64(try byte()) << (8 * UInt64(i)) }
    return number
  }

  private mutating func counted() throws(StoreMessageError) -> ArraySlice<UInt8> {
    let count = Int(try number(bytes: 4))
    guard rest.count >= count else { throw StoreMessageError() }
    defer { rest = rest.dropFirst(count) }
    return rest.prefix(count)
  }

  mutating func text() throws(StoreMessageError) -> String {
    guard case .text(let text) = try value() else { throw StoreMessageError() }
    return text
  }

  mutating func values() throws(StoreMessageError) -> [SQLValue] {
    let count = try number(bytes: 4)
    // Each value has a byte at least.
    guard count <= UInt64(rest.count) else { throw StoreMessageError() }
    var values: [SQLValue] = []
    for _ in 0..<count { values.append(try value()) }
    return values
  }

  private mutating func value() throws(StoreMessageError) -> SQLValue {
    switch try byte() {
    case 0: return .null
    case 1: return .integer(Int64(bitPattern: try number(bytes: 8)))
    case 2:
      let bytes = try counted()
      guard let text = String(validating: bytes, as: UTF8.self) else { throw StoreMessageError() }
      return .text(text)
    case 3: return .bytes(Array(try counted()))
    default: throw StoreMessageError()
    }
  }
}
