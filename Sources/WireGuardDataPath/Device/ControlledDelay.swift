internal import NetworkTypes

/// Tells the senders of a queue in which packets wait for too long: one packet is marked, or dropped where its sender does not understand marks,
/// and then another, ever sooner, until one has waited for less than the target.
///
/// A queue that empties now and then takes up bursts, and is of use; one that stands is nothing but delay. This is CoDel (RFC 8289), with a shorter
/// target and interval than its defaults: those are for lines of a few megabits a second.
struct ControlledDelay {
  /// Nanoseconds for which a packet may wait.
  static let target: UInt64 = 500_000
  /// Nanoseconds for which all have to have waited for longer. As long as a round trip may take: a sender must have had the time to react.
  static let interval: UInt64 = 10_000_000
  /// Smaller packets, answers and speech, are no cure: they are spared.
  static let smallest = 256

  /// When all have waited for too long for a whole interval; 0: the last has not.
  private var due: UInt64 = 0
  private var next: UInt64 = 0
  private var count: UInt64 = 0
  private var isTelling = false

  /// After each packet, or batch, that is taken out: for how many nanoseconds it has waited; 0 where it leaves the queue empty. True where one packet
  /// is to be marked or dropped now.
  @inline(__always)
  mutating func tells(of wait: UInt64, at now: Moment) -> Bool {
    let now = now.nanoseconds
    guard wait >= Self.target else {
      due = 0
      isTelling = false
      return false
    }
    guard due != 0 else {
      due = now &+ Self.interval
      return false
    }
    return now >= due && tells(at: now)
  }

  private mutating func tells(at now: UInt64) -> Bool {
    if isTelling {
      guard now >= next else { return false }
      count &+= 1
    } else {
      isTelling = true
      // Not long after the last time: about as often as then.
      count = count > 2 && now &- next < 16 &* Self.interval ? count &- 2 : 1
      next = now
    }
    next = next &+ UInt64(Double(Self.interval) / Double(count).squareRoot())
    return true
  }
}
