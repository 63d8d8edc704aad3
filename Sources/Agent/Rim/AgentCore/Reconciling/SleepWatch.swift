import NetworkTypes
import RoamwardCore

/// Detects sleep of the machine. Two sources, systemd-logind and the clocks, may report the same sleep.
struct SleepWatch {
  private var clock = SleepClock()
  private var wokeAt: Moment?
  private var fall: Fall?

  /// The time from the announcement of a sleep to its end, as far as the tunnels wait for that. logind delays a sleep for 5 s by default.
  private static let longestFall = Duration.seconds(120)

  /// A sleep that was announced and whose end was not.
  private struct Fall {
    /// The tunnels that are down until the machine wakes.
    let tunnels: Set<String>
    let until: Moment
    /// Called once, when they are down.
    var whenDown: (() -> Void)?
  }

  /// Whether the clocks show sleep since the last call.
  mutating func hasSlept(_ timeAsleep: Duration) -> Bool { clock.hasSlept(timeAsleep) }

  /// Returns whether this sleep is a new one.
  mutating func woke(at now: Moment) -> Bool {
    fall = nil
    if let wokeAt, now < wokeAt + .seconds(5) { return false }
    wokeAt = now
    return true
  }

  /// Keeps tunnels down from now on, until the machine wakes. `done`: they are down.
  mutating func fallAsleep(_ tunnels: Set<String>, at now: Moment, then done: @escaping () -> Void) {
    fall = Fall(tunnels: tunnels, until: now + Self.longestFall, whenDown: done)
  }

  /// Whether the tunnel is down until the machine wakes. A sleep that does not come is no reason for ever.
  func keepsDown(_ tunnel: String, at now: Moment) -> Bool { fall.map { now < $0.until && $0.tunnels.contains(tunnel) } ?? false }

  /// The end of the wait for a sleep.
  func deadline(at now: Moment) -> Moment? { fall.flatMap { now < $0.until ? $0.until : nil } }

  /// The completion to call when all of the tunnels are down, once.
  mutating func takeDone(_ isDown: (String) -> Bool) -> (() -> Void)? {
    guard let done = fall?.whenDown, fall?.tunnels.allSatisfy(isDown) ?? false else { return nil }
    fall?.whenDown = nil
    return done
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

/// The disconnects before the machine sleeps.
struct FallingAsleep {
  let reconciler: Reconciler

  /// Takes down the tunnels with `disconnect-on-sleep`. `done`: nothing of them is left, or there are none.
  func begin(then done: @escaping () -> Void) {
    let tunnels = reconciler.state.set.tunnelsDownInSleep
    if tunnels.isEmpty || reconciler.state.stop.isStopping { return done() }
    reconciler.change { $0.agenda.sleep.fallAsleep(tunnels, at: reconciler.now, then: done) }
    reconciler.pass()
  }

  /// Calls back once the tunnels are down that a sleep waits for.
  func report() {
    let state = reconciler.state
    let (tunnels, isChangingResolver) = (state.tunnels, state.inProgress.resolver != nil)
    let done = reconciler.change { state in
      state.agenda.sleep.takeDone { name in
        !isChangingResolver && tunnels[name].map { $0.machine.state == .disconnected && $0.isTornDown } ?? true
      }
    }
    done?()
  }
}
