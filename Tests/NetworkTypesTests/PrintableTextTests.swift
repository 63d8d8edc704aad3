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
      ("\r\n\t\u{7f}", "\\u{d}\\u{a}\\u{9}\\u{7f}"), ("\u{e0041}", "\\u{e0041}"), ("\u{61c}", "\\u{61c}"), ("", ""),
    ])
  func escapes(text: String, shown: String) { #expect(Array(escaped(text).utf8) == Array(shown.utf8)) }

  @Test("keeps line feeds and tabs where lines are written, and no carriage return")
  func lines() { #expect(escaped("a\tb\r\nc\n", keepingLines: true) == "a\tb\\u{d}\nc\n") }

  @Test("holds nothing unprintable, whatever it is made of")
  func property() {
    for value in UInt32(0)...0x10ffff {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let text = escaped("a\(String(scalar))b")
      if text.unicodeScalars.contains(where: \.isUnprintable) { Issue.record("U+\(String(value, radix: 16))") }
      let isSteering = [.control, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory)
      if isSteering || scalar.properties.isBidiControl { #expect(scalar.isUnprintable, "U+\(String(value, radix: 16))") }
    }
  }
}
