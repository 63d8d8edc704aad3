internal import KeyMemory

/// A Curve25519 private key (RFC 7748) in locked memory that is wiped when the last copy goes. Printing it shows nothing of it.
public struct PrivateKey: Sendable, Equatable {
  let secret: SecretBytes

  /// A new one, of the system's generator, with the bits set that RFC 7748 section 5 asks for.
  public init() {
    Sodium.start()
    secret = Entropy.system.ephemeral()
  }

  /// `nil` unless there are 32 bytes and not all of them are 0. The caller's copy is the caller's to wipe.
  public init?(bytes: some Collection<UInt8>) {
    Sodium.start()
    guard let secret = SecretBytes(bytes: bytes), !secret.isZero else { return nil }
    self.secret = secret
  }

  public var publicKey: PublicKey { Curve25519.publicKey(of: secret) }

  /// The 32 bytes, while the body runs.
  public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try secret.withUnsafeBytes(body)
  }
}

/// A key that two peers share beforehand (section 5.2 of the paper), kept as `PrivateKey` is.
public struct PresharedKey: Sendable, Equatable {
  let secret: SecretBytes

  /// A new one, of the system's generator.
  public init() {
    Sodium.start()
    secret = SecretBytes()
    Entropy.system.fill(UnsafeMutableRawBufferPointer(start: secret.pointer, count: 32))
  }

  /// `nil` unless there are 32 bytes and not all of them are 0, which stands for none. The caller's copy is the caller's to wipe.
  public init?(bytes: some Collection<UInt8>) {
    Sodium.start()
    guard let secret = SecretBytes(bytes: bytes), !secret.isZero else { return nil }
    self.secret = secret
  }

  /// The 32 bytes, while the body runs.
  public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try secret.withUnsafeBytes(body)
  }
}
