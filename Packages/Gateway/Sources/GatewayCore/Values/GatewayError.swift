/// A refused request: what was wrong, and what to do.
package struct GatewayError: Error, Hashable, Sendable, CustomStringConvertible {
  package let text: String
  package let help: String?

  package init(_ text: String, help: String? = nil) {
    self.text = text
    self.help = help
  }

  package static func noUser(_ name: GatewayName) -> GatewayError {
    GatewayError("there is no user \(name)", help: "`roamward-gateway user list` lists the users")
  }

  package var description: String { help.map { "\(text)\n  help: \($0)" } ?? text }
}
