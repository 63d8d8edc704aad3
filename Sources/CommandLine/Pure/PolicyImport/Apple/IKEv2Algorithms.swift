/// The algorithms of a security association, with Apple's names; each has a default.
struct IKEv2Algorithms: Equatable {
  var encryption = "AES-256"
  var integrity = "SHA2-256"
  var group: Int64 = 14

  init(encryption: String = "AES-256", integrity: String = "SHA2-256", group: Int64 = 14) {
    (self.encryption, self.integrity, self.group) = (encryption, integrity, group)
  }

  /// Takes the keys, and reports them.
  init(_ fields: inout Fields, _ report: inout ImportReport) {
    if let name = fields.text("EncryptionAlgorithm", &report) {
      encryption = name.value
      report.changed(name.place, "an algorithm of the proposal")
    }
    if let name = fields.text("IntegrityAlgorithm", &report) {
      integrity = name.value
      report.changed(name.place, "an algorithm of the proposal")
    }
    if let number = fields.number("DiffieHellmanGroup", 0...65_535, &report) {
      group = number.value
      report.changed(number.place, "the group of the proposal")
    }
  }

  /// The proposal in the words of swanctl.conf(5), `aes256gcm16-prfsha256-ecp256`. `nil`: strongSwan does not have an algorithm.
  ///
  /// - Parameters:
  ///   - isChild: of ESP, without a pseudo-random function.
  ///   - hasGroup: whether keys are agreed upon anew.
  func proposal(isChild: Bool, hasGroup: Bool) -> String? {
    guard let cipher, let hash, let group = groupWord else { return nil }
    let isAuthenticated = encryption.hasSuffix("GCM") || encryption.hasSuffix("Poly1305")
    var words = [cipher]
    // The truncation of SHA-1 is of authentication alone.
    if !isAuthenticated { words.append(hash) } else if !isChild { words.append(hash == "sha1_160" ? "prfsha1" : "prf\(hash)") }
    if hasGroup { words.append(group) }
    return words.joined(separator: "-")
  }

  private var cipher: String? {
    switch encryption {
    case "3DES": "3des"
    case "AES-128": "aes128"
    case "AES-256": "aes256"
    case "AES-128-GCM": "aes128gcm16"
    case "AES-256-GCM": "aes256gcm16"
    case "ChaCha20Poly1305": "chacha20poly1305"
    default: nil
    }
  }

  private var hash: String? {
    switch integrity {
    case "SHA1-96": "sha1"
    case "SHA1-160": "sha1_160"
    case "SHA2-256": "sha256"
    case "SHA2-384": "sha384"
    case "SHA2-512": "sha512"
    default: nil
    }
  }

  /// By its number at IANA.
  private var groupWord: String? {
    switch group {
    case 1: "modp768"
    case 2: "modp1024"
    case 5: "modp1536"
    case 14: "modp2048"
    case 15: "modp3072"
    case 16: "modp4096"
    case 17: "modp6144"
    case 18: "modp8192"
    case 19: "ecp256"
    case 20: "ecp384"
    case 21: "ecp521"
    case 31: "curve25519"
    case 32: "curve448"
    default: nil
    }
  }
}
