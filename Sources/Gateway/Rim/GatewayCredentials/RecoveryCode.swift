internal import CSodium

/// Codes that a person keeps on paper: each stands for one one-time code, when the authenticator app is lost. 80 random bits, so a hash
/// without salt protects them.
package enum RecoveryCode {
  /// The number of codes that a person gets.
  package static let count = 10
  private static let length = 16
  /// Crockford's base 32: without letters that look like digits.
  private static let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)

  /// A new one: `7k2m-x0rp-9d4c-w8tq`.
  package static func make() -> String {
    var generator = SystemRandomNumberGenerator()
    let letters = (0..<length).map { _ in alphabet[Int(UInt8.random(in: 0..<32, using: &generator))] }
    return stride(from: 0, to: length, by: 4).map { String(decoding: letters[$0..<$0 + 4], as: UTF8.self) }.joined(separator: "-")
  }

  /// SHA-256 of what a person has entered, in hexadecimal digits; `nil`: it is no such code. Hyphens, blanks and letter case are ignored,
  /// and letters that look like digits are these.
  package static func hash(_ entered: [UInt8]) -> String? {
    var letters: [UInt8] = []
    for byte in entered where byte != UInt8(ascii: "-") && byte != UInt8(ascii: " ") {
      let lower = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
      let letter =
        switch lower {
        case UInt8(ascii: "o"): UInt8(ascii: "0")
        case UInt8(ascii: "i"), UInt8(ascii: "l"): UInt8(ascii: "1")
        default: lower
        }
      guard letters.count < length, alphabet.contains(letter) else { return nil }
      letters.append(letter)
    }
    guard letters.count == length else { return nil }
    var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_bytes()))
    crypto_hash_sha256(&digest, letters, UInt64(letters.count))
    return digest.map { byte in [byte >> 4, byte & 15].map { String($0, radix: 16) }.joined() }.joined()
  }
}
