import NetworkTypes
import SeededRandom
import Testing

@Suite struct AddressTests {
  @Test(
    "IPv6 text is shortened as RFC 5952 says",
    arguments: [
      ("2001:0db8:0:0:0:0:0:1", "2001:db8::1"),
      ("2001:DB8::1", "2001:db8::1"),
      ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
      ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"),
      ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
      ("0:0:0:0:0:0:0:0", "::"),
      ("::1", "::1"),
      ("1::", "1::"),
      ("fe80::0:0:1", "fe80::1"),
      ("::ffff:192.0.2.1", "::ffff:192.0.2.1"),
      ("::ffff:c000:201", "::ffff:192.0.2.1"),
      ("64:ff9b::192.0.2.33", "64:ff9b::c000:221"),
      ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
      ("::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"),
      ("0:0:1:0:0:0:0:0", "0:0:1::"),
    ])
  func canonicalText(given: String, canonical: String) throws {
    let address = try #require(IPAddress(given))
    #expect(address.family == .v6)
    #expect(address.description == canonical)
    #expect(IPAddress(canonical) == address)
    #expect(IPAddress(bytes: address.bytes) == address)
  }

  @Test("IPv4 text", arguments: ["0.0.0.0", "192.0.2.1", "255.255.255.255", "10.0.0.10"])
  func v4(text: String) throws {
    let address = try #require(IPAddress(text))
    #expect(address.family == .v4 && address.description == text && IPAddress(bytes: address.bytes) == address)
  }

  @Test(
    "what is no address",
    arguments: [
      "", " ", "1", "1.2.3", "1.2.3.4.5", "256.0.0.1", "01.2.3.4", "1.2.3.04", "1.2.3.-4", "+1.2.3.4", "1.2.3.4 ", " 1.2.3.4", "1.2.3.4\n",
      "0x1.2.3.4",
      "1..2.3", "١.2.3.4", ":", ":::", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7:8::", "::1:2:3:4:5:6:7:8", "12345::",
      "g::", "fe80::1%eth0", "::1.2.3", "::1.2.3.4.5", "1.2.3.4::", "::1.2.3.4:5", "[::1]", "::+1", "::-1", "1:", ":1", "::1/64",
    ])
  func refused(text: String) { #expect(IPAddress(text) == nil) }

  @Test func kinds() throws {
    #expect(try #require(IPAddress("127.9.9.9")).isLoopback && #require(IPAddress("::1")).isLoopback)
    #expect(try #require(IPAddress("169.254.1.1")).isLinkLocal && #require(IPAddress("febf::1")).isLinkLocal)
    #expect(try !#require(IPAddress("fec0::1")).isLinkLocal && !#require(IPAddress("128.0.0.1")).isLoopback)
    #expect(try #require(IPAddress("239.1.1.1")).isMulticast && #require(IPAddress("ff02::1")).isMulticast)
    #expect(IPAddress(bytes: [1, 2, 3]) == nil)
  }

  @Test("every address comes back from its text and its bytes")
  func roundTrip() {
    var random = SplitMix64(seed: 7)
    for _ in 0..<20_000 {
      // Zero groups often, so that shortening has something to do.
      let bytes = (0..<8).flatMap { _ -> [UInt8] in
        Bool.random(using: &random) ? [0, 0] : [.random(in: 0...255, using: &random), .random(in: 0...255, using: &random)]
      }
      for address in [IPAddress(bytes: bytes), IPAddress(bytes: bytes.prefix(4))].compactMap({ $0 }) {
        #expect(IPAddress(address.description) == address)
      }
    }
  }

  @Test(
    "MAC addresses",
    arguments: [
      ("02:00:5e:10:00:01", "02:00:5e:10:00:01"), ("02-00-5E-10-00-01", "02:00:5e:10:00:01"), ("ff:ff:ff:ff:ff:ff", "ff:ff:ff:ff:ff:ff"),
    ])
  func mac(given: String, printed: String) { #expect(MACAddress(given)?.description == printed) }

  @Test(
    "what is no MAC address",
    arguments: ["", "02:00:5e:10:00", "02:00:5e:10:00:01:02", "2:0:5e:10:0:1", "02005e100001", "02:00:5e:10:00:0g", "+2:00:5e:10:00:01"])
  func noMAC(text: String) { #expect(MACAddress(text) == nil) }
}
