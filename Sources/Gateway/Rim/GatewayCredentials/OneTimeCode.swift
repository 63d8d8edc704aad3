internal import CCrypto
internal import CSodium
package import NetworkTypes

/// One-time codes by the time (RFC 6238): HMAC-SHA-1, 30 seconds, 6 digits, as every authenticator app makes them.
package enum OneTimeCode {
  package static let period: Int64 = 30
  package static let digits = 6
  /// A secret's bytes: as many as a hash of SHA-1 has (RFC 4226, 4).
  package static let secretLength = 20

  /// The code of a time step; `nil` if libcrypto refuses.
  package static func code(_ secret: [UInt8], step: Int64) -> [UInt8]? {
    let counter = (0..<8).reversed().map { UInt8(truncatingIfNeeded: step >> (8 * $0)) }
    var mac = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var length: UInt32 = 0
    guard HMAC(EVP_sha1(), secret, Int32(secret.count), counter, counter.count, &mac, &length) != nil, length == 20 else { return nil }
    let place = Int(mac[19] & 0xf)
    var number = mac[place..<place + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7fff_ffff
    var code = [UInt8](repeating: 0, count: digits)
    for i in code.indices.reversed() {
      code[i] = UInt8(ascii: "0") + UInt8(number % 10)
      number /= 10
    }
    return code
  }

  /// The time step that the code belongs to: that of `now`, or one before or after it, above `last`. `nil`: it is wrong, or was used.
  package static func step(of code: [UInt8], _ secret: [UInt8], at now: Timestamp, after last: Int64) -> Int64? {
    guard !secret.isEmpty, code.count == digits else { return nil }
    let current = now.seconds / period
    var found: Int64?
    for step in [current - 1, current, current + 1] {
      guard let right = self.code(secret, step: step) else { continue }
      // The same work for every code.
      if sodium_memcmp(right, code, digits) == 0, step > last { found = found ?? step }
    }
    return found
  }
}
