import NetworkTypes
import Testing

@Suite("Text for a terminal or a log")
struct PrintableTextTests {
  @Test(
    "stands as it is, but for what steers, hides or reorders",
    arguments: [
      ("Café ☕️ 東京 e\u{301}", "Café ☕️ 東京 e\u{301}"), ("\u{1b}[31m", "\\u{1b}[31m"), ("\u{9b}31m", "\\u{9b}31m"),
      ("a\u{202e}b\u{2066}c", "a\\u{202e}b\\u{2066}c"), ("a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}"),
      ("a\u{2028}b\u{2029}", "a\\u{2028}b\\u{2029}"),
      ("a\u{ad}b\u{34f}c\u{3164}d", "a\\u{ad}b\\u{34f}c\\u{3164}d"), ("co\u{200d}rp\u{fe0f}", "co\\u{200d}rp\\u{fe0f}"),
      ("\u{200d}x👩\u{200d}", "\\u{200d}x👩\\u{200d}"), ("\u{645}\u{200d}\u{62e}", "\u{645}\\u{200d}\u{62e}"),
      // After an alef, which never joins, nobody would see it; nor a second one.
      ("\u{627}\u{200c}\u{62e}", "\u{627}\\u{200c}\u{62e}"),
      ("\u{6cc}\u{200c}\u{200c}\u{62e}", "\u{6cc}\\u{200c}\\u{200c}\u{62e}"),
      ("\r\n\t\u{7f}", "\\u{d}\\u{a}\\u{9}\\u{7f}"), ("\u{e0041}", "\\u{e0041}"), ("\u{61c}", "\\u{61c}"), ("", ""),
    ])
  func escapes(text: String, shown: String) { #expect(Array(escaped(text).utf8) == Array(shown.utf8)) }

  @Test(
    "keeps what joins the characters of a word or an emoji",
    arguments: [
      "👩\u{200d}👩\u{200d}👧", "🏳\u{fe0f}\u{200d}🌈", "🧑🏽\u{200d}🚀", "❤\u{fe0f}\u{200d}🔥", "1\u{fe0f}\u{20e3}", "☕\u{fe0f}", "🇩🇪",
      "\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}",
      "\u{915}\u{94d}\u{200d}\u{937}", "\u{915}\u{94d}\u{200c}\u{937}", "ไทย", "한국",
    ])
  func joined(text: String) {
    #expect(isPrintable(text) && Array(escaped(text).utf8) == Array(text.utf8))
    #expect(SSID(text)?.description == text)
  }

  @Test("keeps line feeds and tabs where lines are written, and no carriage return")
  func lines() { #expect(escaped("a\tb\r\nc\n", keepingLines: true) == "a\tb\\u{d}\nc\n") }

  @Test("holds nothing unprintable, whatever it is made of")
  func property() {
    for value in UInt32(0)...0x10ffff {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let text = escaped("a\(String(scalar))b")
      if text.unicodeScalars.contains(where: \.isUnprintable) || !isPrintable(text) { Issue.record("U+\(String(value, radix: 16))") }
      let properties = scalar.properties
      let isSteering = [.control, .lineSeparator, .paragraphSeparator].contains(properties.generalCategory)
      if isSteering || properties.isBidiControl || properties.isDefaultIgnorableCodePoint {
        #expect(scalar.isUnprintable, "U+\(String(value, radix: 16))")
      }
    }
  }
}
