internal import CSodium

/// SipHash-2-4 of 128 bits under a key: equal contents have equal digests, and without the key a digest reveals nothing of its content.
package struct KeyedDigest: Hashable, Sendable {
  /// The length of a key, in bytes.
  package static let keyLength = Int(crypto_shorthash_siphashx24_KEYBYTES)

  private let key: [UInt8]

  /// `nil`: the key is not of this length.
  package init?(key: [UInt8]) {
    guard key.count == Self.keyLength else { return nil }
    self.key = key
  }

  /// 16 bytes.
  package func callAsFunction(_ content: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: Int(crypto_shorthash_siphashx24_BYTES))
    _ = crypto_shorthash_siphashx24(&digest, content, UInt64(content.count), key)
    return digest
  }
}
