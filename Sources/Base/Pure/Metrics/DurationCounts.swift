/// Durations, counted in buckets.
package struct DurationCounts: Hashable, Sendable {
  /// The upper ends of the buckets, in milliseconds. Longer durations are in one more bucket.
  package static let limits: [Int64] = [50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000]

  /// The number of durations in each bucket alone.
  package private(set) var counts: [Int64]
  /// The sum of all.
  package private(set) var milliseconds: Int64

  package init() {
    counts = Array(repeating: 0, count: Self.limits.count + 1)
    milliseconds = 0
  }

  /// Counts as they were kept; `nil`: they are not those of these buckets.
  package init?(counts: [Int64], milliseconds: Int64) {
    guard counts.count == Self.limits.count + 1, counts.allSatisfy({ $0 >= 0 }), milliseconds >= 0 else { return nil }
    self.counts = counts
    self.milliseconds = milliseconds
  }

  package mutating func add(milliseconds duration: Int64) {
    counts[Self.limits.firstIndex { duration <= $0 } ?? Self.limits.count] += 1
    milliseconds += max(0, duration)
  }
}
