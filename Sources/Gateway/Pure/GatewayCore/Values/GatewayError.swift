/// A refused request: what was wrong, and what to do.
package struct GatewayError: Error, Hashable, Sendable, CustomStringConvertible {
  package let text: String
  package let help: String?
  package let kind: Kind

  /// The refusals that programs tell apart.
  package enum Kind: Hashable, Sendable {
    case request
    /// The user has as many devices as a user may add.
    case deviceLimit
  }

  package init(_ text: String, help: String? = nil, kind: Kind = .request) {
    self.text = text
    self.help = help
    self.kind = kind
  }

  package static func noUser(_ name: GatewayName) -> GatewayError {
    GatewayError("there is no user \(name)", help: "`roamward-gateway user list` lists the users")
  }

  package var description: String { help.map { "\(text)\n  help: \($0)" } ?? text }
}
