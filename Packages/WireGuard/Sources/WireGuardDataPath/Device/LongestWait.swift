internal import NetworkTypes

/// A bound on the wait in a queue whose senders do not slow down, on a processor of any speed: what has waited for longer, in a queue that
/// stands for as long, is to be dropped unopened. A single late turn, for example after the machine slept, drops nothing.
struct LongestWait {
  /// Nanoseconds.
  static let limit: UInt64 = 100_000_000

  /// The moment since which each packet has waited for longer than the limit; 0 if the last one did not.
  private var since: UInt64 = 0

  /// Call for each batch with the shortest wait in it, in nanoseconds. True if the batch is to be dropped.
  mutating func isExceeded(by wait: UInt64, at now: Moment) -> Bool {
    guard wait > Self.limit else {
      since = 0
      return false
    }
    if since == 0 { since = now.nanoseconds }
    return now.nanoseconds >= since &+ Self.limit
  }
}
