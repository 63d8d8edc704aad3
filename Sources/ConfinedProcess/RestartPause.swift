package import NetworkTypes

/// How long a helper that fails is left alone: 1, 2, 4 … seconds, a minute at most. A failure that comes long after the
/// one before is the first again.
package struct RestartPause: Hashable, Sendable {
  package static let longest = Duration.seconds(60)
  /// A helper that has worked for so long since its last failure works.
  package static let recovered = Duration.seconds(120)

  private var failures = 0
  private var failedAt: Moment?
  /// Not before this moment; `nil`: at any time.
  package private(set) var end: Moment?

  package init() {}

  package mutating func fail(at now: Moment) {
    if let failedAt, now - failedAt > Self.recovered { failures = 0 }
    failedAt = now
    failures += 1
    end = now + min(Self.longest, .seconds(1 << min(failures - 1, 6)))
  }
}
