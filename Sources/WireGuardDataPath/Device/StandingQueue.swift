internal import NetworkTypes

/// Tells the senders of a queue that never runs empty: a packet is marked, or dropped where its sender does not understand marks, and then
/// another, ever sooner, until the queue has been empty once.
///
/// A queue that empties now and then takes up bursts, and is of use; one that stands is nothing but delay. This is CoDel's control law (RFC 8289),
/// but with "was it empty within the last 100 ms" in the place of the time that each packet has waited: neither a TUN device nor a socket tells
/// when a packet came in.
struct StandingQueue {
  /// As long as a round trip may take: a sender must have had the time to react.
  private static let interval: UInt64 = 100_000_000
  /// Smaller packets, answers and speech, are no cure: they are spared.
  static let smallest = 256

  /// Since when it has not been empty; 0: it is.
  private var since: UInt64 = 0
  private var next: UInt64 = 0
  private var count: UInt64 = 0

  /// It is empty at this moment.
  @inline(__always)
  mutating func empty() {
    since = 0
    // A queue that stands again soon is told as often as before, at first.
    count >>= 1
  }

  /// It is not. True where one packet is to be marked or dropped now.
  @inline(__always)
  mutating func stands(at now: Moment) -> Bool {
    let now = now.nanoseconds
    guard since != 0 else {
      since = now
      next = now &+ Self.interval
      return false
    }
    guard now >= next else { return false }
    count &+= 1
    next = now &+ UInt64(Double(Self.interval) / Double(count).squareRoot())
    return true
  }
}
