import CSodium
import KeyMemory
import Testing

@testable import WireGuardEngine

/// The two-call composition against libsodium's own AEAD.
@Suite struct TransportCipherTests {
  /// A payload with `TransportCipher`'s head and tail room, all of it random.
  final class Room {
    let base: UnsafeMutableRawPointer
    let size: Int
    var payload: UnsafeMutableRawPointer { base + TransportCipher.headroom }

    init(_ count: Int) {
      size = TransportCipher.headroom + count + TransportCipher.tailroom
      base = .allocate(byteCount: size, alignment: 1)
      randombytes_buf(base, size)
    }

    deinit { base.deallocate() }

    func bytes(_ offset: Int, _ count: Int) -> [UInt8] { Array(UnsafeRawBufferPointer(start: base + offset, count: count)) }
  }

  static let lengths = Array(0...2048) + (0..<30).map { _ in Int.random(in: 2049...65_000) }

  private func reference(_ plaintext: [UInt8], counter: UInt64, key: SecretBytes) -> [UInt8] {
    let nonce = [0, 0, 0, 0] + withUnsafeBytes(of: counter.littleEndian) { Array($0) }
    var result = [UInt8](repeating: 0, count: plaintext.count + 16)
    _ = crypto_aead_chacha20poly1305_ietf_encrypt(
      &result, nil, plaintext, UInt64(plaintext.count), nil, 0, nil, nonce, key.pointer.assumingMemoryBound(to: UInt8.self))
    return result
  }

  @Test("sealing makes the very bytes of the AEAD call, for every length, and touches nothing before the payload") func sealing() {
    for length in Self.lengths {
      let key = Entropy.system.ephemeral()
      let counter = UInt64.random(in: 0 ... .max)
      let room = Room(length)
      let before = room.bytes(0, 64)
      let expected = reference(room.bytes(64, length), counter: counter, key: key)
      TransportCipher.seal(room.payload, count: length, counter: counter, key: key.pointer)
      #expect(room.bytes(64, length + 16) == expected, "\(length)")
      #expect(room.bytes(0, 64) == before, "\(length)")
    }
  }

  @Test("opening gives the plaintext and leaves the ciphertext and all around it as it was, for every length") func opening() {
    for length in Self.lengths {
      let key = Entropy.system.ephemeral()
      let counter = UInt64.random(in: 0 ... .max)
      let source = Room(length)
      let target = Room(length)
      let plaintext = (0..<length).map { _ in UInt8.random(in: 0 ... .max) }
      source.payload.copyMemory(from: reference(plaintext, counter: counter, key: key), byteCount: length + 16)
      let sourceBefore = source.bytes(0, source.size)
      let headBefore = target.bytes(0, 64)
      #expect(TransportCipher.open(source.payload, count: length, counter: counter, key: key.pointer, into: target.payload))
      #expect(target.bytes(64, length) == plaintext, "\(length)")
      #expect(target.bytes(0, 64) == headBefore, "\(length)")
      #expect(source.bytes(0, source.size) == sourceBefore, "\(length)")
    }
  }

  @Test("one changed bit anywhere, or another counter, and nothing of the plaintext is released") func forgery() {
    for length in [0, 1, 15, 16, 17, 448, 1420] {
      let key = Entropy.system.ephemeral()
      let source = Room(length)
      let plaintext = [UInt8](repeating: 0x5a, count: length)
      source.payload.copyMemory(from: reference(plaintext, counter: 7, key: key), byteCount: length + 16)
      let before = source.bytes(0, source.size)
      for bit in 0..<(8 * (length + 16)) {
        let target = Room(length)
        source.payload.assumingMemoryBound(to: UInt8.self)[bit / 8] ^= 1 << (bit % 8)
        #expect(!TransportCipher.open(source.payload, count: length, counter: 7, key: key.pointer, into: target.payload))
        #expect(target.bytes(64, length).allSatisfy { $0 == 0 })
        source.payload.assumingMemoryBound(to: UInt8.self)[bit / 8] ^= 1 << (bit % 8)
      }
      #expect(source.bytes(0, source.size) == before)
      let target = Room(length)
      #expect(!TransportCipher.open(source.payload, count: length, counter: 8, key: key.pointer, into: target.payload))
      #expect(TransportCipher.open(source.payload, count: length, counter: 7, key: key.pointer, into: target.payload))
    }
  }

  @Test("records sealed in ascending order in one slab, without a gap, all open") func slab() {
    let key = Entropy.system.ephemeral()
    let count = 20
    let length = 1420
    let stride = 16 + length + 16
    let slab = Room(count * stride)
    let texts = (0..<count).map { _ in (0..<length).map { _ in UInt8.random(in: 0 ... .max) } }
    for i in 0..<count {
      let payload = slab.payload + i * stride + 16
      payload.copyMemory(from: texts[i], byteCount: length)
      TransportCipher.seal(payload, count: length, counter: UInt64(i), key: key.pointer)
    }
    for i in (0..<count).shuffled() {
      let target = Room(length)
      let payload = slab.payload + i * stride + 16
      #expect(TransportCipher.open(payload, count: length, counter: UInt64(i), key: key.pointer, into: target.payload))
      #expect(target.bytes(64, length) == texts[i])
    }
  }
}
