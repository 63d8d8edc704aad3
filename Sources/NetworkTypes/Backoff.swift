/// Pauses between attempts that double with each failure in a row: `first`, twice that, four times that, up to `longest`.
package struct Backoff: Hashable, Sendable {
  package let first: Duration
  package let longest: Duration
  /// In a row, up to now.
  private var failures = 0

  package init(first: Duration, longest: Duration) {
    self.first = first
    self.longest = longest
  }

  /// The pause after so many failures in a row; zero after none.
  package func pause(after failures: Int) -> Duration {
    failures < 1 ? .zero : min(longest, first * (1 << min(failures - 1, 20)))
  }

  /// Counts a failure. Gives the pause that follows it.
  package mutating func fail() -> Duration {
    failures += 1
    return pause(after: failures)
  }

  /// An attempt has worked.
  package mutating func reset() { failures = 0 }
}
