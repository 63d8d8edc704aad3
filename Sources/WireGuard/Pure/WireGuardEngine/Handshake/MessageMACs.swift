internal import CSodium

/// The MACs at the end of handshake messages, for one receiver's public key. The first proves that the sender knows the key. The second
/// proves that the sender receives at its source address (sections 5.4.4 and 5.4.7 of the paper).
package struct MessageMACs: Sendable {
  /// The key of the first MAC.
  private let macKey: PublicKey
  /// The key that encrypts cookie replies of the key's owner.
  let cookieKey: PublicKey

  package init(receiver: PublicKey) {
    macKey = Self.labelled("mac1----", receiver)
    cookieKey = Self.labelled("cookie--", receiver)
  }

  private static func labelled(_ label: StaticString, _ key: PublicKey) -> PublicKey {
    Sodium.start()
    var result = PublicKey()
    let text = UnsafeRawBufferPointer(start: label.utf8Start, count: label.utf8CodeUnitCount)
    key.withUnsafeBytes { key in result.withUnsafeMutableBytes { BLAKE2s.hash(text, key, into: $0.address(0)) } }
    return result
  }

  /// Writes both MACs; the second is zeros if there is no cookie. Returns the first, which a cookie reply answers.
  func sign(_ message: UnsafeMutableRawBufferPointer, cookie: Cookie?) -> MAC {
    let first = mac1(message.readable)
    first.store(to: message.address(message.count - 32))
    let second = cookie.map { $0.mac(UnsafeRawBufferPointer(rebasing: message[..<(message.count - 16)])) } ?? MAC()
    second.store(to: message.address(message.count - 16))
    return first
  }

  /// Writes only the first MAC, without a proof of the address.
  package func sign(_ message: UnsafeMutableRawBufferPointer) { _ = sign(message, cookie: nil) }

  /// Compares in constant time.
  func isFirstRight(_ message: UnsafeRawBufferPointer) -> Bool { mac1(message) == MAC(message.address(message.count - 32)) }

  private func mac1(_ message: UnsafeRawBufferPointer) -> MAC {
    var mac = MAC()
    macKey.withUnsafeBytes { key in
      withUnsafeMutableBytes(of: &mac) { BLAKE2s.mac(key: key, message.part(0, message.count - 32), into: $0.address(0)) }
    }
    return mac
  }
}

/// A MAC of 16 bytes. Compared in constant time.
struct MAC: Equatable, Sendable {
  private var words: (UInt64, UInt64) = (0, 0)

  init() {}

  init(_ source: UnsafeRawPointer) {
    words = (source.loadUnaligned(as: UInt64.self), source.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
  }

  func store(to target: UnsafeMutableRawPointer) {
    target.storeBytes(of: words.0, as: UInt64.self)
    target.storeBytes(of: words.1, toByteOffset: 8, as: UInt64.self)
  }

  static func == (a: MAC, b: MAC) -> Bool { (a.words.0 ^ b.words.0) | (a.words.1 ^ b.words.1) == 0 }
}

/// The proof of an address: a MAC of it under a secret of the receiver.
struct Cookie: Sendable {
  private(set) var value: MAC

  init(_ value: MAC) { self.value = value }

  /// The second MAC, over all bytes before it.
  func mac(_ signed: UnsafeRawBufferPointer) -> MAC {
    var mac = MAC()
    withUnsafeBytes(of: value) { key in withUnsafeMutableBytes(of: &mac) { BLAKE2s.mac(key: key, signed, into: $0.address(0)) } }
    return mac
  }
}
