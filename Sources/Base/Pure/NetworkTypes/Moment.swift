/// A reading of a clock that never steps and goes on while the machine sleeps (CLOCK_BOOTTIME of clock_gettime(2)).
public struct Moment: Hashable, Sendable, Comparable {
  /// Nanoseconds since the clock's own start, usually the machine's boot.
  public let nanoseconds: UInt64

  public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

  public static func < (a: Self, b: Self) -> Bool { a.nanoseconds < b.nanoseconds }

  /// The moment later by a duration; a negative one counts as 0.
  public static func + (a: Self, b: Duration) -> Moment {
    let (seconds, attoseconds) = b.components
    return Moment(nanoseconds: a.nanoseconds &+ UInt64(max(0, seconds)) &* 1_000_000_000 &+ UInt64(max(0, attoseconds) / 1_000_000_000))
  }

  /// The duration from `b` to `a`; negative if `a` is earlier.
  public static func - (a: Self, b: Self) -> Duration {
    .nanoseconds(Int64(truncatingIfNeeded: a.nanoseconds) &- Int64(truncatingIfNeeded: b.nanoseconds))
  }
}

extension Duration {
  /// Whole milliseconds, rounded towards zero.
  package var milliseconds: Int64 { components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000 }
}
