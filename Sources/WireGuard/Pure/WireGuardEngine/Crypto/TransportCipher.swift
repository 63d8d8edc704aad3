internal import CSodium
internal import CTransportCipher

/// ChaCha20-Poly1305 (RFC 8439) for transport messages, without additional data: by the library that the process has chosen
/// (CTransportCipher), otherwise as two calls of libsodium instead of one.
///
/// libsodium's ChaCha20 works on 512 bytes at a time, and is slow with the remainder. Here one call encrypts a block of zeros and the
/// payload, rounded up to 512, with the counter at 0. The block becomes the Poly1305 key. A second call computes Poly1305. Both take two
/// thirds of the time of the AEAD call and give the same bytes. See decision 10.
package enum TransportCipher {
  /// Bytes before the payload that are used temporarily and restored.
  package static let headroom = 64
  /// The maximum number of bytes behind the payload that are overwritten: the tag, and the round-up to 512.
  package static let tailroom = 528
  /// Bytes of the tag behind the ciphertext.
  package static let tag = 16
  private static let stride = 512

  /// The range that the cipher reads and writes: `headroom` before the payload, this many bytes behind it, at least `count`.
  @inline(__always)
  private static func reach(_ count: Int) -> Int { (headroom + count + stride - 1) & ~(stride - 1) }

  /// Encrypts `count` bytes at `payload` in place and writes the tag behind them.
  @inline(__always)
  static func seal(_ payload: UnsafeMutableRawPointer, count: Int, counter: UInt64, key: UnsafeRawPointer) {
    switch ctc_seal(payload.octets, count, counter, key.octets) {
    case CTC_DONE: return
    case CTC_UNAVAILABLE: sealBySodium(payload, count: count, counter: counter, key: key)
    // It may be encrypted already, and the same keystream again would send the plaintext. The engine's end takes the tunnel down.
    default: fatalError("the library of the cipher failed within a message")
    }
  }

  /// Without a chosen library.
  package static func sealBySodium(_ payload: UnsafeMutableRawPointer, count: Int, counter: UInt64, key: UnsafeRawPointer) {
    let block = payload - headroom
    let kept = Block(block)
    Block().store(to: block)
    xor(block, block, count: reach(count), counter: counter, key: key)
    let tag = authenticate(payload, count: count, key: block)
    kept.store(to: block)
    tag.store(to: payload + count)
  }

  /// Verifies the tag behind the `count` bytes at `ciphertext` and writes the plaintext. If it is not authentic, returns false and zeroes
  /// the plaintext's place. The ciphertext and its surroundings are restored afterwards, and so are the 64 bytes before the plaintext.
  @inline(__always)
  static func open(
    _ ciphertext: UnsafeMutableRawPointer, count: Int, counter: UInt64, key: UnsafeRawPointer, into plaintext: UnsafeMutableRawPointer
  ) -> Bool {
    let result = ctc_open(ciphertext.octets, count, counter, key.octets, plaintext.octets)
    if result != CTC_UNAVAILABLE { return result == CTC_DONE }
    return openBySodium(ciphertext, count: count, counter: counter, key: key, into: plaintext)
  }

  /// Without a chosen library.
  package static func openBySodium(
    _ ciphertext: UnsafeMutableRawPointer, count: Int, counter: UInt64, key: UnsafeRawPointer, into plaintext: UnsafeMutableRawPointer
  ) -> Bool {
    let source = ciphertext - headroom
    let target = plaintext - headroom
    let keptSource = Block(source)
    let keptTarget = Block(target)
    Block().store(to: source)
    xor(target, source, count: reach(count), counter: counter, key: key)
    keptSource.store(to: source)
    // Padding and lengths temporarily replace the tag and up to 15 bytes behind it.
    let end = ciphertext + count
    let keptTag = Half(end)
    let keptBehind = Half(end + 16)
    let computed = authenticate(ciphertext, count: count, key: target)
    keptTag.store(to: end)
    keptBehind.store(to: end + 16)
    keptTarget.store(to: target)
    // In constant time: no branch depends on the position of a difference.
    if (computed.low ^ keptTag.low) | (computed.high ^ keptTag.high) == 0 { return true }
    sodium_memzero(plaintext, reach(count) - headroom)
    return false
  }

  /// Poly1305 over the ciphertext, zeros up to 16, and the lengths (RFC 8439, 2.8). The input is contiguous, because padding and lengths
  /// are written behind the ciphertext.
  @inline(__always)
  private static func authenticate(_ ciphertext: UnsafeMutableRawPointer, count: Int, key: UnsafeRawPointer) -> Half {
    let padded = (count + 15) & ~15
    Half().store(to: ciphertext + count)
    Half(low: 0, high: UInt64(count).littleEndian).store(to: ciphertext + padded)
    var tag = Half()
    withUnsafeMutableBytes(of: &tag) {
      _ = crypto_onetimeauth_poly1305(
        $0.octets, UnsafePointer(ciphertext.assumingMemoryBound(to: UInt8.self)), UInt64(padded + 16),
        key.assumingMemoryBound(to: UInt8.self))
    }
    return tag
  }

  @inline(__always)
  private static func xor(
    _ target: UnsafeMutableRawPointer, _ source: UnsafeRawPointer, count: Int, counter: UInt64, key: UnsafeRawPointer
  ) {
    // The nonce: 32 zero bits, then the message counter of the session.
    var nonce: (UInt32, UInt32, UInt32) = (
      0, UInt32(truncatingIfNeeded: counter).littleEndian, UInt32(truncatingIfNeeded: counter >> 32).littleEndian
    )
    withUnsafeBytes(of: &nonce) {
      _ = crypto_stream_chacha20_ietf_xor_ic(
        target.assumingMemoryBound(to: UInt8.self), source.assumingMemoryBound(to: UInt8.self), UInt64(count), $0.octets, 0,
        key.assumingMemoryBound(to: UInt8.self))
    }
  }

  /// 16 bytes.
  private struct Half {
    var low: UInt64 = 0
    var high: UInt64 = 0

    init() {}

    init(low: UInt64, high: UInt64) {
      self.low = low
      self.high = high
    }

    init(_ source: UnsafeRawPointer) {
      low = source.loadUnaligned(as: UInt64.self)
      high = source.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
    }

    func store(to target: UnsafeMutableRawPointer) {
      target.storeBytes(of: low, as: UInt64.self)
      target.storeBytes(of: high, toByteOffset: 8, as: UInt64.self)
    }
  }

  /// 64 bytes.
  private struct Block {
    var parts = (Half(), Half(), Half(), Half())

    init() {}

    init(_ source: UnsafeRawPointer) { parts = (Half(source), Half(source + 16), Half(source + 32), Half(source + 48)) }

    func store(to target: UnsafeMutableRawPointer) {
      parts.0.store(to: target)
      parts.1.store(to: target + 16)
      parts.2.store(to: target + 32)
      parts.3.store(to: target + 48)
    }
  }
}
