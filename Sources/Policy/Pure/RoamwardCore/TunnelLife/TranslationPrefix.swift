package import NetworkTypes

/// The prefix by which a network of IPv6 alone translates IPv4 addresses (NAT64), with 32 to 96 bits (RFC 6052, section 2.2).
package struct TranslationPrefix: Hashable, Sendable {
  /// The name whose AAAA records show the prefix (RFC 7050).
  package static let wellKnownName = DomainName("ipv4only.arpa")

  /// Its A records.
  private static let wellKnownAddresses: [[UInt8]] = [[192, 0, 0, 170], [192, 0, 0, 171]]

  /// The places of the IPv4 address's bytes, by the prefix's length. Byte 8 is zero.
  private static let places = [
    96: [12, 13, 14, 15], 64: [9, 10, 11, 12], 56: [7, 9, 10, 11], 48: [6, 7, 9, 10], 40: [5, 6, 7, 9], 32: [4, 5, 6, 7],
  ]
  private static let lengths = [96, 64, 56, 48, 40, 32]

  private let prefix: [UInt8]
  private let length: Int

  /// Finds it in the addresses of `wellKnownName`; `nil`: the network's name servers translate nothing.
  package init?(in addresses: [IPAddress]) {
    let found = addresses.lazy.filter { $0.family == .v6 }.compactMap { address -> (prefix: [UInt8], length: Int)? in
      let length = Self.lengths.first { length in Self.wellKnownAddresses.contains(Self.embedded(in: address.bytes, length)) }
      return length.map { (address.bytes, $0) }
    }.first
    guard let found else { return nil }
    (prefix, length) = (found.prefix, found.length)
  }

  /// The address by which an IPv4 address is reached; one of IPv6 is returned as it is.
  package func address(of address: IPAddress) -> IPAddress {
    guard address.family == .v4, let places = Self.places[length] else { return address }
    var bytes = Array(prefix.prefix(length / 8)) + Array(repeating: 0, count: 16 - length / 8)
    for (place, byte) in zip(places, address.bytes) { bytes[place] = byte }
    return IPAddress(bytes: bytes) ?? address
  }

  /// Whether an IPv6 address may be this IPv4 address, translated.
  package static func isTranslation(_ translated: IPAddress, of address: IPAddress) -> Bool {
    translated.family == .v6 && address.family == .v4 && lengths.contains { embedded(in: translated.bytes, $0) == address.bytes }
  }

  private static func embedded(in bytes: [UInt8], _ length: Int) -> [UInt8] {
    length < 96 && bytes[8] != 0 ? [] : (places[length] ?? []).map { bytes[$0] }
  }
}

extension LinkFacts {
  /// Whether it has a way to the internet by IPv6, and none by IPv4.
  package var hasIPv6Alone: Bool { gateways.contains { $0.family == .v6 } && !gateways.contains { $0.family == .v4 } }
}
