/// Detects from two clocks that the machine has slept. CLOCK_BOOTTIME goes on meanwhile and CLOCK_MONOTONIC does not, so only the time
/// asleep makes their difference grow. It is checked whenever the agent wakes for another reason, and causes no wake-up of its own.
package struct SleepClock: Equatable, Sendable {
  private var asleepSoFar: Duration?

  /// The shortest sleep that counts: shorter ones do not affect sessions, and the two clocks are never read at the same time.
  private static let shortest = Duration.seconds(1)

  package init() {}

  /// Whether the machine has slept since the last call; the first call only stores the value. `asleep`: the difference of the clocks now.
  package mutating func hasSlept(_ asleep: Duration) -> Bool {
    defer { asleepSoFar = asleep }
    return asleepSoFar.map { asleep - $0 >= Self.shortest } ?? false
  }
}
