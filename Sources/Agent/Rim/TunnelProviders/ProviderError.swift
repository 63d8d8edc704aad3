/// A failure of a provider, as a message for people: the event, and the remedy if it is known.
package struct ProviderError: Error, Equatable, Sendable, CustomStringConvertible {
  package let message: String
  package let help: String?

  package init(_ message: String, help: String? = nil) {
    self.message = message
    self.help = help
  }

  package var description: String { help.map { "\(message); \($0)" } ?? message }
}

/// The end of a program's output, suitable for a message: the last lines with letters, at most 400 characters, no control characters.
func tail(of output: String, lines count: Int = 3) -> String {
  let lines = output.split(whereSeparator: \.isNewline).map { line in
    String(String.UnicodeScalarView(line.unicodeScalars.filter { $0.value >= 0x20 && !(0x7f...0x9f).contains($0.value) }))
  }
  return String(lines.filter { $0.contains(where: \.isLetter) }.suffix(count).joined(separator: " / ").suffix(400))
}
