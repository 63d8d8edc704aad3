internal import CSodium

/// Bytes of any length that contain keys among other data, such as a wg-quick file. They are encrypted under a key of this process, which
/// is in locked memory. Equal bytes give equal ciphertexts.
package struct SealedBytes: Hashable, Sendable {
  /// The digest of the contents, from which the nonce is made, and the output of `crypto_secretbox` (XSalsa20, Poly1305).
  private let digest: SecretDigest
  let sealed: [UInt8]

  private static let key: SecretBytes = {
    let key = SecretBytes()
    randombytes_buf(key.pointer, 32)
    return key
  }()
  private static let tag = 16
  /// A nonce has 24 bytes, a digest 16.
  private static let padding = [UInt8](repeating: 0, count: 8)

  package init(_ bytes: [UInt8]) {
    digest = bytes.withUnsafeBytes { SecretDigest(of: $0) }
    var sealed = [UInt8](repeating: 0, count: bytes.count + Self.tag)
    let key = Self.key.pointer.assumingMemoryBound(to: UInt8.self)
    _ = crypto_secretbox_easy(&sealed, bytes, UInt64(bytes.count), digest.bytes + Self.padding, key)
    self.sealed = sealed
    // Wipe what the cipher leaves of the contents below this frame.
    sodium_stackzero(4096)
  }

  /// The bytes, in ordinary memory. The caller has to wipe them.
  package var opened: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: sealed.count - Self.tag)
    let key = Self.key.pointer.assumingMemoryBound(to: UInt8.self)
    let status = crypto_secretbox_open_easy(&bytes, sealed, UInt64(sealed.count), digest.bytes + Self.padding, key)
    precondition(status == 0, "what this process has sealed it can open")
    sodium_stackzero(4096)
    return bytes
  }
}

extension SealedBytes: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package var description: String { "(sealed)" }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
