internal import CSodium

/// A private or preshared key of WireGuard. A value to those that pass it on; its bytes are in this process once, in locked memory, and are
/// wiped when the last value of this key goes.
///
/// Comparing takes the same time for all keys. Printing shows nothing of a key.
package struct SecretKey: Hashable, Sendable {
  private let stored: StoredKey

  package init(_ bytes: SecretBytes) { stored = StoredKeys.shared.key(bytes) }

  /// `nil` where these are not 32 bytes. The caller's copy is the caller's to wipe.
  package init?(bytes: some Collection<UInt8>) {
    guard let secret = SecretBytes(bytes: bytes) else { return nil }
    self.init(secret)
  }

  /// From 44 characters of standard base64, straight into locked memory; anything else is `nil`.
  package init?(base64 text: some StringProtocol) {
    self.init(text, length: 44) { target, text, count in
      sodium_base642bin(target, 32, text, 44, nil, count, nil, sodium_base64_VARIANT_ORIGINAL)
    }
  }

  /// From 64 hexadecimal digits, straight into locked memory; anything else is `nil`.
  package init?(hexadecimal text: some StringProtocol) {
    self.init(text, length: 64) { target, text, count in sodium_hex2bin(target, 32, text, 64, nil, count, nil) }
  }

  /// `decode` writes up to 32 bytes, sets their number, and returns 0 where all of the text was of its form.
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

  /// A copy of the key at the end of a message, which is the caller's to wipe.
  package func append(to message: inout [UInt8]) { withUnsafeBytes { message.append(contentsOf: $0) } }

  /// 64 hexadecimal digits: a copy of the key, which is the caller's to wipe.
  package var hexadecimal: String {
    String(unsafeUninitializedCapacity: 64) { text in
      for (i, byte) in UnsafeRawBufferPointer(start: stored.bytes.pointer, count: 32).enumerated() {
        text[2 * i] = digit(byte >> 4)
        text[2 * i + 1] = digit(byte & 15)
      }
      return 64
    }
  }

  /// The public key of this private key (RFC 7748, X25519 with base point 9); `nil` where there is none.
  package var publicBytes: [UInt8]? {
    var point = [UInt8](repeating: 0, count: 32)
    let status = crypto_scalarmult_base(&point, stored.bytes.pointer.assumingMemoryBound(to: UInt8.self))
    // What the computation leaves of the key below this frame.
    sodium_stackzero(4096)
    return status == 0 ? point : nil
  }

  package static func == (a: SecretKey, b: SecretKey) -> Bool { a.stored === b.stored }

  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(stored)) }
}

extension SecretKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package var description: String { "(secret)" }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Without a table in memory, whose cache lines would tell the digit.
private func digit(_ value: UInt8) -> UInt8 { value &+ 48 &+ ((UInt8(9) &- value) >> 7) &* 39 }
