extension Span where Element == UInt8 {
  /// The two bytes at an offset, in network order. The caller has checked that they are there.
  func word16(_ offset: Int) -> UInt16 { UInt16(self[offset]) << 8 | UInt16(self[offset + 1]) }

  /// The four bytes at an offset, in network order. The caller has checked that they are there.
  func word32(_ offset: Int) -> UInt32 { UInt32(word16(offset)) << 16 | UInt32(word16(offset + 2)) }

  /// Whether two messages have the same bytes from these offsets on, without regard to the case of ASCII letters (RFC 4343).
  func isEqualIgnoringCase(_ own: Range<Int>, _ other: Span<UInt8>, from start: Int) -> Bool {
    guard own.upperBound <= count, start + own.count <= other.count else { return false }
    for i in 0..<own.count {
      let (a, b) = (self[own.lowerBound + i], other[start + i])
      if a != b, lowerCase(a) != lowerCase(b) { return false }
    }
    return true
  }
}

extension [UInt8] {
  mutating func append(word16 value: UInt16) {
    append(UInt8(truncatingIfNeeded: value >> 8))
    append(UInt8(truncatingIfNeeded: value))
  }

  mutating func append(word32 value: UInt32) {
    append(word16: UInt16(truncatingIfNeeded: value >> 16))
    append(word16: UInt16(truncatingIfNeeded: value))
  }

  /// Appends a part of another buffer.
  mutating func append(_ bytes: Span<UInt8>, _ range: Range<Int>) {
    append(addingCapacity: range.count) { room in
      for i in range { room.append(bytes[i]) }
    }
  }

  mutating func set(word16 value: UInt16, at offset: Int) {
    self[offset] = UInt8(truncatingIfNeeded: value >> 8)
    self[offset + 1] = UInt8(truncatingIfNeeded: value)
  }

  mutating func set(word32 value: UInt32, at offset: Int) {
    set(word16: UInt16(truncatingIfNeeded: value >> 16), at: offset)
    set(word16: UInt16(truncatingIfNeeded: value), at: offset + 2)
  }
}

/// The lower case of an ASCII letter; every other byte is unchanged.
@inline(__always)
func lowerCase(_ byte: UInt8) -> UInt8 { byte &- 65 < 26 ? byte | 0x20 : byte }
