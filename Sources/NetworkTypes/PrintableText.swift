extension Unicode.Scalar {
  /// Whether the character can control a terminal, hide text or change its order: C0 and C1 controls, DEL, bidirectional controls,
  /// zero-width characters, line and paragraph separators, interlinear annotations and tags (Unicode 15, general categories Cc, Cf, Zl and
  /// Zp).
  package var isUnprintable: Bool {
    switch value {
    case 0..<0x20, 0x7f..<0xa0, 0x61c, 0x180e, 0x200b...0x200f, 0x2028...0x202e, 0x2060...0x206f, 0xfeff, 0xfff9...0xfffb,
      0xe0000...0xe007f:
      true
    default: false
    }
  }
}

/// The text in a form that is safe for a terminal or a log: unprintable characters become `\u{9b}`. `keepingLines`: line feeds and tabs
/// stay.
package func escaped(_ text: String, keepingLines: Bool = false) -> String {
  let isKept = { (scalar: Unicode.Scalar) in !scalar.isUnprintable || keepingLines && (scalar == "\n" || scalar == "\t") }
  if text.unicodeScalars.allSatisfy(isKept) { return text }
  var result = String.UnicodeScalarView()
  for scalar in text.unicodeScalars {
    if isKept(scalar) { result.append(scalar) } else { result.append(contentsOf: "\\u{\(String(scalar.value, radix: 16))}".unicodeScalars) }
  }
  return String(result)
}
