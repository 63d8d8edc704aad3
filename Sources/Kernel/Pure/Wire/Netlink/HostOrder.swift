/// Numbers in a byte string, read at offsets from its start. `nil` if the string is too short: nothing here ever traps.
extension ArraySlice<UInt8> {
  package func byte(at offset: Int) -> UInt8? { offset < count ? self[startIndex + offset] : nil }

  /// Host byte order, as in netlink.
  package func host16(at offset: Int = 0) -> UInt16? {
    littleEndian(at: offset, count: 2).map { UInt16(littleEndian: UInt16(truncatingIfNeeded: $0)) }
  }
  package func host32(at offset: Int = 0) -> UInt32? {
    littleEndian(at: offset, count: 4).map { UInt32(littleEndian: UInt32(truncatingIfNeeded: $0)) }
  }
  func host64(at offset: Int = 0) -> UInt64? { littleEndian(at: offset, count: 8).map { UInt64(littleEndian: $0) } }

  /// Little-endian, as in IEEE 802.11.
  func little16(at offset: Int = 0) -> UInt16? { littleEndian(at: offset, count: 2).map { UInt16(truncatingIfNeeded: $0) } }

  /// Network order, as in addresses and ports.
  func network16(at offset: Int = 0) -> UInt16? { bigEndian(at: offset, count: 2).map { UInt16(truncatingIfNeeded: $0) } }
  func network32(at offset: Int = 0) -> UInt32? { bigEndian(at: offset, count: 4).map { UInt32(truncatingIfNeeded: $0) } }
  func network64(at offset: Int = 0) -> UInt64? { bigEndian(at: offset, count: 8) }

  /// Text up to the first NUL or the end; bytes that are not UTF-8 are replaced.
  package var text: String { String(decoding: prefix { $0 != 0 }, as: UTF8.self) }

  private func littleEndian(at offset: Int, count length: Int) -> UInt64? {
    guard offset + length <= count else { return nil }
    var value: UInt64 = 0
    for i in 0..<length { value |= UInt64(self[startIndex + offset + i]) << UInt64(8 * i) }
    return value
  }

  private func bigEndian(at offset: Int, count length: Int) -> UInt64? {
    guard offset + length <= count else { return nil }
    var value: UInt64 = 0
    for i in 0..<length { value = value << 8 | UInt64(self[startIndex + offset + i]) }
    return value
  }
}
