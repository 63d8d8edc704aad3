/// CRC-32 of IEEE 802.3, for files that a power failure or a disk may have damaged. It detects every single flipped bit, and every burst of
/// up to 32.
package enum Checksum {
  /// The checksum as eight hexadecimal digits.
  package static func text(of bytes: some Sequence<UInt8>) -> String {
    let digits = String(crc32(bytes), radix: 16)
    return String(repeating: "0", count: 8 - digits.count) + digits
  }

  private static func crc32(_ bytes: some Sequence<UInt8>) -> UInt32 {
    bytes.withContiguousStorageIfAvailable(crc32) ?? Array(bytes).withUnsafeBufferPointer(crc32)
  }

  private static func crc32(_ bytes: UnsafeBufferPointer<UInt8>) -> UInt32 {
    var sum = UInt32.max
    remainders.withUnsafeBufferPointer { remainders in
      for byte in bytes { sum = sum >> 8 ^ remainders[Int(UInt8(truncatingIfNeeded: sum) ^ byte)] }
    }
    return ~sum
  }

  /// By a byte: a list of prefixes has a megabyte of them.
  private static let remainders: [UInt32] = (0..<256).map { byte in
    (0..<8).reduce(byte) { sum, _ in sum >> 1 ^ (sum & 1 == 1 ? 0xedb8_8320 : 0) }
  }
}
