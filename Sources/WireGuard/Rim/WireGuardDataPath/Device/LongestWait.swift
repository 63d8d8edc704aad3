internal import NetworkTypes

/// A bound on the wait in a queue whose senders do not slow down, on a processor of any speed: where each packet of a second has waited for
/// longer, the next ones are to be dropped unopened until one has not. A burst, or what came while this thread did not run, drops nothing.
struct LongestWait {
  /// Nanoseconds.
  static let limit: UInt64 = 100_000_000
  /// The time that the queue may stand, in nanoseconds.
  static let patience: UInt64 = 1_000_000_000

  /// The moment since which each packet has waited for longer than the limit; 0 if the last one did not.
  private var since: UInt64 = 0

  /// Call for each batch with the shortest wait in it, in nanoseconds. True if the batch is to be dropped.
  mutating func isExceeded(by wait: UInt64, at now: Moment) -> Bool {
    guard wait > Self.limit else {
      since = 0
      return false
    }
    if since == 0 { since = now.nanoseconds }
    return now.nanoseconds >= since &+ Self.patience
  }
}
