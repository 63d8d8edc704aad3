package import NetworkTypes

/// How often a restless network is looked at: at once, or when it has settled, but never more than ten times within a second. The last
/// change of a storm always gets its look, for one is granted for after it.
package struct ObservationRateLimit: Hashable, Sendable {
  package static let looksPerSecond = 10

  /// The latest looks, the oldest first.
  private var granted: [Moment] = []

  package init() {}

  /// When to look at a change that is heard of now, and that is left to settle for so long. A change before then needs no look of its own.
  package mutating func look(after settle: Duration, at now: Moment) -> Moment {
    var moment = now + settle
    if granted.count == Self.looksPerSecond { moment = max(moment, granted.removeFirst() + .seconds(1)) }
    granted.append(moment)
    return moment
  }

  /// Whether there may be one at once, besides those that are granted.
  package mutating func looksAtOnce(at now: Moment) -> Bool {
    guard granted.count < Self.looksPerSecond || granted.first.map({ $0 + .seconds(1) <= now }) ?? true else { return false }
    return look(after: .zero, at: now) <= now
  }
}
