package import NetworkTypes

/// The delay before a failed helper is restarted: 1, 2, 4 … seconds, at most a minute. A failure long after the previous one counts as the
/// first again.
package struct RestartPause: Hashable, Sendable {
  package static let longest = Duration.seconds(60)
  /// After this time without a failure a helper counts as working.
  package static let recovered = Duration.seconds(120)

  private var backoff = Backoff(first: .seconds(1), longest: longest)
  private var failedAt: Moment?
  /// The earliest time of the next start; `nil`: at any time.
  package private(set) var end: Moment?

  package init() {}

  package mutating func fail(at now: Moment) {
    if let failedAt, now - failedAt > Self.recovered { backoff.reset() }
    failedAt = now
    end = now + backoff.fail()
  }
}
