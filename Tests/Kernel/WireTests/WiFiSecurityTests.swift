import NetworkTypes
import RoamwardCore
import SeededRandom
import Testing
import Wire

@Suite("Wi-Fi security by a beacon's elements")
struct WiFiSecurityTests {
  /// An RSN element: version 1, CCMP, one cipher CCMP, these AKM suites of 00-0f-ac, capabilities.
  private static func rsn(_ suites: [UInt8], capabilities: UInt8 = 0) -> [UInt8] {
    var content: [UInt8] = [1, 0, 0x00, 0x0f, 0xac, 4, 1, 0, 0x00, 0x0f, 0xac, 4, UInt8(suites.count), 0]
    for suite in suites { content += [0x00, 0x0f, 0xac, suite] }
    content += [capabilities, 0]
    return [48, UInt8(content.count)] + content
  }

  private static let name: [UInt8] = [0, 4] + Array("Home".utf8)
  /// As hostapd writes it for `wpa=1`.
  private static let wpa: [UInt8] = [
    221, 22, 0x00, 0x50, 0xf2, 1, 1, 0, 0x00, 0x50, 0xf2, 2, 1, 0, 0x00, 0x50, 0xf2, 2, 1, 0, 0x00, 0x50, 0xf2, 2,
  ]
  private static let otherVendor: [UInt8] = [221, 5, 0x00, 0x50, 0xf2, 2, 1]

  struct Case: Sendable {
    let elements: [UInt8]
    var isPrivate = true
    let expected: WiFiSecurity?
  }

  static let cases: [Case] = [
    Case(elements: name, isPrivate: false, expected: .open),
    Case(elements: name + otherVendor, isPrivate: false, expected: .open),
    Case(elements: name, expected: .wep),
    Case(elements: name + wpa, expected: .wpa),
    Case(elements: name + rsn([2]), expected: .wpa2),
    Case(elements: name + rsn([6, 4]), expected: .wpa2),
    Case(elements: name + rsn([8], capabilities: 0xc0), expected: .wpa3),
    Case(elements: name + rsn([24, 25], capabilities: 0xc0), expected: .wpa3),
    // Transition modes count as the weaker.
    Case(elements: name + rsn([2, 8], capabilities: 0x80), expected: .wpa2),
    Case(elements: name + wpa + rsn([2]), expected: .wpa),
    Case(elements: name + rsn([18], capabilities: 0xc0), expected: .owe),
    Case(elements: name + rsn([1]), expected: .wpa2Enterprise),
    Case(elements: name + rsn([1, 5], capabilities: 0x80), expected: .wpa2Enterprise),
    Case(elements: name + rsn([5], capabilities: 0xc0), expected: .wpa3Enterprise),
    Case(elements: name + rsn([5], capabilities: 0x80), expected: .wpa2Enterprise),
    Case(elements: name + rsn([12], capabilities: 0xc0), expected: .wpa3Enterprise),
    // An unknown suite or version is not guessed.
    Case(elements: name + rsn([99]), expected: nil),
    Case(elements: name + [48, 2, 2, 0], expected: nil),
    // An element that ends early means 802.1X (9.4.2.24.1).
    Case(elements: name + [48, 2, 1, 0], expected: .wpa2Enterprise),
    Case(elements: name + [48, 6, 1, 0, 0x00, 0x0f, 0xac, 4], expected: .wpa2Enterprise),
    // Counts and lengths that lie.
    Case(elements: name + [48, 14, 1, 0, 0x00, 0x0f, 0xac, 4, 0xff, 0xff, 0x00, 0x0f, 0xac, 4, 1, 0], expected: .wpa2Enterprise),
    Case(elements: name + [48, 200, 1, 0], expected: .wep),
  ]

  @Test("as the standard has it", arguments: cases)
  func reading(_ example: Case) {
    #expect(WiFiSecurity(elements: example.elements[...], isPrivate: example.isPrivate) == example.expected, "\(example.elements)")
  }

  @Test("of what the kernel gave for a network that a station was on") func captured() throws {
    let network = try #require(NetlinkMessages(CapturedGeneric.nl80211Scan).compactMap { WirelessNetwork($0) }.first)
    #expect(network.bssid == MACAddress("02:00:00:00:00:00") && network.security == .open && network.isJoined)
  }

  @Test("any bytes at all, without a trap") func mutations() {
    var random = SplitMix64(seed: 11)
    for example in Self.cases {
      for end in 0...example.elements.count { _ = WiFiSecurity(elements: example.elements[..<end], isPrivate: true) }
      for _ in 0..<2_000 {
        var bytes = example.elements
        for _ in 0...Int.random(in: 0...4, using: &random) {
          bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
        }
        let read = WiFiSecurity(elements: bytes[...], isPrivate: false)
        #expect(read == WiFiSecurity(elements: ArraySlice([7] + bytes).dropFirst(), isPrivate: false), "wherever the bytes lie")
      }
    }
  }
}
