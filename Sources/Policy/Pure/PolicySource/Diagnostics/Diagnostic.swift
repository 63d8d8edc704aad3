internal import NetworkTypes
package import RoamwardCore

/// A problem at one place of a file: an error or a likely mistake.
package struct Diagnostic: Hashable, Sendable, Error {
  package enum Severity: String, Equatable, Sendable {
    /// The file cannot be used.
    case error
    /// The policy is used, and may not mean what it says.
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
    let before = String(String.UnicodeScalarView(text.unicodeScalars.prefix(offset)))
    return before.split(separator: "\t", omittingEmptySubsequences: false)
      .map { String(repeating: " ", count: columns(of: String($0))) }.joined(separator: "\t")
  }
}
