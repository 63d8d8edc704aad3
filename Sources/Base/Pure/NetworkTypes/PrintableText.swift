extension Unicode.Scalar {
  /// Whether the character alone can control a terminal, hide text or change its order: C0 and C1 controls, DEL, bidirectional
  /// controls, line and paragraph separators, interlinear annotations, tags, and all that is shown as nothing (Unicode,
  /// Default_Ignorable_Code_Point).
  /// Some of the last belong to their neighbours: `isPrintable` looks at these too.
  package var isUnprintable: Bool {
    switch value {
    case 0..<0x20, 0x7f..<0xa0, 0x2028, 0x2029, 0xfff9...0xfffb: true
    case 0..<0xad: false
    default: properties.isDefaultIgnorableCodePoint
    }
  }
}

/// Whether nothing of the text is unprintable: it is shown as it is.
package func isPrintable(_ text: String) -> Bool {
  if text.utf8.allSatisfy({ (0x20..<0x7f).contains($0) }) { return true }
  let scalars = text.unicodeScalars
  return scalars.indices.allSatisfy { !scalars[$0].isUnprintable || scalars.isJoined(at: $0) }
}

/// The text in a form that is safe for a terminal or a log: unprintable characters become `\u{9b}`. `keepingLines`: line feeds and tabs
/// stay.
package func escaped(_ text: String, keepingLines: Bool = false) -> String {
  replacingUnprintable(in: text, keeping: { keepingLines && ($0 == "\n" || $0 == "\t") }, by: { "\\u{\(String($0.value, radix: 16))}" })
}

/// The text with a replacement for each unprintable character.
package func replacingUnprintable(
  in text: String, keeping isKept: (Unicode.Scalar) -> Bool = { _ in false }, by replacement: (Unicode.Scalar) -> String
) -> String {
  let scalars = text.unicodeScalars
  if scalars.allSatisfy({ !$0.isUnprintable || isKept($0) }) { return text }
  var result = String.UnicodeScalarView()
  for index in scalars.indices {
    let scalar = scalars[index]
    if !scalar.isUnprintable || isKept(scalar) || scalars.isJoined(at: index) {
      result.append(scalar)
    } else {
      result.append(contentsOf: replacement(scalar).unicodeScalars)
    }
  }
  return String(result)
}

extension String.UnicodeScalarView {
  /// Whether an invisible character forms what its neighbours show, so that a person would notice its absence:
  /// the joiner within an emoji, and the selector after one; a joiner after a virama or between Arabic letters, as in Persian (RFC 5892,
  /// appendix A). Elsewhere it hides: two names that look alike would differ in it.
  fileprivate func isJoined(at index: Index) -> Bool {
    switch self[index] {
    case "\u{200d}":
      let before = last(before: index) { !$0.modifiesEmoji }
      return before?.properties.canonicalCombiningClass == .virama
        || before?.isPictograph == true && next(after: index)?.isPictograph == true
    case "\u{200c}":
      let before = last(before: index) { !$0.isMark || $0.properties.canonicalCombiningClass == .virama }
      guard before?.properties.canonicalCombiningClass != .virama else { return true }
      return before?.joinsForward == true && next(after: index)?.joinsBackward == true
    case "\u{fe0e}", "\u{fe0f}":
      guard let before = last(before: index, where: { _ in true }) else { return false }
      return before.isPictograph || before.properties.isEmoji && next(after: index) == "\u{20e3}"
    default: return false
    }
  }

  private func last(before index: Index, where isWanted: (Unicode.Scalar) -> Bool) -> Unicode.Scalar? {
    self[..<index].last(where: isWanted)
  }

  private func next(after place: Index) -> Unicode.Scalar? {
    let next = index(after: place)
    return next == endIndex ? nil : self[next]
  }
}

extension Unicode.Scalar {
  /// An emoji that is none of ASCII's characters.
  fileprivate var isPictograph: Bool { value > 0x7f && properties.isEmoji && !properties.isEmojiModifier }

  fileprivate var modifiesEmoji: Bool { self == "\u{fe0f}" || properties.isEmojiModifier }

  fileprivate var isMark: Bool { [.nonspacingMark, .enclosingMark].contains(properties.generalCategory) }

  /// A letter of the Arabic block that has a form before another (Joining_Type D).
  fileprivate var joinsForward: Bool {
    switch value {
    case 0x622...0x625, 0x627, 0x629, 0x62f...0x632, 0x648, 0x671...0x677, 0x688...0x699, 0x6c0, 0x6c3...0x6cb, 0x6cd, 0x6cf,
      0x6d2...0x6d5, 0x6ee, 0x6ef:
      false
    default: joinsBackward
    }
  }

  /// A letter of the Arabic block that has a form after another (Joining_Type D or R).
  fileprivate var joinsBackward: Bool {
    (0x620...0x6ff).contains(value) && properties.generalCategory == .otherLetter && ![0x621, 0x674].contains(value)
  }
}
