/// An IPv4 or IPv6 address, without a scope.
///
/// Stored as two machine words so that comparing, hashing and masking cost no allocation: a table of 100,000 routes is planned with these.
/// IPv4 occupies the low 32 bits of `low`. Order: IPv4 before IPv6, then numeric.
public struct IPAddress: Hashable, Sendable, Comparable {
  public enum Family: UInt8, Hashable, Sendable, Comparable, CaseIterable, CustomStringConvertible {
    case v4 = 4
    case v6 = 6

    /// Bits in an address: 32 or 128.
    public var bitWidth: Int { self == .v4 ? 32 : 128 }

    public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }

    public var description: String { self == .v4 ? "v4" : "v6" }
  }

  /// The first 64 bits of an IPv6 address; 0 for IPv4.
  public let high: UInt64
  /// The last 64 bits of an IPv6 address; the 32 of an IPv4 address.
  public let low: UInt64
  /// Last, so that other small values lie beside it in a route.
  public let family: Family

  /// Makes an address; for IPv4 only the lower 32 bits of `low` count.
  public init(family: Family, high: UInt64, low: UInt64) {
    self.family = family
    self.high = family == .v4 ? 0 : high
    self.low = family == .v4 ? low & 0xffff_ffff : low
  }

  /// Makes an IPv4 address from 32 bits, the first octet in the uppermost: 0xc0000201 is 192.0.2.1.
  public init(v4: UInt32) { self.init(family: .v4, high: 0, low: UInt64(v4)) }

  /// Makes an address from network-order bytes: 4 for IPv4, 16 for IPv6; any other count is `nil`.
  public init?(bytes: some Collection<UInt8>) {
    func word(_ part: some Collection<UInt8>) -> UInt64 { part.reduce(0) { $0 << 8 | UInt64($1) } }
    switch bytes.count {
    case 4: self.init(family: .v4, high: 0, low: word(bytes))
    case 16: self.init(family: .v6, high: word(bytes.prefix(8)), low: word(bytes.dropFirst(8)))
    default: return nil
    }
  }

  /// The address in network order: 4 or 16 bytes.
  public var bytes: [UInt8] {
    func split(_ word: UInt64, _ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: word >> (8 * (count - 1 - $0))) } }
    return family == .v4 ? split(low, 4) : split(high, 8) + split(low, 8)
  }

  /// 0.0.0.0 or ::.
  public static func unspecified(_ family: Family) -> IPAddress { IPAddress(family: family, high: 0, low: 0) }

  /// 127.0.0.0/8 or ::1.
  public var isLoopback: Bool { family == .v4 ? low >> 24 == 127 : high == 0 && low == 1 }

  /// 169.254.0.0/16 or fe80::/10.
  public var isLinkLocal: Bool { family == .v4 ? low >> 16 == 0xa9fe : high >> 54 == 0x3fa }

  /// 224.0.0.0/4 or ff00::/8.
  public var isMulticast: Bool { family == .v4 ? low >> 28 == 0xe : high >> 56 == 0xff }

  /// The IPv4 address in an IPv4-mapped one, ::ffff:0:0/96 (RFC 4291, 2.5.5.2); `nil` for any other.
  public var mapped: IPAddress? {
    family == .v6 && high == 0 && low >> 32 == 0xffff ? IPAddress(v4: UInt32(truncatingIfNeeded: low)) : nil
  }

  public static func < (a: Self, b: Self) -> Bool { (a.family, a.high, a.low) < (b.family, b.high, b.low) }

  /// Keeps the first `length` bits and clears the rest.
  public func masked(to length: Int) -> IPAddress {
    func keep(_ bits: Int) -> UInt64 { bits <= 0 ? 0 : bits >= 64 ? ~0 : ~(~0 >> UInt64(bits)) }
    if family == .v4 { return IPAddress(family: .v4, high: 0, low: low & keep(length + 32)) }
    return IPAddress(family: .v6, high: high & keep(length), low: low & keep(length - 64))
  }
}

extension IPAddress: LosslessStringConvertible {
  /// Parses RFC 4291 text for IPv6 and strict dotted quads for IPv4: no zone, no octal, no spaces.
  public init?(_ text: String) {
    let parsed = text.utf8.contains(UInt8(ascii: ":")) ? Self.parseV6(text[...]) : Self.parseV4(text[...])
    guard let parsed else { return nil }
    self = parsed
  }

  /// RFC 5952 text: lower case, the longest run of two or more zero groups shortened.
  public var description: String {
    guard family == .v6 else { return bytes.map(String.init).joined(separator: ".") }
    let groups = (0..<8).map { i in UInt16(truncatingIfNeeded: (i < 4 ? high : low) >> UInt64(48 - 16 * (i % 4))) }
    if groups[0..<5].allSatisfy({ $0 == 0 }), groups[5] == 0xffff {
      return "::ffff:" + IPAddress(v4: UInt32(truncatingIfNeeded: low)).description
    }
    var longest = 0..<0
    var start: Int?
    for i in 0...8 {
      if i < 8, groups[i] == 0 {
        start = start ?? i
      } else if let begun = start {
        if i - begun > max(longest.count, 1) { longest = begun..<i }
        start = nil
      }
    }
    func join(_ part: ArraySlice<UInt16>) -> String { part.map { String($0, radix: 16) }.joined(separator: ":") }
    return longest.isEmpty ? join(groups[...]) : join(groups[..<longest.lowerBound]) + "::" + join(groups[longest.upperBound...])
  }

  private static func parseV4(_ text: Substring) -> IPAddress? {
    // In one pass: a gateway reads thousands of them at each look.
    var (value, parts, part, digits): (UInt32, Int, UInt32, Int) = (0, 1, 0, 0)
    for byte in text.utf8 {
      if byte == UInt8(ascii: ".") {
        guard digits > 0, parts < 4 else { return nil }
        (value, parts, part, digits) = (value << 8 | part, parts + 1, 0, 0)
      } else {
        // No zero in front of another digit.
        guard (48...57).contains(byte), digits == 0 || part > 0 else { return nil }
        (part, digits) = (part * 10 + UInt32(byte - 48), digits + 1)
        guard part < 256 else { return nil }
      }
    }
    return parts == 4 && digits > 0 ? IPAddress(v4: value << 8 | part) : nil
  }

  private static func parseV6(_ text: Substring) -> IPAddress? {
    guard let gap = doubleColon(in: text) else {
      guard let groups = groups(text), groups.count == 8 else { return nil }
      return fromGroups(groups)
    }
    let left = text[..<gap.lowerBound]
    let right = text[gap.upperBound...]
    // A dotted quad can only end an address.
    guard !left.utf8.contains(UInt8(ascii: ".")), let head = left.isEmpty ? [] : groups(left),
      let tail = right.isEmpty ? [] : groups(right), head.count + tail.count <= 7
    else {
      return nil
    }
    return fromGroups(head + Array(repeating: 0, count: 8 - head.count - tail.count) + tail)
  }

  private static func doubleColon(in text: Substring) -> Range<Substring.Index>? {
    var i = text.startIndex
    while i < text.endIndex {
      let next = text.index(after: i)
      if text[i] == ":", next < text.endIndex, text[next] == ":" { return i..<text.index(after: next) }
      i = next
    }
    return nil
  }

  /// Parses colon-separated groups; the last may be a dotted quad, which counts as two.
  private static func groups(_ text: Substring) -> [UInt16]? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    var groups: [UInt16] = []
    for (i, part) in parts.enumerated() {
      if i == parts.count - 1, part.utf8.contains(UInt8(ascii: ".")) {
        guard let quad = parseV4(part) else { return nil }
        groups += [UInt16(truncatingIfNeeded: quad.low >> 16), UInt16(truncatingIfNeeded: quad.low)]
      } else {
        let isHex = part.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0 | 0x20) }
        guard (1...4).contains(part.utf8.count), isHex, let group = UInt16(part, radix: 16) else { return nil }
        groups.append(group)
      }
    }
    return groups.count <= 8 ? groups : nil
  }

  private static func fromGroups(_ groups: [UInt16]) -> IPAddress {
    func word(_ part: ArraySlice<UInt16>) -> UInt64 { part.reduce(0) { $0 << 16 | UInt64($1) } }
    return IPAddress(family: .v6, high: word(groups[0..<4]), low: word(groups[4..<8]))
  }
}
