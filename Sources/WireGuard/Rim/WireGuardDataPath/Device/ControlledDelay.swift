internal import NetworkTypes

/// CoDel (RFC 8289): signals congestion to the senders of a queue in which packets wait too long. One packet is marked, or dropped if its
/// sender does not support ECN. Others follow at shorter and shorter intervals, until a packet has waited for less than the target.
///
/// A queue that empties now and then absorbs bursts and is useful. A standing queue only adds delay. The RFC's defaults, 5 and 100 ms, are
/// for links of a few megabits per second.
struct ControlledDelay {
  /// Smaller packets, such as acknowledgements and voice, are spared: dropping them does not shorten the queue.
  static let smallest = 256
  /// On average at least so many bytes pass between two signals: one full segment in 1,500. A sender that does not slow down at that, such
  /// as BBR, is not told by losing more, and others need no more than that.
  static let spacing = 2 << 20
  /// So many signals may follow one another at once, for example to streams that start together.
  private static let burst = 32

  /// The acceptable waiting time of a packet, in nanoseconds.
  let target: UInt64
  /// The time, in nanoseconds, for which all packets must have exceeded the target. A sender with a longer round-trip time gets more than
  /// one signal before it can react, and slows down once.
  let interval: UInt64

  /// The moment at which all packets have exceeded the target for a whole interval; 0 if the last packet did not exceed it.
  private var due: UInt64 = 0
  private var next: UInt64 = 0
  private var count: UInt64 = 0
  private var isTelling = false
  /// The bytes that have passed and for which there was no signal, at most a burst's.
  private var passed = burst * spacing

  init(target: UInt64, interval: UInt64) {
    self.target = target
    self.interval = interval
  }

  /// Call after each packet or batch that is dequeued, with its waiting time in nanoseconds, or 0 if it leaves the queue empty. True if one
  /// packet is to be marked or dropped now.
  ///
  /// `bytes`: its length. `atLeast`: a longer target, in nanoseconds. `work`: the processing time of the batch before, in nanoseconds. On a
  /// slow machine it is long, and a few batches are not a standing queue. So the interval is at least four times as long.
  @inline(__always)
  mutating func tells(of wait: UInt64, bytes: Int, at now: Moment, atLeast: UInt64 = 0, work: UInt64 = 0) -> Bool {
    let now = now.nanoseconds
    let interval = max(interval, 4 &* work)
    passed = min(passed &+ bytes, Self.burst &* Self.spacing)
    guard wait >= max(target, atLeast) else {
      due = 0
      isTelling = false
      return false
    }
    guard due != 0 else {
      due = now &+ interval
      return false
    }
    guard now >= due, passed >= Self.spacing, tells(at: now, every: interval) else { return false }
    passed &-= Self.spacing
    return true
  }

  private mutating func tells(at now: UInt64, every interval: UInt64) -> Bool {
    if isTelling {
      guard now >= next else { return false }
      count &+= 1
    } else {
      isTelling = true
      // Soon after the last marking phase: continue at about its rate.
      count = count > 2 && now &- next < 16 &* interval ? count &- 2 : 1
      next = now
    }
    next = next &+ UInt64(Double(interval) / Double(count).squareRoot())
    return true
  }
}
