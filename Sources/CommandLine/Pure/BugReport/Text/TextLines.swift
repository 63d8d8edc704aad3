/// The lines of a text, without carriage returns: split by bytes, because a Swift character may be both ends of a line.
func textLines(_ text: String) -> [Substring] {
  text.utf8.split(separator: 0x0a, omittingEmptySubsequences: false).map { line in
    Substring(decoding: line.last == 0x0d ? line.dropLast() : line, as: UTF8.self)
  }
}

extension Substring {
  /// The text without white space around it.
  var trimmed: String {
    var text = self
    while text.first?.isWhitespace ?? false { text = text.dropFirst() }
    while text.last?.isWhitespace ?? false { text = text.dropLast() }
    return String(text)
  }
}
