package import NetworkTypes

/// How long a helper that fails is left alone: 1, 2, 4 … seconds, a minute at most. A failure that comes long after the
/// one before is the first again.
package struct RestartPause: Hashable, Sendable {
  package static let longest = Duration.seconds(60)
  /// A helper that has worked for so long since its last failure works.
  package static let recovered = Duration.seconds(120)

  private var backoff = Backoff(first: .seconds(1), longest: longest)
  private var failedAt: Moment?
  /// Not before this moment; `nil`: at any time.
  package private(set) var end: Moment?

  package init() {}

  package mutating func fail(at now: Moment) {
    if let failedAt, now - failedAt > Self.recovered { backoff.reset() }
    failedAt = now
    end = now + backoff.fail()
  }
}
