internal import CSodium
internal import KeyMemory

/// A source of random bytes: the system's generator, or a test's values.
package struct Entropy: Sendable {
  let fill: @Sendable (UnsafeMutableRawBufferPointer) -> Void

  package init(_ fill: @escaping @Sendable (UnsafeMutableRawBufferPointer) -> Void) { self.fill = fill }

  package static let system = Entropy { randombytes_buf($0.octets, $0.count) }

  func word() -> UInt32 {
    var word: UInt32 = 0
    withUnsafeMutableBytes(of: &word) { fill($0) }
    return word
  }

  /// A random delay of at most `ProtocolConstants.maximumJitter`.
  func jitter() -> UInt64 { UInt64(word()) % ProtocolConstants.maximumJitter }

  /// An ephemeral private key for one handshake.
  func ephemeral() -> SecretBytes {
    let secret = SecretBytes()
    fill(UnsafeMutableRawBufferPointer(start: secret.pointer, count: 32))
    Curve25519.clamp(secret)
    return secret
  }
}
