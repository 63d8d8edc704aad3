import NetworkTypes
import Testing

@Suite struct ByteTests {
  /// Vectors of draft-eastlake-fnv, appendix.
  @Test(
    "FNV-1a is the published one",
    arguments: [("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)])
  func hash(text: String, value: UInt64) {
    #expect(FNV1a(text).value == value)
    #expect(FNV1a(text, variant: 1).value != value)
    var inSteps = FNV1a()
    for byte in text.utf8 { inSteps.add(byte) }
    #expect(inSteps.value == value)
  }

  /// RFC 4648, section 10.
  @Test(
    "base64 is the published one, both ways",
    arguments: [
      ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
      ("foobar", "Zm9vYmFy"),
    ])
  func base64Vectors(plain: String, coded: String) {
    #expect(base64(Array(plain.utf8)) == coded)
    #expect(bytes(fromBase64: coded) == Array(plain.utf8))
    #expect(bytes(fromBase64: coded.map { " \($0)\n" }.joined()) == Array(plain.utf8))
  }

  @Test("what is no base64", arguments: ["Z", "Zg==Zg", "Zm9vYmFyZ", "====", "Zm9!", "Zm_v"])
  func noBase64(text: String) { #expect(bytes(fromBase64: text) == nil) }
}
