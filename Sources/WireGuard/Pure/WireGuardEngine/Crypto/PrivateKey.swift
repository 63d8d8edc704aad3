internal import KeyMemory

/// A Curve25519 private key (RFC 7748) in locked memory that is wiped with the last copy. Its description does not contain it.
public struct PrivateKey: Sendable, Equatable {
  let secret: SecretBytes

  /// Creates a key with the system's generator, clamped as RFC 7748 section 5 requires.
  public init() {
    Sodium.start()
    secret = Entropy.system.ephemeral()
  }

  /// `nil` unless there are 32 bytes that are not all 0. The caller has to wipe its own copy.
  public init?(bytes: some Collection<UInt8>) {
    Sodium.start()
    guard let secret = SecretBytes(bytes: bytes), !secret.isZero else { return nil }
    self.secret = secret
  }

  public var publicKey: PublicKey { Curve25519.publicKey(of: secret) }

  /// Passes the 32 bytes to the body; they are valid only during the call.
  public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try secret.withUnsafeBytes(body)
  }
}

/// A preshared key of two peers (section 5.2 of the paper), stored like `PrivateKey`.
public struct PresharedKey: Sendable, Equatable {
  let secret: SecretBytes

  /// Creates a key with the system's generator.
  public init() {
    Sodium.start()
    secret = SecretBytes()
    Entropy.system.fill(UnsafeMutableRawBufferPointer(start: secret.pointer, count: 32))
  }

  /// `nil` unless there are 32 bytes that are not all 0 (all zeros mean no key). The caller has to wipe its own copy.
  public init?(bytes: some Collection<UInt8>) {
    Sodium.start()
    guard let secret = SecretBytes(bytes: bytes), !secret.isZero else { return nil }
    self.secret = secret
  }

  /// Passes the 32 bytes to the body; they are valid only during the call.
  public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try secret.withUnsafeBytes(body)
  }
}
