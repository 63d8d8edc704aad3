internal import KeyMemory

/// Noise's chaining key and transcript hash (https://noiseprotocol.org/noise.html, section 5.2), for Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s.
///
/// The key that encrypts is derived anew before each use, so its nonce is always 0.
final class SymmetricState {
  private let chainingKey: SecretBytes
  private var hash: PublicKey

  /// The state that every handshake begins with, up to its prologue, which is WireGuard's identifier.
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

  /// The responder's static key is known to both sides before they begin.
  init(responder: PublicKey) {
    chainingKey = Self.start.chainingKey.withUnsafeBytes { SecretBytes(copying: $0.address(0)) }
    hash = Self.start.hash
    responder.withUnsafeBytes { mix(hash: $0) }
  }

  private init(copying other: SymmetricState) {
    chainingKey = SecretBytes(copying: other.chainingKey.pointer)
    hash = other.hash
  }

  /// A message is tried on a copy: a forged one must leave no trace.
  func copy() -> SymmetricState { SymmetricState(copying: self) }

  func mix(hash data: UnsafeRawBufferPointer) {
    var next = PublicKey()
    hash.withUnsafeBytes { before in next.withUnsafeMutableBytes { BLAKE2s.hash(before, data, into: $0.address(0)) } }
    hash = next
  }

  /// What an ephemeral key does with a preshared key in the pattern: it goes into both.
  func mix(ephemeral key: PublicKey) {
    key.withUnsafeBytes {
      mix(hash: $0)
      BLAKE2s.derive(from: chainingKey, $0, chainingKey)
    }
  }

  /// Mixes a secret in without a message after it.
  func mix(_ secret: SecretBytes) { BLAKE2s.derive(from: chainingKey, secret.buffer, chainingKey) }

  /// Mixes a secret in, and gives the key for the field after it.
  func key(mixing secret: SecretBytes) -> SecretBytes {
    let key = SecretBytes()
    BLAKE2s.derive(from: chainingKey, secret.buffer, chainingKey, key)
    return key
  }

  /// The same for the preshared key, which also goes into the transcript.
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

  /// The two transport keys: the initiator's to send with, then the responder's.
  func split() -> (SecretBytes, SecretBytes) {
    let first = SecretBytes()
    let second = SecretBytes()
    BLAKE2s.derive(from: chainingKey, UnsafeRawBufferPointer(start: nil, count: 0), first, second)
    return (first, second)
  }
}
