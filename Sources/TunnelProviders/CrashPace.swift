internal import NetworkTypes

/// How long a program that ended by itself has to wait before it is started again: not at all the first time; then, where it ended within half
/// a minute of its start, half a second, and twice as long each time, up to half a minute.
struct CrashPace {
  private static let longest = Duration.seconds(30)

  private var pause = Duration.zero
  private var until: Moment?

  /// It was started at one moment and ended at the other, unasked.
  mutating func note(since start: Moment, at end: Moment) {
    let wasSteady = end - start >= Self.longest
    until = wasSteady ? nil : end + pause
    pause = wasSteady ? .zero : min(Self.longest, max(.milliseconds(500), pause * 2))
  }

  /// `nil` where it may start at once.
  func wait(at now: Moment) -> Duration? { until.flatMap { $0 > now ? $0 - now : nil } }
}
