/// Tells from two clocks that the machine has slept: CLOCK_BOOTTIME goes on meanwhile and CLOCK_MONOTONIC does not, so their difference
/// grows by the time asleep, and by nothing else. It is looked at whenever the agent wakes for another reason; nothing wakes it for this.
package struct SleepClock: Hashable, Sendable {
  private var asleepSoFar: Duration?

  /// What the sleep of an instant does to sessions is nothing, and two clocks are never read at the same time.
  private static let shortest = Duration.seconds(1)

  package init() {}

  /// `asleep`: the difference of the clocks now. Whether it has grown since the last look; the first look only remembers.
  package mutating func hasSlept(_ asleep: Duration) -> Bool {
    defer { asleepSoFar = asleep }
    return asleepSoFar.map { asleep - $0 >= Self.shortest } ?? false
  }
}
