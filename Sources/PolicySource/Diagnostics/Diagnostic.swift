package import RoamwardCore

/// Something that is wrong, or probably not meant, at one place of a file that a person wrote.
package struct Diagnostic: Hashable, Sendable, Error {
  package enum Severity: String, Hashable, Sendable {
    /// The file cannot be used.
    case error
    case warning
  }

  package var severity: Severity
  /// One line, lower case, without a full stop. Never holds a key.
  package var message: String
  /// One line on the way out.
  package var help: String?
  package var location: SourceLocation
  /// The line that the location names; `nil` where there is none to show.
  package var excerpt: Excerpt?

  package init(_ severity: Severity, _ message: String, help: String? = nil, at location: SourceLocation, excerpt: Excerpt? = nil) {
    self.severity = severity
    self.message = message
    self.help = help
    self.location = location
    self.excerpt = excerpt
  }

  /// What `rendered(color: true)` begins and ends colours with.
  package static let colors = ["1", "1;31", "1;32", "1;33", "0"].map { "\u{1b}[\($0)m" }

  /// `FILE:LINE:COL: error: MESSAGE`, the line, a caret under the column, and `help: …`; without a newline at the end.
  ///
  /// What could steer a terminal is replaced.
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

/// The part of a source line that is shown to people, and the place in it that is meant.
package struct Excerpt: Hashable, Sendable {
  /// Fit for a terminal.
  package let text: String
  /// Characters before the caret.
  package let offset: Int

  package init(text: String, offset: Int) {
    self.text = printable(text)
    self.offset = offset
  }

  /// As wide as what stands before the caret: tabs stay tabs.
  var caretPadding: String {
    text.unicodeScalars.prefix(offset).map { $0 == "\t" ? "\t" : String(repeating: " ", count: columns($0)) }.joined()
  }
}

/// How many columns of a terminal a character takes: wide East Asian characters and emoji two, combining marks none.
private func columns(_ scalar: Unicode.Scalar) -> Int {
  switch scalar.value {
  case 0x300...0x36f, 0xfe00...0xfe0f: 0
  case 0x1100...0x115f, 0x2e80...0xa4cf, 0xac00...0xd7a3, 0xf900...0xfaff, 0xfe30...0xfe6f, 0xff00...0xff60, 0xffe0...0xffe6: 2
  case 0x1f300...0x1faff, 0x20000...0x3fffd: 2
  default: 1
  }
}
