internal import NetworkTypes

/// The text without leading and trailing blanks and line ends.
func trimmed(_ text: some StringProtocol) -> String {
  let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" || $0 == "\n" || $0 == "\r" || $0 == "\r\n" }
  guard let first = text.firstIndex(where: { !isBlank($0) }), let last = text.lastIndex(where: { !isBlank($0) }) else { return "" }
  return String(text[first...last])
}

/// Text from a file for output: shortened, with terminal control and bidirectional characters replaced.
func shown(_ text: String) -> String {
  let scalars = text.unicodeScalars.prefix(121)
  return singleLine(String(String.UnicodeScalarView(scalars.prefix(120)))) + (scalars.count > 120 ? "…" : "")
}

/// The same for a value. A damaged file may have part of a key in it: text that looks like a key is left out.
func shownValue(_ text: String) -> String {
  var result = ""
  var run = ""
  for character in shown(text) + " " {
    if character.isASCII, character.isLetter || character.isNumber || character == "+" {
      run.append(character)
    } else {
      result += looksLikeKey(run) ? "…" : run
      result.append(character)
      run = ""
    }
  }
  return String(result.dropLast())
}

/// True for letters of both cases among digits, as in base64, and more of them than in a word or a name of a key.
private func looksLikeKey(_ run: String) -> Bool {
  run.count >= 12 && run.contains(where: \.isUppercase) && run.contains(where: \.isLowercase)
    && run.contains { $0.isNumber || $0 == "+" }
}

/// The whole text, of any length, with unprintable characters replaced.
func singleLine(_ text: String) -> String { replacingUnprintable(in: text) { _ in "\u{fffd}" } }

/// Lines without their ends, CRLF or LF; numbers from 1. Invalid UTF-8 is repaired.
func numberedLines(_ bytes: [UInt8]) -> [(number: Int, text: String)] {
  let text = bytes.starts(with: [0xef, 0xbb, 0xbf]) ? bytes[3...] : bytes[...]
  return text.split(separator: 10, omittingEmptySubsequences: false).enumerated().map { index, line in
    (index + 1, String(decoding: line.last == 13 ? line.dropLast() : line, as: UTF8.self))
  }
}
