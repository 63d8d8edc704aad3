internal import CSodium

/// A private or preshared key of WireGuard. It has value semantics, but its bytes exist only once in this process, in locked memory. They
/// are wiped with the last value of this key.
///
/// A comparison takes the same time for all keys. The description contains no part of a key.
package struct SecretKey: Hashable, Sendable {
  private let stored: StoredKey

  package init(_ bytes: SecretBytes) { stored = StoredKeys.shared.key(bytes) }

  /// `nil` unless there are 32 bytes. The caller has to wipe its own copy.
  package init?(bytes: some Collection<UInt8>) {
    guard let secret = SecretBytes(bytes: bytes) else { return nil }
    self.init(secret)
  }

  /// Decodes 44 characters of standard base64 directly into locked memory; anything else is `nil`.
  package init?(base64 text: some StringProtocol) {
    self.init(text, length: 44) { target, text, count in
      sodium_base642bin(target, 32, text, 44, nil, count, nil, sodium_base64_VARIANT_ORIGINAL)
    }
  }

  /// Decodes 64 hexadecimal digits directly into locked memory; anything else is `nil`.
  package init?(hexadecimal text: some StringProtocol) {
    self.init(text, length: 64) { target, text, count in sodium_hex2bin(target, 32, text, 64, nil, count, nil) }
  }

  /// `decode` writes up to 32 bytes, sets their number, and returns 0 if the whole text was valid.
  private init?(
    _ text: some StringProtocol, length: Int,
    decode: (UnsafeMutablePointer<UInt8>, UnsafePointer<CChar>, UnsafeMutablePointer<Int>) -> Int32
  ) {
    let secret = SecretBytes()
    var text = String(text)
    let isKey = text.withUTF8 { text -> Bool in
      guard text.count == length else { return false }
      return text.withMemoryRebound(to: CChar.self) { text in
        guard let start = text.baseAddress else { return false }
        var count = 0
        return decode(secret.pointer.assumingMemoryBound(to: UInt8.self), start, &count) == 0 && count == 32
      }
    }
    guard isKey else { return nil }
    self.init(secret)
  }

  package var isZero: Bool { stored.bytes.isZero }

  package func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R { try stored.bytes.withUnsafeBytes(body) }

  /// Appends a copy of the key to a message. The caller has to wipe it.
  package func append(to message: inout [UInt8]) { withUnsafeBytes { message.append(contentsOf: $0) } }

  /// A copy of the key as 64 hexadecimal digits. The caller has to wipe it.
  package var hexadecimal: String {
    String(unsafeUninitializedCapacity: 64) { text in
      for (i, byte) in UnsafeRawBufferPointer(start: stored.bytes.pointer, count: 32).enumerated() {
        text[2 * i] = digit(byte >> 4)
        text[2 * i + 1] = digit(byte & 15)
      }
      return 64
    }
  }

  /// The public key of this private key (RFC 7748, X25519 with base point 9); `nil` if there is none.
  package var publicBytes: [UInt8]? {
    var point = [UInt8](repeating: 0, count: 32)
    let status = crypto_scalarmult_base(&point, stored.bytes.pointer.assumingMemoryBound(to: UInt8.self))
    // Wipe what the computation leaves of the key below this frame.
    sodium_stackzero(4096)
    return status == 0 ? point : nil
  }

  /// HMAC-SHA256 (RFC 2104) of a message under a key that only the owners of both private keys can compute: HMAC-SHA256 of `label` under
  /// the shared secret of X25519 (RFC 7748, section 6.1). `nil`: the other one's public key is none.
  package func seal(_ message: [UInt8], with other: [UInt8], label: [UInt8]) -> [UInt8]? {
    guard other.count == 32 else { return nil }
    var shared = [UInt8](repeating: 0, count: 32)
    var key = [UInt8](repeating: 0, count: Int(crypto_auth_hmacsha256_bytes()))
    var seal = key
    defer {
      sodium_memzero(&shared, shared.count)
      sodium_memzero(&key, key.count)
      sodium_stackzero(4096)
    }
    guard crypto_scalarmult(&shared, stored.bytes.pointer.assumingMemoryBound(to: UInt8.self), other) == 0 else { return nil }
    crypto_auth_hmacsha256(&key, label, UInt64(label.count), shared)
    crypto_auth_hmacsha256(&seal, message, UInt64(message.count), key)
    return seal
  }

  package static func == (a: SecretKey, b: SecretKey) -> Bool { a.stored === b.stored }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(stored)) }
}

extension SecretKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package var description: String { "(secret)" }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Computed without a lookup table, whose cache lines would reveal the digit.
private func digit(_ value: UInt8) -> UInt8 { value &+ 48 &+ ((UInt8(9) &- value) >> 7) &* 39 }
