/// Pauses between attempts that double with each failure in a row: `first`, twice that, four times that, up to `longest`.
package struct Backoff: Hashable, Sendable {
  package let first: Duration
  package let longest: Duration
  /// The number of failures in a row.
  private var failures = 0

  package init(first: Duration, longest: Duration) {
    self.first = first
    self.longest = longest
  }

  /// The pause after so many failures in a row; zero after none.
  package func pause(after failures: Int) -> Duration {
    failures < 1 ? .zero : min(longest, first * (1 << min(failures - 1, 20)))
  }

  /// Counts a failure. Returns the pause that follows it.
  package mutating func fail() -> Duration {
    failures += 1
    return pause(after: failures)
  }

  /// Records a success.
  package mutating func reset() { failures = 0 }
}
