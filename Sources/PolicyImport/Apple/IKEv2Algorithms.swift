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
    guard let cipher = Self.ciphers[encryption], let hash = Self.hashes[integrity], let group = Self.groups[group] else { return nil }
    var words = [cipher.word]
    // The truncation of SHA-1 is of authentication alone.
    if !cipher.isAuthenticated { words.append(hash) } else if !isChild { words.append(hash == "sha1_160" ? "prfsha1" : "prf\(hash)") }
    if hasGroup { words.append(group) }
    return words.joined(separator: "-")
  }

  private static let ciphers: [String: (word: String, isAuthenticated: Bool)] = [
    "3DES": ("3des", false), "AES-128": ("aes128", false), "AES-256": ("aes256", false), "AES-128-GCM": ("aes128gcm16", true),
    "AES-256-GCM": ("aes256gcm16", true), "ChaCha20Poly1305": ("chacha20poly1305", true),
  ]

  private static let hashes = [
    "SHA1-96": "sha1", "SHA1-160": "sha1_160", "SHA2-256": "sha256", "SHA2-384": "sha384", "SHA2-512": "sha512",
  ]

  /// By their numbers at IANA.
  private static let groups: [Int64: String] = [
    1: "modp768", 2: "modp1024", 5: "modp1536", 14: "modp2048", 15: "modp3072", 16: "modp4096", 17: "modp6144", 18: "modp8192",
    19: "ecp256", 20: "ecp384", 21: "ecp521", 31: "curve25519", 32: "curve448",
  ]
}
