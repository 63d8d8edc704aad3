internal import NetworkTypes

/// The addresses that an answer gives to programs: of A and AAAA records, and the hints of SVCB and HTTPS records (RFC 9460 section 7.3),
/// in every section.
enum AnswerAddresses {
  private static let internet: UInt16 = 1
  private static let ipv4Hint: UInt16 = 4
  private static let ipv6Hint: UInt16 = 6

  /// Whether one of the addresses is one that `isMatch` accepts. An IPv4 address inside an IPv6 one (RFC 4291 section 2.5.5, RFC 6052
  /// section 2.1) is tested too.
  static func contains(_ message: Span<UInt8>, _ outline: AnswerOutline, where isMatch: (IPAddress) -> Bool) -> Bool {
    var isFound = false
    outline.forEachRecord(of: message) { record in
      guard !isFound, record.recordClass == internet else { return }
      switch record.type {
      case RecordType.a: isFound = matches(message, record.data, size: 4, isMatch)
      case RecordType.aaaa: isFound = matches(message, record.data, size: 16, isMatch)
      case RecordType.svcb, RecordType.https: isFound = hints(message, record.data, isMatch)
      default: break
      }
    }
    return isFound
  }

  /// All of them, each as often as it is there.
  static func all(_ message: Span<UInt8>, _ outline: AnswerOutline) -> [IPAddress] {
    var addresses: [IPAddress] = []
    _ = contains(message, outline) {
      addresses.append($0)
      return false
    }
    return addresses
  }

  /// SvcPriority, TargetName, then parameters: key, length, value.
  private static func hints(_ message: Span<UInt8>, _ data: Range<Int>, _ isMatch: (IPAddress) -> Bool) -> Bool {
    guard data.count > 2, var offset = NameCoding.end(of: message, at: data.lowerBound + 2) else { return false }
    while offset + 4 <= data.upperBound {
      let (key, length) = (message.word16(offset), Int(message.word16(offset + 2)))
      let value = offset + 4..<offset + 4 + length
      guard value.upperBound <= data.upperBound else { return false }
      if key == ipv4Hint, matches(message, value, size: 4, isMatch) { return true }
      if key == ipv6Hint, matches(message, value, size: 16, isMatch) { return true }
      offset = value.upperBound
    }
    return false
  }

  private static func matches(_ message: Span<UInt8>, _ data: Range<Int>, size: Int, _ isMatch: (IPAddress) -> Bool) -> Bool {
    for start in stride(from: data.lowerBound, through: data.upperBound - size, by: size) {
      guard size == 16 else {
        if isMatch(IPAddress(v4: message.word32(start))) { return true }
        continue
      }
      let high = UInt64(message.word32(start)) << 32 | UInt64(message.word32(start + 4))
      let low = UInt64(message.word32(start + 8)) << 32 | UInt64(message.word32(start + 12))
      if isMatch(IPAddress(family: .v6, high: high, low: low)) { return true }
      // ::ffff:0:0/96, ::/96 and 64:ff9b::/96.
      let holdsIPv4 = high == 0 && (low >> 32 == 0xffff || low >> 32 == 0) || high == 0x0064_ff9b_0000_0000 && low >> 32 == 0
      if holdsIPv4, isMatch(IPAddress(v4: UInt32(truncatingIfNeeded: low))) { return true }
    }
    return false
  }
}
