/// The checksum of RFC 1071: ones' complement sums of 16-bit words. Partial sums are wide and in the machine's byte order, which the
/// arithmetic allows (section 2.B). They are folded once at the end.
enum InternetChecksum {
  /// Adds any number of bytes at any alignment. Sums of pieces add up to the sum of the whole if every piece except the last has an even
  /// length.
  @inline(__always)
  static func sum(_ bytes: UnsafeRawPointer, _ count: Int, onto start: UInt64 = 0) -> UInt64 {
    // 32-bit words never overflow 64-bit sums for a packet. Four sums let the compiler use vectors.
    var sums = SIMD4<UInt64>(start, 0, 0, 0)
    var offset = 0
    while offset &+ 32 <= count {
      let low = bytes.loadUnaligned(fromByteOffset: offset, as: SIMD4<UInt32>.self)
      let high = bytes.loadUnaligned(fromByteOffset: offset &+ 16, as: SIMD4<UInt32>.self)
      sums &+= SIMD4<UInt64>(truncatingIfNeeded: low)
      sums &+= SIMD4<UInt64>(truncatingIfNeeded: high)
      offset &+= 32
    }
    var sum = sums.wrappedSum()
    while offset &+ 4 <= count {
      sum &+= UInt64(bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
      offset &+= 4
    }
    if offset &+ 2 <= count {
      sum &+= UInt64(bytes.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
      offset &+= 2
    }
    if offset < count { sum &+= UInt64(UInt16(bytes.load(fromByteOffset: offset, as: UInt8.self)).littleEndian) }
    return sum
  }

  /// The sum folded to 16 bits, in the machine's byte order, as in memory.
  @inline(__always)
  static func fold(_ sum: UInt64) -> UInt16 {
    var sum = (sum & 0xffff_ffff) &+ (sum >> 32)
    sum = (sum & 0xffff_ffff) &+ (sum >> 32)
    sum = (sum & 0xffff) &+ (sum >> 16)
    sum = (sum & 0xffff) &+ (sum >> 16)
    sum = (sum & 0xffff) &+ (sum >> 16)
    return UInt16(truncatingIfNeeded: sum)
  }

  /// The sum of a TCP or UDP pseudo-header (RFC 9293 section 3.1, RFC 8200 section 8.1): both addresses, which are adjacent in memory,
  /// protocol and length.
  @inline(__always)
  static func pseudoHeader(addresses: UnsafeRawPointer, _ count: Int, protocol number: UInt8, length: Int) -> UInt64 {
    sum(addresses, count, onto: UInt64(UInt16(number).bigEndian) &+ UInt64(UInt32(truncatingIfNeeded: length).bigEndian))
  }
}
