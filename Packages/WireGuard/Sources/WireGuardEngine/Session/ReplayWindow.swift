/// Which of the last 8128 counters have come in (RFC 6479): a ring of bits that moves a word at a time. Its owner frees it.
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

  /// Whether the counter is new; asked before the packet is known to be authentic, so nothing changes.
  @inline(__always)
  func admits(_ counter: UInt64) -> Bool {
    if counter > highest { return true }
    if highest - counter > Self.size { return false }
    return ring[Int(counter >> 6 & (Self.words - 1))] & (1 << (counter & 63)) == 0
  }

  /// Notes the counter of an authentic packet; call only where `admits` is true.
  @inline(__always)
  mutating func note(_ counter: UInt64) {
    let block = counter >> 6
    if counter > highest {
      let passed = block - (highest >> 6)
      for step in 0..<min(passed, Self.words) { ring[Int((block - step) & (Self.words - 1))] = 0 }
      highest = counter
    }
    ring[Int(block & (Self.words - 1))] |= 1 << (counter & 63)
  }
}
