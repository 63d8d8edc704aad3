package import JSON
internal import NetworkTypes

/// The algorithms of signatures (RFC 7518, 3.1) that are accepted; `none` and those with a shared secret are not.
package enum SignatureAlgorithm: String, Hashable, Sendable, CaseIterable {
  /// RSASSA-PKCS1-v1_5 with SHA-256, by keys of 2048 to 8192 bits.
  case rs256 = "RS256"
  /// ECDSA on P-256 with SHA-256.
  case es256 = "ES256"
}

/// Whether a signature is right: by the public key (SubjectPublicKeyInfo, DER), of the message. An ECDSA signature is in DER too.
package typealias SignatureCheck = (_ key: [UInt8], _ message: [UInt8], _ signature: [UInt8]) -> Bool

/// A public key for signatures (RFC 7517).
package struct JSONWebKey: Hashable, Sendable {
  package let algorithm: SignatureAlgorithm
  package let id: String?
  /// SubjectPublicKeyInfo, DER.
  package let publicKey: [UInt8]

  /// The most keys of a set that are looked at.
  package static let limit = 64

  /// The usable keys of a set; others are left out (RFC 7517, 5).
  package static func keys(of set: JSON) -> [JSONWebKey] {
    (set["keys"]?.array ?? []).prefix(limit).compactMap { JSONWebKey($0) }
  }

  init?(_ json: JSON) {
    if let use = json["use"]?.string, use != "sig" { return nil }
    func bytes(_ name: String, _ lengths: ClosedRange<Int>) -> [UInt8]? {
      json[name]?.string.flatMap { base64url($0) }.flatMap { lengths.contains($0.count) ? $0 : nil }
    }
    switch (json["kty"]?.string, json["crv"]?.string) {
    case ("RSA", _):
      guard let modulus = bytes("n", 256...1024), modulus[0] != 0, let exponent = bytes("e", 1...4),
        exponent.last.map({ $0 & 1 == 1 }) == true,
        exponent != [1]
      else { return nil }
      algorithm = .rs256
      publicKey = DER.rsaKey(modulus: modulus, exponent: exponent)
    case ("EC", "P-256"):
      guard let x = bytes("x", 32...32), let y = bytes("y", 32...32) else { return nil }
      algorithm = .es256
      publicKey = DER.p256Key(x: x, y: y)
    default: return nil
    }
    if let stated = json["alg"]?.string, stated != algorithm.rawValue { return nil }
    id = json["kid"]?.string
  }
}

/// The few structures of DER (X.690) in which libcrypto takes keys and signatures.
enum DER {
  private static func element(_ tag: UInt8, _ contents: [UInt8]) -> [UInt8] {
    let count = contents.count
    if count < 0x80 { return [tag, UInt8(count)] + contents }
    if count < 0x100 { return [tag, 0x81, UInt8(count)] + contents }
    return [tag, 0x82, UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: count)] + contents
  }

  private static func sequence(_ parts: [UInt8]...) -> [UInt8] { element(0x30, parts.flatMap { $0 }) }

  /// An unsigned number in network order.
  private static func integer(_ bytes: some Collection<UInt8>) -> [UInt8] {
    var bytes = Array(bytes.drop { $0 == 0 })
    if bytes.first.map({ $0 >= 0x80 }) ?? true { bytes.insert(0, at: 0) }
    return element(2, bytes)
  }

  private static func bits(_ bytes: [UInt8]) -> [UInt8] { element(3, [0] + bytes) }

  /// RFC 8017, A.1.1, in a SubjectPublicKeyInfo of rsaEncryption.
  static func rsaKey(modulus: [UInt8], exponent: [UInt8]) -> [UInt8] {
    let name: [UInt8] = [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00]
    return sequence(sequence(name), bits(sequence(integer(modulus), integer(exponent))))
  }

  /// RFC 5480: id-ecPublicKey, secp256r1, the uncompressed point.
  static func p256Key(x: [UInt8], y: [UInt8]) -> [UInt8] {
    let names: [UInt8] = [
      0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07,
    ]
    return sequence(sequence(names), bits([4] + x + y))
  }

  /// RFC 3279, 2.2.3, of the two halves that a JSON web signature has (RFC 7518, 3.4).
  static func ecdsaSignature(_ halves: [UInt8]) -> [UInt8] { sequence(integer(halves.prefix(32)), integer(halves.dropFirst(32))) }
}

/// Decodes base64url without padding (RFC 7515, 2); `nil` for anything else.
func base64url(_ text: some StringProtocol) -> [UInt8]? {
  var standard: [UInt8] = []
  for byte in text.utf8 {
    switch byte {
    case 65...90, 97...122, 48...57: standard.append(byte)
    case UInt8(ascii: "-"): standard.append(UInt8(ascii: "+"))
    case UInt8(ascii: "_"): standard.append(UInt8(ascii: "/"))
    default: return nil
    }
  }
  while !standard.count.isMultiple(of: 4) { standard.append(UInt8(ascii: "=")) }
  return bytes(fromBase64: String(decoding: standard, as: UTF8.self))
}
