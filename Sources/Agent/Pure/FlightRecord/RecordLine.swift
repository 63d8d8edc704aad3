package import JSON

/// One line of the record: eight hexadecimal digits of a CRC-32, a space, a JSON value, a line feed.
///
/// A line that was cut off or changed has another checksum and is left out; the next line feed begins the next line.
package enum RecordLine {
  /// The longest line that is written.
  package static let limit = 1 << 20

  package static func encode(_ value: JSON) -> [UInt8] {
    let content = Array(value.text().utf8)
    var line: [UInt8] = []
    line.reserveCapacity(content.count + 10)
    let sum = crc32(content[...])
    for shift in stride(from: 28, through: 0, by: -4) { line.append(digit(sum >> UInt32(shift) & 0xf)) }
    line.append(UInt8(ascii: " "))
    line += content
    line.append(UInt8(ascii: "\n"))
    return line
  }

  /// Reads a line without its line feed; `nil`: it is damaged.
  package static func decode(_ line: ArraySlice<UInt8>) -> JSON? {
    guard line.count > 9, line.count <= limit, line[line.startIndex + 8] == UInt8(ascii: " ") else { return nil }
    var sum: UInt32 = 0
    for byte in line.prefix(8) {
      guard let value = value(ofDigit: byte) else { return nil }
      sum = sum << 4 | value
    }
    let content = line.dropFirst(9)
    guard crc32(content) == sum else { return nil }
    do { return try JSON(parsing: content) } catch { return nil }
  }

  private static func digit(_ value: UInt32) -> UInt8 {
    let value = UInt8(truncatingIfNeeded: value)
    return value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }

  private static func value(ofDigit byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a") + 10)
    default: nil
    }
  }
}

/// CRC-32 of ISO 3309, as in zip and PNG.
func crc32(_ bytes: ArraySlice<UInt8>) -> UInt32 {
  var sum: UInt32 = 0xffff_ffff
  for byte in bytes { sum = table[Int(UInt8(truncatingIfNeeded: sum) ^ byte)] ^ sum >> 8 }
  return ~sum
}

private let table: [UInt32] = (0..<256).map { (index: UInt32) in
  (0..<8).reduce(index) { sum, _ in sum & 1 == 1 ? 0xedb8_8320 ^ sum >> 1 : sum >> 1 }
}
