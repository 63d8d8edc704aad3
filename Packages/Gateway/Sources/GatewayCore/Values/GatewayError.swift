/// A refused request: what was wrong, and what to do.
package struct GatewayError: Error, Hashable, Sendable, CustomStringConvertible {
  package let text: String
  package let help: String?

  package init(_ text: String, help: String? = nil) {
    self.text = text
    self.help = help
  }

  package var description: String { help.map { "\(text)\n  help: \($0)" } ?? text }
}
