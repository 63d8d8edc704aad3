internal import NetworkTypes

/// The pause before a failing worker is started again: 1, 2, 4 … seconds, a minute at most. A failure long after the last one counts as
/// the first.
struct RestartPause: Equatable, Sendable {
  static let longest = Duration.seconds(60)
  /// A worker that has run for this long since its last failure counts as recovered.
  static let recovered = Duration.seconds(120)

  private var backoff = Backoff(first: .seconds(1), longest: longest)
  private var failedAt: Moment?

  /// Counts a failure. Returns the end of the pause that follows it.
  mutating func fail(at now: Moment) -> Moment {
    if let failedAt, now - failedAt > Self.recovered { backoff.reset() }
    failedAt = now
    return now + backoff.fail()
  }
}
