package import NetworkTypes

/// Limits the observations of a network that changes often: at once, or after the settle time, but at most ten within a second. The last
/// change of a burst is always observed, because an observation is granted after it.
package struct ObservationRateLimit: Equatable, Sendable {
  package static let looksPerSecond = 10

  /// The times of the latest observations, the oldest first.
  private var granted: [Moment] = []

  package init() {}

  /// The time to observe a change that is reported now, with this settle time. Further changes before then need no observation of their
  /// own.
  package mutating func look(after settle: Duration, at now: Moment) -> Moment {
    var moment = now + settle
    if granted.count == Self.looksPerSecond { moment = max(moment, granted.removeFirst() + .seconds(1)) }
    granted.append(moment)
    return moment
  }

  /// Whether an observation is allowed at once, besides the granted ones.
  ///
  /// - Parameter reserve: the number of observations that remain allowed within this second, for what is more urgent.
  package mutating func looksAtOnce(at now: Moment, reserve: Int = 0) -> Bool {
    guard granted.count(where: { now < $0 + .seconds(1) }) + reserve < Self.looksPerSecond else { return false }
    return look(after: .zero, at: now) <= now
  }
}
