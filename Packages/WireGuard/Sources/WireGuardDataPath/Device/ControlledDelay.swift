internal import NetworkTypes

/// Tells the senders of a queue in which packets wait for too long: one packet is marked, or dropped where its sender does not understand
/// marks, and then another, ever sooner, until one has waited for less than the target.
///
/// A queue that empties now and then takes up bursts, and is of use; one that stands is nothing but delay. This is CoDel (RFC 8289). Its
/// defaults, 5 and 100 ms, are for lines of a few megabits a second.
struct ControlledDelay {
  /// Smaller packets, answers and speech, are no cure: they are spared.
  static let smallest = 256

  /// Nanoseconds for which a packet may wait.
  let target: UInt64
  /// Nanoseconds for which all have to have waited for longer. A sender whose round trip is longer is told more than once before it
  /// can react, and slows down once.
  let interval: UInt64

  /// When all have waited for too long for a whole interval; 0: the last has not.
  private var due: UInt64 = 0
  private var next: UInt64 = 0
  private var count: UInt64 = 0
  private var isTelling = false

  init(target: UInt64, interval: UInt64) {
    self.target = target
    self.interval = interval
  }

  /// After each packet, or batch, that is taken out: for how many nanoseconds it has waited; 0 where it leaves the queue empty. True where
  /// one packet is to be marked or dropped now.
  ///
  /// `work` is for how many nanoseconds the batch before has been worked on. On a slow machine that is long, and few batches are no queue
  /// that stands: the interval is four times as long at least.
  @inline(__always)
  mutating func tells(of wait: UInt64, at now: Moment, work: UInt64 = 0) -> Bool {
    let now = now.nanoseconds
    let interval = max(interval, 4 &* work)
    guard wait >= target else {
      due = 0
      isTelling = false
      return false
    }
    guard due != 0 else {
      due = now &+ interval
      return false
    }
    return now >= due && tells(at: now, every: interval)
  }

  private mutating func tells(at now: UInt64, every interval: UInt64) -> Bool {
    if isTelling {
      guard now >= next else { return false }
      count &+= 1
    } else {
      isTelling = true
      // Not long after the last time: about as often as then.
      count = count > 2 && now &- next < 16 &* interval ? count &- 2 : 1
      next = now
    }
    next = next &+ UInt64(Double(interval) / Double(count).squareRoot())
    return true
  }
}
