package import RoamwardCore

/// A problem at one place of a file: an error or a likely mistake.
package struct Diagnostic: Hashable, Sendable, Error {
  package enum Severity: String, Equatable, Sendable {
    /// The file cannot be used.
    case error
    case warning
  }

  package var severity: Severity
  /// One line, lower case, without a full stop. It never contains a key.
  package var message: String
  /// A suggested solution, on one line.
  package var help: String?
  package var location: SourceLocation
  /// The line of the location; `nil` if there is none to show.
  package var excerpt: Excerpt?

  package init(_ severity: Severity, _ message: String, help: String? = nil, at location: SourceLocation, excerpt: Excerpt? = nil) {
    self.severity = severity
    self.message = message
    self.help = help
    self.location = location
    self.excerpt = excerpt
  }

  /// The SGR sequences with which `rendered(color: true)` begins and ends colours.
  package static let colors = ["1", "1;31", "1;32", "1;33", "0"].map { "\u{1b}[\($0)m" }

  /// `FILE:LINE:COL: error: MESSAGE`, the line, a caret under the column, and `help: …`; without a newline at the end.
  ///
  /// Terminal control characters are replaced.
  package func rendered(color: Bool = false) -> String {
    func paint(_ text: String, _ code: String) -> String { color ? "\u{1b}[\(code)m\(text)\u{1b}[0m" : text }
    let word = paint("\(severity.rawValue):", severity == .error ? "1;31" : "1;33")
    var lines = ["\(paint("\(printable(location.description)):", "1")) \(word) \(printable(message))"]
    if let excerpt {
      lines.append("  " + excerpt.text)
      lines.append("  " + excerpt.caretPadding + paint("^", "1;32"))
    }
    if let help { lines.append("  \(paint("help:", "1")) \(printable(help))") }
    return lines.joined(separator: "\n")
  }
}

/// An excerpt of a source line, and the position of the problem in it.
package struct Excerpt: Hashable, Sendable {
  /// Text that is safe to print on a terminal.
  package let text: String
  /// The number of characters before the caret.
  package let offset: Int

  package init(text: String, offset: Int) {
    self.text = printable(text)
    self.offset = offset
  }

  /// Blanks of the same width as the text before the caret: tabs stay tabs.
  var caretPadding: String {
    text.unicodeScalars.prefix(offset).map { $0 == "\t" ? "\t" : String(repeating: " ", count: columns($0)) }.joined()
  }
}

/// The number of terminal columns of a character: two for wide East Asian characters and emoji, none for combining marks.
private func columns(_ scalar: Unicode.Scalar) -> Int {
  switch scalar.value {
  case 0x300...0x36f, 0xfe00...0xfe0f: 0
  case 0x1100...0x115f, 0x2e80...0xa4cf, 0xac00...0xd7a3, 0xf900...0xfaff, 0xfe30...0xfe6f, 0xff00...0xff60, 0xffe0...0xffe6: 2
  case 0x1f300...0x1faff, 0x20000...0x3fffd: 2
  default: 1
  }
}
