internal import KeyMemory

/// Noise's chaining key and transcript hash (https://noiseprotocol.org/noise.html, section 5.2), for Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s.
///
/// A new encryption key is derived before each use, so its nonce is always 0.
final class SymmetricState {
  private let chainingKey: SecretBytes
  private var hash: PublicKey

  /// The initial state of every handshake, up to its prologue, which is WireGuard's identifier.
  private static let start: (chainingKey: PublicKey, hash: PublicKey) = {
    Sodium.start()
    var chainingKey = PublicKey()
    var hash = PublicKey()
    func digest(_ first: some Sequence<UInt8>, _ second: [UInt8], into result: inout PublicKey) {
      Array(first).withUnsafeBytes { first in
        second.withUnsafeBytes { second in result.withUnsafeMutableBytes { BLAKE2s.hash(first, second, into: $0.address(0)) } }
      }
    }
    digest("Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s".utf8, [], into: &chainingKey)
    digest(chainingKey.bytes, Array("WireGuard v1 zx2c4 Jason@zx2c4.com".utf8), into: &hash)
    return (chainingKey, hash)
  }()

  /// Both sides know the responder's static key in advance.
  init(responder: PublicKey) {
    chainingKey = Self.start.chainingKey.withUnsafeBytes { SecretBytes(copying: $0.address(0)) }
    hash = Self.start.hash
    responder.withUnsafeBytes { mix(hash: $0) }
  }

  private init(copying other: SymmetricState) {
    chainingKey = SecretBytes(copying: other.chainingKey.pointer)
    hash = other.hash
  }

  /// Each message is tried on a copy: a forged one must not change the state.
  func copy() -> SymmetricState { SymmetricState(copying: self) }

  func mix(hash data: UnsafeRawBufferPointer) {
    var next = PublicKey()
    hash.withUnsafeBytes { before in next.withUnsafeMutableBytes { BLAKE2s.hash(before, data, into: $0.address(0)) } }
    hash = next
  }

  /// Mixes an ephemeral key into the hash and the chaining key, as patterns with a preshared key require.
  func mix(ephemeral key: PublicKey) {
    key.withUnsafeBytes {
      mix(hash: $0)
      BLAKE2s.derive(from: chainingKey, $0, chainingKey)
    }
  }

  /// Mixes a secret in, without a field that uses the key.
  func mix(_ secret: SecretBytes) { BLAKE2s.derive(from: chainingKey, secret.buffer, chainingKey) }

  /// Mixes a secret in and returns the key for the next field.
  func key(mixing secret: SecretBytes) -> SecretBytes {
    let key = SecretBytes()
    BLAKE2s.derive(from: chainingKey, secret.buffer, chainingKey, key)
    return key
  }

  /// The same for the preshared key, which is mixed into the transcript too.
  func key(mixingPreshared secret: SecretBytes) -> SecretBytes {
    let extra = SecretBytes()
    let key = SecretBytes()
    BLAKE2s.derive(from: chainingKey, secret.buffer, chainingKey, extra, key)
    mix(hash: extra.buffer)
    return key
  }

  func seal(_ plaintext: UnsafeRawBufferPointer, key: SecretBytes, into field: UnsafeMutableRawPointer) {
    hash.withUnsafeBytes { MessageCipher.seal(plaintext, key: key, authenticating: $0, into: field) }
    mix(hash: UnsafeRawBufferPointer(start: field, count: plaintext.count + MessageCipher.tag))
  }

  func open(_ field: UnsafeRawBufferPointer, key: SecretBytes, into plaintext: UnsafeMutableRawPointer) -> Bool {
    guard hash.withUnsafeBytes({ MessageCipher.open(field, key: key, authenticating: $0, into: plaintext) }) else { return false }
    mix(hash: field)
    return true
  }

  /// The two transport keys: first the initiator's sending key, then the responder's.
  func split() -> (SecretBytes, SecretBytes) {
    let first = SecretBytes()
    let second = SecretBytes()
    BLAKE2s.derive(from: chainingKey, UnsafeRawBufferPointer(start: nil, count: 0), first, second)
    return (first, second)
  }
}
