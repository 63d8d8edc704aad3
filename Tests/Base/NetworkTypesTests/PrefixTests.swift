import NetworkTypes
import Testing

@Suite struct PrefixTests {
  @Test(
    "host bits are cleared",
    arguments: [
      ("192.0.2.23/24", "192.0.2.0/24"), ("10.1.2.3/8", "10.0.0.0/8"), ("192.0.2.1", "192.0.2.1/32"), ("0.0.0.0/0", "0.0.0.0/0"),
      ("255.255.255.255/1", "128.0.0.0/1"), ("2001:db8::1/64", "2001:db8::/64"), ("2001:db8::1", "2001:db8::1/128"), ("::/0", "::/0"),
      ("ffff:ffff:ffff:ffff:ffff::/65", "ffff:ffff:ffff:ffff:8000::/65"), ("fd00::1/127", "fd00::/127"),
    ])
  func text(given: String, printed: String) { #expect(IPPrefix(given)?.description == printed) }

  @Test(
    "what is no prefix",
    arguments: [
      "", "/", "10.0.0.0/", "/8", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/8/8", "::/129", "10.0.0.0/ 8", "10.0.0/8",
      "10.0.0.0/008", "10.0.0.0/99999999999999999999",
    ])
  func refused(text: String) { #expect(IPPrefix(text) == nil && InterfaceAddress(text) == nil) }

  @Test(
    "containment is by bits and by family",
    arguments: [
      ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.0", false), ("0.0.0.0/0", "255.1.1.1", true), ("0.0.0.0/0", "::1", false),
      ("::/0", "10.0.0.1", false), ("192.168.7.0/25", "192.168.7.128", false), ("192.168.7.0/25", "192.168.7.127", true),
      ("2001:db8::/33", "2001:db8:8000::", false), ("2001:db8::/33", "2001:db8:7fff::", true), ("::1/128", "::1", true),
      ("fd00::/65", "fd00::7fff:0:0:1", true),
    ])
  func contains(prefix: String, address: String, holds: Bool) throws {
    #expect(try #require(IPPrefix(prefix)).contains(#require(IPAddress(address))) == holds)
  }

  @Test func overlap() throws {
    let wide = try #require(IPPrefix("10.0.0.0/8"))
    let narrow = try #require(IPPrefix("10.1.0.0/16"))
    let other = try #require(IPPrefix("11.0.0.0/8"))
    #expect(wide.overlaps(narrow) && narrow.overlaps(wide) && !other.overlaps(wide))
    #expect(wide.contains(narrow) && !narrow.contains(wide))
  }

  @Test func interfaceAddressesKeepTheirHostBits() throws {
    let address = try #require(InterfaceAddress("192.0.2.23/24"))
    #expect(address.description == "192.0.2.23/24" && address.onLinkPrefix.description == "192.0.2.0/24")
    #expect(InterfaceAddress("2001:db8::1")?.prefixLength == 128)
  }

  @Test func masking() throws {
    let all = IPAddress(family: .v6, high: ~0, low: ~0)
    for length in 0...128 { #expect(all.masked(to: length).bytes.map(\.nonzeroBitCount).reduce(0, +) == length) }
    let v4 = IPAddress(v4: ~0)
    for length in 0...32 { #expect(v4.masked(to: length).bytes.map(\.nonzeroBitCount).reduce(0, +) == length) }
  }
}
