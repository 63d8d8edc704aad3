import NetworkTypes
import RoamwardCore

/// Whether the machine has slept. Two witnesses, systemd-logind and the clocks, may report the same sleep.
struct SleepWatch {
  private var clock = SleepClock()
  private var wokeAt: Moment?

  /// By the clocks, since this was asked last.
  mutating func hasSlept(_ timeAsleep: Duration) -> Bool { clock.hasSlept(timeAsleep) }

  /// Gives whether the sleep is news.
  mutating func woke(at now: Moment) -> Bool {
    if let wokeAt, now < wokeAt + .seconds(5) { return false }
    wokeAt = now
    return true
  }
}

extension AgentState {
  /// The machine has slept: everything is looked at anew, and tunnels prove themselves. Gives whether the sleep is news.
  mutating func wake(at now: Moment) -> Bool {
    guard agenda.sleep.woke(at: now) else { return false }
    schedule.isStale = true
    seen.pathNews.slept()
    return true
  }
}
