internal import LoginProtocol

/// The rule for new passwords: their length. Composition rules make worse passwords (NIST SP 800-63B, 5.1.1.2).
package enum NewPassword {
  package static let shortest = 10

  /// The reason why a new password is not accepted, as a text for the person; `nil`: it is accepted.
  package static func fault(of password: [UInt8]) -> String? {
    guard let text = String(validating: password, as: UTF8.self) else { return "The password is no valid text. Choose another one." }
    if text.count < shortest { return "The password is too short. Choose one of at least \(shortest) characters." }
    if password.count <= ClientMessage.secretLimit { return nil }
    return "The password is too long. Choose one of at most \(ClientMessage.secretLimit) bytes."
  }
}
