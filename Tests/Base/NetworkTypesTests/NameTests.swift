import NetworkTypes
import Testing

@Suite struct NameTests {
  @Test(
    "domains match by whole labels, whatever the case, with or without a dot at the end",
    arguments: [
      ("corp.example", "corp.example", true), ("corp.example", "a.corp.example", true), ("corp.example", "a.b.corp.example", true),
      ("corp.example", "mycorp.example", false), ("corp.example", "example", false), ("corp.example", "corp.example.org", false),
      ("Corp.Example", "A.CORP.example", true), ("corp.example.", "corp.example", true), ("corp.example", "corp.example.", true),
      ("*.corp.example", "corp.example", true), ("*.corp.example", "a.corp.example", true), ("*.corp.example", "xcorp.example", false),
      ("*", "anything.at.all", true), ("example", "corp.example", true), ("c.example", "corp.example", false),
    ])
  func domains(pattern: String, name: String, holds: Bool) throws {
    #expect(try #require(DomainPattern(pattern)).matches(#require(DomainName(name))) == holds)
  }

  @Test(
    "what is no domain",
    arguments: [
      "", ".", "..", "a..b", ".a", "a.b..", "a b", "a/b", "münchen.example", "a*b", "*.*", String(repeating: "a", count: 64),
      String(repeating: "a.", count: 127) + "a",
    ])
  func noDomain(text: String) { #expect(DomainName(text) == nil && DomainPattern(text) == nil) }

  @Test(
    "domains that are allowed",
    arguments: [
      "a", "_sip._tcp.example", "10.in-addr.arpa", "xn--mnchen-3ya.example", String(repeating: "a", count: 63),
      String(repeating: "a.", count: 126) + "a",
    ])
  func domain(text: String) { #expect(DomainName(text)?.text == text) }

  @Test(
    "SSIDs are bytes",
    arguments: [
      ("Home", [0x48, 0x6f, 0x6d, 0x65], "Home"), ("hex:486f6d65", [0x48, 0x6f, 0x6d, 0x65], "Home"), ("hex:00", [0], "hex:00"),
      ("hex:FFfe", [0xff, 0xfe], "hex:fffe"), ("hex:6865783a", Array("hex:".utf8), "hex:6865783a"), ("é", [0xc3, 0xa9], "é"),
      ("e\u{301}", [0x65, 0xcc, 0x81], "e\u{301}"), ("hex:42c29b33316d", [0x42, 0xc2, 0x9b, 0x33, 0x31, 0x6d], "hex:42c29b33316d"),
      ("hex:e280ae", [0xe2, 0x80, 0xae], "hex:e280ae"), ("a\u{200b}", [0x61, 0xe2, 0x80, 0x8b], "hex:61e2808b"),
    ])
  func ssid(text: String, bytes: [UInt8], printed: String) throws {
    let ssid = try #require(SSID(text))
    #expect(ssid.bytes == bytes && Array(ssid.description.utf8) == Array(printed.utf8))
    #expect(SSID(ssid.description) == ssid)
  }

  @Test(
    "what is no SSID",
    arguments: [
      "", "hex:", "hex:0", "hex:0g", "hex:+1", "hex: 00", String(repeating: "a", count: 33), "hex:" + String(repeating: "00", count: 33),
      "hex:é0",
    ])
  func noSSID(text: String) { #expect(SSID(text) == nil) }

  @Test("composed and decomposed text are different SSIDs, as they are on the air")
  func normalisation() { #expect(SSID("é") != SSID("e\u{301}")) }

  @Test(
    "globs",
    arguments: [
      ("*", "", true), ("", "", true), ("", "a", false), ("eth*", "eth0", true), ("eth*", "wlan0", false), ("wl?n0", "wlan0", true),
      ("?", "", false),
      ("*n0", "wlan0", true), ("a*b*c", "axxbyyc", true), ("a*b*c", "axxbyy", false), ("**", "x", true), ("a*", "a", true),
      ("[a]", "a", false),
      ("[a]", "[a]", true), ("é", "é", true), ("??", "é", true), ("*a*a*a*b", String(repeating: "a", count: 2000), false),
    ])
  func glob(pattern: String, text: String, holds: Bool) { #expect(Glob(pattern).matches(text) == holds) }

  @Test(
    "endpoints",
    arguments: [
      "192.0.2.1:51820", "[2001:db8::1]:1", "vpn.example.com:65535", "[::ffff:192.0.2.1]:80",
    ])
  func endpoint(text: String) { #expect(Endpoint(text)?.description == text) }

  @Test(
    "what is no endpoint",
    arguments: [
      "", ":", "192.0.2.1", "192.0.2.1:0", "192.0.2.1:65536", "192.0.2.1:+1", "2001:db8::1:51820", "[192.0.2.1]:1", "[2001:db8::1]", "[]:1",
      ":1", "1.2.3:1", "300.1.1.1:1", "host:", "ho st:1", "[fe80::1%eth0]:1", "host:1 ",
    ])
  func noEndpoint(text: String) { #expect(Endpoint(text) == nil) }

  @Test(
    "link names",
    arguments: [
      ("eth0", true), ("a", true), ("123456789012345", true), ("1234567890123456", false), ("", false), (".", false), ("..", false),
      ("a/b", false), ("a b", false), ("a:b", false), ("é", false),
    ])
  func interfaceName(text: String, isAllowed: Bool) { #expect((InterfaceName(text) != nil) == isAllowed) }

  @Test func indices() { #expect(InterfaceIndex(0) == nil && InterfaceIndex(3)?.description == "3") }
}
