/// A one-time token for enrolment, as people get it: `rw1-` and 160 random bits in base 32.
package struct LoginToken: Hashable, Sendable, LosslessStringConvertible {
  package let description: String

  /// For programs that look for secrets in files.
  private static let prefix = "rw1-"
  /// The random bytes.
  package static let length = 20

  package init(random bytes: [UInt8]) { description = Self.prefix + base32(bytes).lowercased() }

  /// Takes the one way in which it is written.
  package init?(_ text: String) {
    guard text.hasPrefix(Self.prefix), text.utf8.count == Self.prefix.utf8.count + Self.length * 8 / 5 else { return nil }
    guard text.utf8.dropFirst(Self.prefix.utf8.count).allSatisfy({ (97...122).contains($0) || (50...55).contains($0) }) else { return nil }
    description = text
  }

  package var bytes: [UInt8] { Array(description.utf8) }
}

/// Base 32 (RFC 4648) without padding, as authenticator apps read it.
package func base32(_ bytes: [UInt8]) -> String {
  let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
  var (text, bits, count) = ("", UInt32(0), 0)
  for byte in bytes {
    (bits, count) = (bits << 8 | UInt32(byte), count + 8)
    while count >= 5 {
      count -= 5
      text.append(letters[Int(bits >> UInt32(count)) & 31])
    }
    bits &= (1 << UInt32(count)) - 1
  }
  if count > 0 { text.append(letters[Int(bits << UInt32(5 - count)) & 31]) }
  return text
}
