internal import NetworkTypes

/// The text with terminal control characters and characters of bidirectional formatting replaced by U+FFFD; tabs stay.
func printable(_ text: String) -> String {
  replacingUnprintable(in: text, keeping: { $0 == "\t" }, by: { _ in "\u{fffd}" })
}

/// Text from a file, shortened and in quotes, for a message.
package func quoted(_ text: String) -> String {
  let shown = text.unicodeScalars.prefix(61)
  return "\"" + printable(shown.count > 60 ? String(String.UnicodeScalarView(shown.prefix(57))) + "…" : text) + "\""
}

/// `a, b or c`.
func alternatives(_ words: [String]) -> String {
  guard words.count > 1, let last = words.last else { return words.first ?? "" }
  return words.dropLast().joined(separator: ", ") + " or " + last
}

/// The known word with the smallest edit distance, if at most one in three characters differs; the first of equals.
package func nearest(to word: String, among known: [String]) -> String? {
  let typed = Array(word.lowercased().utf8)
  guard (1...64).contains(typed.count) else { return nil }
  var best: (word: String, edits: Int)?
  for candidate in known {
    let edits = editDistance(typed, Array(candidate.lowercased().utf8))
    if edits <= max(1, typed.count / 3), edits < best?.edits ?? .max { best = (candidate, edits) }
  }
  return best?.word
}

/// The edit distance: insertions, deletions, replacements and swaps of adjacent characters.
private func editDistance(_ a: [UInt8], _ b: [UInt8]) -> Int {
  var before: [Int] = []
  var previous = Array(0...b.count)
  for i in a.indices {
    var row = [i + 1]
    for j in b.indices {
      var edits = min(previous[j] + (a[i] == b[j] ? 0 : 1), previous[j + 1] + 1, row[j] + 1)
      if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { edits = min(edits, before[j - 1] + 1) }
      row.append(edits)
    }
    before = previous
    previous = row
  }
  return previous[b.count]
}
