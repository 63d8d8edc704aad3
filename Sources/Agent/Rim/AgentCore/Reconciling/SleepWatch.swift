import NetworkTypes
import RoamwardCore

/// Detects sleep of the machine. Two sources, systemd-logind and the clocks, may report the same sleep.
struct SleepWatch {
  private var clock = SleepClock()
  private var wokeAt: Moment?

  /// Whether the clocks show sleep since the last call.
  mutating func hasSlept(_ timeAsleep: Duration) -> Bool { clock.hasSlept(timeAsleep) }

  /// Returns whether this sleep is a new one.
  mutating func woke(at now: Moment) -> Bool {
    if let wokeAt, now < wokeAt + .seconds(5) { return false }
    wokeAt = now
    return true
  }
}

extension AgentState {
  /// Handles a wake-up: everything is observed again, and tunnels are verified. Returns whether this sleep is a new one.
  func wake(at now: Moment) -> Bool {
    guard agenda.sleep.woke(at: now) else { return false }
    schedule.isStale = true
    seen.pathNews.slept()
    return true
  }
}
