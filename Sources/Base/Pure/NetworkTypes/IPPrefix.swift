/// A block of addresses: an address with its host bits cleared, and a length in bits.
public struct IPPrefix: Hashable, Sendable, Comparable {
  /// The first address of the block.
  public let address: IPAddress
  private let bits: UInt8
  /// 0 to 32 for IPv4, 0 to 128 for IPv6.
  public var length: Int { Int(bits) }

  /// Clears the host bits. `nil` if the length does not fit the family.
  public init?(_ address: IPAddress, length: Int) {
    guard (0...address.family.bitWidth).contains(length) else { return nil }
    self.init(unchecked: address, length: length)
  }

  private init(unchecked address: IPAddress, length: Int) {
    self.address = address.masked(to: length)
    bits = UInt8(truncatingIfNeeded: length)
  }

  public var family: IPAddress.Family { address.family }

  /// 0.0.0.0/0 or ::/0.
  public static func everything(_ family: IPAddress.Family) -> IPPrefix { IPPrefix(unchecked: .unspecified(family), length: 0) }

  /// The prefix that contains this address alone.
  public static func host(_ address: IPAddress) -> IPPrefix { IPPrefix(unchecked: address, length: address.family.bitWidth) }

  /// Whether the address is of this family and in the block.
  public func contains(_ other: IPAddress) -> Bool { other.family == family && other.masked(to: length) == address }

  /// Whether all of the other block is in this one.
  public func contains(_ other: IPPrefix) -> Bool { other.length >= length && contains(other.address) }

  /// Whether any address is in both.
  public func overlaps(_ other: IPPrefix) -> Bool { contains(other) || other.contains(self) }

  public static func < (a: Self, b: Self) -> Bool { (a.address, a.length) < (b.address, b.length) }
}

extension Collection<IPPrefix> {
  /// Whether the prefixes together contain every address of the family: in one prefix, in two halves, or in any other pieces.
  ///
  /// This is the one meaning of "everything". Two halves are a common way to be more specific than a default route.
  public func coverEverything(of family: IPAddress.Family) -> Bool { PrefixList(Array(self)).coverEverything(of: family) }

  /// The fewest prefixes that contain the same addresses, in ascending order: without those inside another, and with the two halves of a
  /// prefix as that prefix.
  public var aggregated: [IPPrefix] {
    let list = PrefixList(Array(self))
    return list.aggregated(.v4) + list.aggregated(.v6)
  }

  /// Whether the prefixes contain every address of some family.
  public var coverEverything: Bool { IPAddress.Family.allCases.contains { coverEverything(of: $0) } }
}

extension IPPrefix {
  /// The prefix that consists of this one and the next one; `nil` if the two are no halves of one prefix.
  func merged(with next: IPPrefix) -> IPPrefix? {
    guard length == next.length, length > 0, self != next, let both = IPPrefix(address, length: length - 1), both.contains(next) else {
      return nil
    }
    return both
  }
}

extension IPPrefix: LosslessStringConvertible {
  /// `ADDRESS/LENGTH`, or an address alone, which is its host prefix. Host bits may be set; they are cleared.
  public init?(_ text: String) {
    let slash = text.utf8.firstIndex(of: UInt8(ascii: "/"))
    guard let address = IPAddress(slash.map { String(text[..<$0]) } ?? text) else { return nil }
    guard let slash else {
      self = .host(address)
      return
    }
    guard let length = parsedLength(text[text.utf8.index(after: slash)...]) else { return nil }
    self.init(address, length: length)
  }

  public var description: String { "\(address)/\(length)" }
}

/// An address on a link together with the length of its on-link prefix: `192.0.2.23/24`, host bits kept.
public struct InterfaceAddress: Hashable, Sendable, Comparable {
  public let address: IPAddress
  public let prefixLength: Int

  public init?(_ address: IPAddress, prefixLength: Int) {
    guard (0...address.family.bitWidth).contains(prefixLength) else { return nil }
    self.address = address
    self.prefixLength = prefixLength
  }

  /// The prefix that the address makes reachable without a gateway.
  public var onLinkPrefix: IPPrefix { IPPrefix(address, length: prefixLength) ?? .host(address) }

  public static func < (a: Self, b: Self) -> Bool { (a.address, a.prefixLength) < (b.address, b.prefixLength) }
}

extension InterfaceAddress: LosslessStringConvertible {
  /// `ADDRESS/LENGTH`, or an address alone, which has its family's full length.
  public init?(_ text: String) {
    let slash = text.utf8.firstIndex(of: UInt8(ascii: "/"))
    guard let address = IPAddress(slash.map { String(text[..<$0]) } ?? text) else { return nil }
    let length = slash.map { parsedLength(text[text.utf8.index(after: $0)...]) } ?? address.family.bitWidth
    guard let length else { return nil }
    self.init(address, prefixLength: length)
  }

  public var description: String { "\(address)/\(prefixLength)" }
}

/// One to three decimal digits without a sign or a leading zero.
private func parsedLength(_ text: Substring) -> Int? {
  guard (1...3).contains(text.utf8.count), text.utf8.allSatisfy({ (48...57).contains($0) }), text == "0" || text.first != "0" else {
    return nil
  }
  return Int(text)
}
