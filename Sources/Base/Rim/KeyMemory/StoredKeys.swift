internal import CSodium

/// The only copy of a key, found by a keyed digest of it while references exist.
final class StoredKey: Sendable {
  let bytes: SecretBytes
  private let digest: SecretDigest
  private let keys: StoredKeys

  fileprivate init(_ bytes: SecretBytes, _ digest: SecretDigest, in keys: StoredKeys) {
    self.bytes = bytes
    self.digest = digest
    self.keys = keys
  }

  deinit { keys.forget(digest) }
}

/// All keys of this process with references.
final class StoredKeys: Sendable {
  static let shared = StoredKeys()

  private struct Entry {
    weak var key: StoredKey?
  }

  private let keys = Exclusive<[SecretDigest: Entry]>([:])

  var count: Int { keys.with { $0.count } }

  /// The existing copy; otherwise a new one of these bytes.
  func key(_ bytes: SecretBytes) -> StoredKey {
    let digest = bytes.withUnsafeBytes { SecretDigest(of: $0) }
    // No reference is released under the lock: it may be the last one, and `forget` takes the lock.
    let (known, new) = keys.with { keys -> (StoredKey?, StoredKey?) in
      if let known = keys[digest]?.key { return (known, nil) }
      let new = StoredKey(bytes, digest, in: self)
      keys[digest] = Entry(key: new)
      return (nil, new)
    }
    if let known, known.bytes == bytes { return known }
    return new ?? StoredKey(bytes, digest, in: self)
  }

  /// Another thread may have stored the same key again since the last reference to this one was released.
  fileprivate func forget(_ digest: SecretDigest) {
    let other = keys.with { keys -> StoredKey? in
      if let other = keys[digest]?.key { return other }
      keys[digest] = nil
      return nil
    }
    withExtendedLifetime(other) {}
  }
}

/// SipHash-2-4 of 128 bits under a random key of this process: equal contents have equal digests, and a digest reveals nothing of them.
struct SecretDigest: Hashable, Sendable {
  let bytes: [UInt8]

  private static let key: SecretBytes = {
    let key = SecretBytes()
    randombytes_buf(key.pointer, 32)
    return key
  }()

  init(of content: UnsafeRawBufferPointer) {
    var digest = [UInt8](repeating: 0, count: 16)
    let key = Self.key.pointer.assumingMemoryBound(to: UInt8.self)
    _ = crypto_shorthash_siphashx24(&digest, content.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(content.count), key)
    bytes = digest
  }
}
