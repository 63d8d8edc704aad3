/// A TAI64N label, 12 bytes that sort as numbers: big-endian seconds, offset by 2^62 and ten leap seconds, and nanoseconds.
///
/// https://cr.yp.to/libtai/tai64.html. The receiver only checks that it increases.
struct Timestamp: Hashable, Comparable, Sendable {
  static let length = 12
  static let zero = Timestamp(seconds: 0, nanoseconds: 0)
  /// A little less than 17 ms, as in the kernel: a finer one would reveal this machine's clock and load to an observer.
  static let granularity: UInt32 = 1 << 24

  let seconds: UInt64
  let nanoseconds: UInt32

  private init(seconds: UInt64, nanoseconds: UInt32) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  /// The next timestamp to send, from the rounded wall clock. If the clock has gone backwards, it is just after the last one sent, because
  /// the peer rejects timestamps that are not later.
  init(_ time: EngineTime, after last: Timestamp) {
    let seconds = (1 << 62) &+ 10 &+ UInt64(bitPattern: time.wallSeconds)
    let now = Timestamp(seconds: seconds, nanoseconds: time.wallNanoseconds / Self.granularity * Self.granularity)
    self = now > last ? now : last.successor
  }

  init(reading source: UnsafeRawPointer) {
    seconds = UInt64(bigEndian: source.loadUnaligned(as: UInt64.self))
    nanoseconds = UInt32(bigEndian: source.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
  }

  func store(to target: UnsafeMutableRawPointer) {
    target.storeBytes(of: seconds.bigEndian, as: UInt64.self)
    target.storeBytes(of: nanoseconds.bigEndian, toByteOffset: 8, as: UInt32.self)
  }

  private var successor: Timestamp {
    let next = nanoseconds &+ Self.granularity
    return next < 1_000_000_000 && next > nanoseconds
      ? Timestamp(seconds: seconds, nanoseconds: next) : Timestamp(seconds: seconds &+ 1, nanoseconds: 0)
  }

  static func < (a: Self, b: Self) -> Bool { (a.seconds, a.nanoseconds) < (b.seconds, b.nanoseconds) }
}
