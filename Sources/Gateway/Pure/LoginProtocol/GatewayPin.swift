internal import NetworkTypes

/// The key by which clients know a gateway's logins: SHA-256 of its public key (SubjectPublicKeyInfo, DER), written `sha256//` and base64.
package struct GatewayPin: Hashable, Sendable, LosslessStringConvertible {
  /// 32 bytes.
  let hash: [UInt8]

  private static let prefix = "sha256//"
  private static let length = 32

  private init?(base64 text: String) {
    guard let hash = bytes(fromBase64: text), base64(hash) == text else { return nil }
    self.init(hash: hash)
  }

  /// Takes the 32 bytes themselves.
  init?(hash: [UInt8]) {
    guard hash.count == Self.length else { return nil }
    self.hash = hash
  }

  /// Takes the one way in which it is written.
  package init?(_ text: String) {
    guard text.hasPrefix(Self.prefix) else { return nil }
    self.init(base64: String(text.dropFirst(Self.prefix.count)))
  }

  /// Takes its form in a link.
  package init?(inLink text: some StringProtocol) {
    guard text.utf8.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "=") }) else { return nil }
    self.init(base64: String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }) + "=")
  }

  package var description: String { Self.prefix + base64(hash) }

  /// Base64 of URLs (RFC 4648, section 5) without padding: 43 characters.
  package var inLink: String { String(base64(hash).dropLast().map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 }) }
}
