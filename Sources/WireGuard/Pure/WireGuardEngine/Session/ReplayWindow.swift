/// A window of the last 8128 received counters (RFC 6479): a ring of bits that moves by whole words. Its owner frees it.
struct ReplayWindow {
  static let size: UInt64 = (words - 1) * 64
  private static let words: UInt64 = 128

  private var highest: UInt64 = 0
  private let ring: UnsafeMutablePointer<UInt64>

  init() {
    ring = .allocate(capacity: Int(Self.words))
    ring.initialize(repeating: 0, count: Int(Self.words))
  }

  func deallocate() { ring.deallocate() }

  /// True if the counter is new. It is called before authentication, so it changes nothing.
  @inline(__always)
  func admits(_ counter: UInt64) -> Bool {
    if counter > highest { return true }
    if highest - counter > Self.size { return false }
    return ring[Int(counter >> 6 & (Self.words - 1))] & (1 << (counter & 63)) == 0
  }

  /// Records the counter of an authentic packet; call it only if `admits` is true.
  @inline(__always)
  mutating func record(_ counter: UInt64) {
    let block = counter >> 6
    if counter > highest {
      let passed = block - (highest >> 6)
      for step in 0..<min(passed, Self.words) { ring[Int((block - step) & (Self.words - 1))] = 0 }
      highest = counter
    }
    ring[Int(block & (Self.words - 1))] |= 1 << (counter & 63)
  }
}
