import NetworkTypes
import SeededRandom
import Testing

@Suite struct GarbageTests {
  @Test("no text makes a reader trap, and what is read comes back from its text")
  func garbage() {
    var random = SplitMix64(seed: 42)
    let alphabet = Array("0123456789abcdefABCDEFxX.:/-+*?[]_% hex:\u{0}\u{301}é१\n\r\n🇩🇪".unicodeScalars)
    for _ in 0..<50_000 {
      var scalars = String.UnicodeScalarView()
      for _ in 0..<Int.random(in: 0...24, using: &random) { scalars.append(alphabet[Int.random(in: alphabet.indices, using: &random)]) }
      let text = String(scalars)
      if let value = IPAddress(text) { #expect(IPAddress(value.description) == value) }
      if let value = IPPrefix(text) { #expect(IPPrefix(value.description) == value) }
      if let value = InterfaceAddress(text) { #expect(InterfaceAddress(value.description) == value) }
      if let value = MACAddress(text) { #expect(MACAddress(value.description) == value) }
      if let value = DomainName(text) { #expect(DomainName(value.description) == value) }
      if let value = DomainPattern(text) { #expect(DomainPattern(value.description) == value) }
      if let value = SSID(text) { #expect(SSID(value.description) == value) }
      if let value = Endpoint(text) { #expect(Endpoint(value.description) == value) }
      _ = InterfaceName(text)
      _ = Glob(text).matches("wlan0")
    }
  }

  @Test("any SSID of 1 to 32 bytes comes back from its text")
  func ssids() {
    var random = SplitMix64(seed: 1)
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 1...32, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      let ssid = SSID(bytes: bytes)
      #expect(ssid != nil && ssid == ssid.flatMap { SSID($0.description) })
    }
  }
}
