/// The signers of a profile, and the result of the verification.
package struct ProfileSignature: Equatable, Sendable {
  package enum Standing: Hashable, Sendable {
    /// The signature was not checked.
    case notVerified
    /// Signature and chain are valid, by the certificates that this machine trusts.
    case verified
    /// Invalid; the reason is OpenSSL's text.
    case refuted(reason: String)
  }

  /// Subjects of the certificates, RFC 2253; empty if the message does not contain them.
  package var signers: [String]
  package var standing: Standing

  package var isRefuted: Bool { if case .refuted = standing { true } else { false } }
}
