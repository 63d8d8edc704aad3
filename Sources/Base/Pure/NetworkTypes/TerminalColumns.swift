/// The columns that a text takes on a terminal once it is escaped: two for wide East Asian characters and emoji, none for combining marks
/// (Unicode Annex 11). An emoji of several characters takes two, as in terminals that show it as one.
package func columns(of text: String) -> Int {
  if text.utf8.allSatisfy({ (0x20..<0x7f).contains($0) }) { return text.utf8.count }
  return escaped(text).reduce(0) { $0 + $1.columns }
}

/// The columns of the widest text.
package func columns(ofWidest texts: some Sequence<String>) -> Int { texts.reduce(0) { max($0, columns(of: $1)) } }

/// The text with spaces after it, so that it takes this many columns.
package func pad(_ text: String, _ width: Int) -> String { text + String(repeating: " ", count: max(0, width - columns(of: text))) }

extension Character {
  /// The columns of an escaped character.
  package var columns: Int {
    let scalars = unicodeScalars
    if scalars.contains(where: \.isWide) || scalars.contains("\u{fe0f}") { return 2 }
    return scalars.reduce(0) { $0 + ($1.isZeroWidth ? 0 : 1) }
  }
}

extension Unicode.Scalar {
  fileprivate var isZeroWidth: Bool {
    guard value >= 0x300 else { return false }
    switch properties.generalCategory {
    case .nonspacingMark, .enclosingMark: return true
    // Vowels and finals of Hangul, and what joins hieroglyphs.
    default:
      return (0x1160...0x11ff).contains(value) || (0xd7b0...0xd7ff).contains(value) || (0x13430...0x1343f).contains(value)
        || properties.isDefaultIgnorableCodePoint
    }
  }

  fileprivate var isWide: Bool {
    switch value {
    case ..<0x1100: false
    case 0x1100...0x115f, 0x2329...0x232a, 0x2e80...0x303e, 0x3041...0xa4cf, 0xa960...0xa97f, 0xac00...0xd7a3, 0xf900...0xfaff,
      0xfe10...0xfe19,
      0xfe30...0xfe6f, 0xff01...0xff60, 0xffe0...0xffe6, 0x16fe0...0x18d08, 0x1aff0...0x1b2ff, 0x1f200...0x1f265, 0x20000...0x3fffd:
      !isZeroWidth
    default: properties.isEmojiPresentation
    }
  }
}
