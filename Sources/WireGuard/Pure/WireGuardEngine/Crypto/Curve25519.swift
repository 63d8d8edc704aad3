internal import CSodium
internal import KeyMemory

/// X25519 (RFC 7748).
enum Curve25519 {
  static func publicKey(of secret: SecretBytes) -> PublicKey {
    Sodium.start()
    var result = PublicKey()
    _ = result.withUnsafeMutableBytes { crypto_scalarmult_base($0.octets, secret.bound) }
    return result
  }

  /// The shared secret; `nil` if the point has low order, so that the result would be zero for every secret.
  static func sharedSecret(_ secret: SecretBytes, _ point: PublicKey) -> SecretBytes? {
    let result = SecretBytes()
    let status = point.withUnsafeBytes { crypto_scalarmult(result.bound, secret.bound, $0.octets) }
    return status == 0 ? result : nil
  }

  /// Clamps a secret, as RFC 7748 requires: some implementations compare or print clamped keys.
  static func clamp(_ secret: SecretBytes) {
    secret.bound[0] &= 248
    secret.bound[31] = secret.bound[31] & 127 | 64
  }
}

extension SecretBytes {
  var bound: UnsafeMutablePointer<UInt8> { pointer.assumingMemoryBound(to: UInt8.self) }
  var buffer: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: pointer, count: 32) }
}

// Byte pointers, as C takes them. An empty buffer may have no address; the others here have one.

extension UnsafeMutableRawBufferPointer {
  var octets: UnsafeMutablePointer<UInt8> { baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: UInt8.self) }
}

extension UnsafeRawBufferPointer {
  var bound: UnsafePointer<UInt8>? { baseAddress?.assumingMemoryBound(to: UInt8.self) }
  var octets: UnsafePointer<UInt8> { baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: UInt8.self) }
}
