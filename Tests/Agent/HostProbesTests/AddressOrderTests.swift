import HostProbes
import NetworkTypes
import Testing

@Suite("The order of addresses (RFC 6724)")
struct AddressOrderTests {
  /// The examples of section 10.2: destinations, the source for each (`-`: none), and the order.
  static let examples: [([String], [String], [String])] = [
    (["2001:db8:1::1", "198.51.100.121"], ["2001:db8:1::2", "169.254.13.78"], ["2001:db8:1::1", "198.51.100.121"]),
    (["2001:db8:1::1", "198.51.100.121"], ["fe80::1", "198.51.100.117"], ["198.51.100.121", "2001:db8:1::1"]),
    (["2001:db8:1::1", "10.1.2.3"], ["2001:db8:1::2", "10.1.2.4"], ["2001:db8:1::1", "10.1.2.3"]),
    (["2001:db8:1::1", "fe80::1"], ["2001:db8:1::2", "fe80::2"], ["fe80::1", "2001:db8:1::1"]),
    (["2001:db8:1::1", "2001:db8:3ffe::1"], ["2001:db8:1::2", "2001:db8:3f44::2"], ["2001:db8:1::1", "2001:db8:3ffe::1"]),
    (["2002:c633:6401::1", "2001:db8:1::1"], ["2002:c633:6401::2", "fe80::2"], ["2002:c633:6401::1", "2001:db8:1::1"]),
    (["2002:c633:6401::1", "2001:db8:1::1"], ["2002:c633:6401::2", "2001:db8:1::2"], ["2001:db8:1::1", "2002:c633:6401::1"]),
    // Without IPv6 here, and without IPv4.
    (["2001:db8:1::1", "198.51.100.121"], ["-", "198.51.100.117"], ["198.51.100.121", "2001:db8:1::1"]),
    (["198.51.100.121", "2001:db8:1::1"], ["-", "2001:db8:1::2"], ["2001:db8:1::1", "198.51.100.121"]),
    // A network of its own addresses (ULA) towards the world: the label differs, so IPv4 it is.
    (["2001:db8:1::1", "198.51.100.121"], ["fd00::2", "192.168.1.2"], ["198.51.100.121", "2001:db8:1::1"]),
    // Addresses that no rule distinguishes keep the server's order.
    (["192.0.2.9", "192.0.2.1", "192.0.2.5"], ["192.0.2.7", "192.0.2.7", "192.0.2.7"], ["192.0.2.9", "192.0.2.1", "192.0.2.5"]),
  ]

  @Test("as the RFC's examples have it", arguments: examples)
  func order(addresses: [String], sources: [String], expected: [String]) throws {
    let found = try addresses.map { try #require(IPAddress($0)) }
    let source = Dictionary(uniqueKeysWithValues: zip(found, sources.map { IPAddress($0) }))
    #expect(preferred(found) { source[$0] ?? nil }.map(\.description) == expected)
  }
}
