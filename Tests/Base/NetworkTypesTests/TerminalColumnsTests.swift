import Glibc
import NetworkTypes
import Testing

@Suite("Columns of a terminal")
struct TerminalColumnsTests {
  @Test(
    "are those of what is shown",
    arguments: [
      ("", 0), ("corp", 4), ("Café", 4), ("Cafe\u{301}", 4), ("東京", 4), ("한국", 4), ("ไทย", 3), ("กำ", 2),
      ("👩\u{200d}👩\u{200d}👧 x", 4), ("🏳\u{fe0f}\u{200d}🌈", 2),
      ("🇩🇪", 2), ("☕", 2), ("❤\u{fe0f}", 2), ("♥", 1), ("ｗｉｄｅ", 8), ("شبكة", 4), ("\u{1b}[31m", 10), ("a\u{202e}b", 10),
    ])
  func width(text: String, count: Int) { #expect(columns(of: text) == count) }

  @Test("padding fills to the same column, whatever stands before it")
  func padding() {
    for text in ["corp", "東京", "👩\u{200d}👩\u{200d}👧", "Cafe\u{301}", "a\u{200b}"] { #expect(columns(of: pad(text, 12)) == 12) }
    #expect(pad("corporation", 4) == "corporation" && columns(ofWidest: ["a", "東京", "abc"]) == 4 && columns(ofWidest: []) == 0)
  }

  @Test("of each character are those of the C library")
  func library() throws {
    let locale = try #require(newlocale(LC_CTYPE_MASK, "C.UTF-8", nil))
    defer { freelocale(locale) }
    let previous = uselocale(locale)
    defer { uselocale(previous) }
    // Its header is not visible to Swift.
    let wcwidth = unsafeBitCast(try #require(dlsym(nil, "wcwidth")), to: (@convention(c) (wchar_t) -> Int32).self)
    var differences: [String] = []
    for value in UInt32(0x20)...0x10ffff {
      guard let scalar = Unicode.Scalar(value), !scalar.isUnprintable, let age = scalar.properties.age, (age.major, age.minor) <= (14, 0)
      else { continue }
      let width = Int(wcwidth(wchar_t(value)))
      // Alone it is half a flag; and a mark that later versions of Unicode count as wide.
      guard width >= 0, !(0x1f1e6...0x1f1ff).contains(value), value != 0x1171e, columns(of: String(scalar)) != width else { continue }
      differences.append("U+\(String(value, radix: 16)): \(columns(of: String(scalar))), not \(width)")
    }
    #expect(differences.isEmpty, "\(differences.count): \(differences.prefix(200))")
  }
}
