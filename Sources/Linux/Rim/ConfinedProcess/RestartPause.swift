package import NetworkTypes

/// The pause before a failing helper is restarted: 1, 2, 4 … seconds, a minute at most. A failure long after the last one counts as the
/// first.
package struct RestartPause: Equatable, Sendable {
  package static let longest = Duration.seconds(60)
  /// A helper that has run for this long since its last failure counts as recovered.
  package static let recovered = Duration.seconds(120)

  private var backoff = Backoff(first: .seconds(1), longest: longest)
  private var failedAt: Moment?
  /// The earliest moment of a restart; `nil`: at any time.
  package private(set) var end: Moment?

  package init() {}

  package mutating func fail(at now: Moment) {
    if let failedAt, now - failedAt > Self.recovered { backoff.reset() }
    failedAt = now
    end = now + backoff.fail()
  }
}
