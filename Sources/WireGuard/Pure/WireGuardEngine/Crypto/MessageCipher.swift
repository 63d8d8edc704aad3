internal import CSodium
internal import KeyMemory

/// The AEADs of the handshake and the cookie, each one call of libsodium. Transport messages use `TransportCipher`.
enum MessageCipher {
  static let tag = 16

  /// ChaCha20-Poly1305 with the nonce 0, because each key of the handshake is used once. Writes `plaintext.count + 16` bytes.
  static func seal(
    _ plaintext: UnsafeRawBufferPointer, key: SecretBytes, authenticating data: UnsafeRawBufferPointer,
    into ciphertext: UnsafeMutableRawPointer
  ) {
    withNonce { nonce in
      _ = crypto_aead_chacha20poly1305_ietf_encrypt(
        ciphertext.assumingMemoryBound(to: UInt8.self), nil, plaintext.bound, UInt64(plaintext.count), data.bound, UInt64(data.count), nil,
        nonce, key.bound)
    }
  }

  /// Writes `ciphertext.count - 16` bytes. If the tag is wrong, returns false and writes zeros.
  static func open(
    _ ciphertext: UnsafeRawBufferPointer, key: SecretBytes, authenticating data: UnsafeRawBufferPointer,
    into plaintext: UnsafeMutableRawPointer
  ) -> Bool {
    withNonce { nonce in
      crypto_aead_chacha20poly1305_ietf_decrypt(
        plaintext.assumingMemoryBound(to: UInt8.self), nil, nil, ciphertext.octets, UInt64(ciphertext.count), data.bound,
        UInt64(data.count), nonce, key.bound) == 0
    }
  }

  /// XChaCha20-Poly1305 with a random nonce of 24 bytes: a cookie of 16 bytes becomes 32 bytes.
  static func sealCookie(
    _ cookie: UnsafeRawPointer, key: UnsafeRawPointer, nonce: UnsafeRawPointer, authenticating data: UnsafeRawBufferPointer,
    into ciphertext: UnsafeMutableRawPointer
  ) {
    _ = crypto_aead_xchacha20poly1305_ietf_encrypt(
      ciphertext.assumingMemoryBound(to: UInt8.self), nil, cookie.assumingMemoryBound(to: UInt8.self), 16, data.bound, UInt64(data.count),
      nil, nonce.assumingMemoryBound(to: UInt8.self), key.assumingMemoryBound(to: UInt8.self))
  }

  static func openCookie(
    _ ciphertext: UnsafeRawPointer, key: UnsafeRawPointer, nonce: UnsafeRawPointer, authenticating data: UnsafeRawBufferPointer,
    into cookie: UnsafeMutableRawPointer
  ) -> Bool {
    crypto_aead_xchacha20poly1305_ietf_decrypt(
      cookie.assumingMemoryBound(to: UInt8.self), nil, nil, ciphertext.assumingMemoryBound(to: UInt8.self), 32, data.bound,
      UInt64(data.count), nonce.assumingMemoryBound(to: UInt8.self), key.assumingMemoryBound(to: UInt8.self)) == 0
  }

  private static func withNonce<R>(_ body: (UnsafePointer<UInt8>) -> R) -> R {
    withUnsafeBytes(of: (UInt64(0), UInt32(0))) { body($0.octets) }
  }
}
