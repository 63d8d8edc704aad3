import NetworkTypes
import RoamwardCore

/// The schedule of observations: after the network has settled, soon after a failed one, and at most ten a second. Pure: no clock.
struct ObservationSchedule {
  /// Whether the last observation may be outdated.
  var isStale = true
  /// The settling of the network after a change.
  private var settling = Settling.settled
  /// The next attempt after a failed step.
  private(set) var retryAt: Moment?
  /// The next attempt after a failed observation.
  private var blindUntil: Moment?
  private var failedLooks = 0
  /// The next attempt to write notes.
  private var notesAt: Moment?
  private var failedNotes = 0
  private var rate = ObservationRateLimit()

  /// The phases of a change of the network.
  private enum Settling {
    case settled
    /// The next observation is made at this moment, or when something else asks for one.
    case waiting(until: Moment)
    /// A tunnel has started already. Observations go on, and until this moment no tunnel goes down.
    case starting(until: Moment)
  }

  /// The end of the settle time after a change; `nil`: the network has settled.
  var settleUntil: Moment? {
    switch settling {
    case .settled: nil
    case .waiting(let until), .starting(let until): until
    }
  }

  /// The end of the settle time, if tunnels have started in it.
  var startingUntil: Moment? { if case .starting(let until) = settling { until } else { nil } }

  var deadlines: [(WakeReason, Moment?)] {
    [(.networkSettled, settleUntil), (.observation, blindUntil), (.retry, retryAt), (.retry, notesAt)]
  }

  /// Handles a network change. Several changes share the settle time of the first one, at `begun`. Returns whether to observe now.
  mutating func networkChanged(settle: Duration, begun: Moment?, at now: Moment) -> Bool {
    isStale = true
    let until = begun ?? rate.look(after: settle, at: now)
    wait(until: until)
    return until <= now
  }

  /// Handles a change that cannot wait for the network to settle. Returns whether to observe now.
  mutating func changedByOthers(at now: Moment) -> Bool {
    isStale = true
    let at = rate.look(after: .zero, at: now)
    if at <= now { return true }
    wait(until: settleUntil.map { min($0, at) } ?? at)
    return false
  }

  /// Notes that a report has shown a change: a separate pass handles it.
  mutating func reportShowedChange(at now: Moment) {
    isStale = true
    wait(until: settleUntil ?? now)
  }

  private mutating func wait(until: Moment) {
    if case .starting = settling { settling = .starting(until: until) } else { settling = .waiting(until: until) }
  }

  /// Notes that tunnels start before the network has settled, by an observation that has just been made.
  mutating func startsAtOnce() {
    if let until = settleUntil { settling = .starting(until: until) }
    isStale = false
  }

  /// Whether an additional observation is allowed at once.
  mutating func looksAtOnce(at now: Moment) -> Bool { rate.looksAtOnce(at: now) }

  /// Whether an observation is allowed that may start tunnels before the network has settled: half of all, because damage cannot wait.
  mutating func looksForStarts(at now: Moment) -> Bool { rate.looksAtOnce(at: now, reserve: ObservationRateLimit.looksPerSecond / 2) }

  /// Begins an observation; returns false while the back-off lasts.
  mutating func begin(at now: Moment) -> Bool {
    if startingUntil.map({ $0 <= now }) ?? true { settling = .settled }
    guard blindUntil.map({ $0 <= now }) ?? true else { return false }
    isStale = false
    blindUntil = nil
    return true
  }

  mutating func succeeded() {
    failedLooks = 0
    retryAt = nil
  }

  /// Handles a failed observation: the last one stays in force, and attempts follow after 50 ms up to a second. Returns whether to warn: at
  /// once, except if tables change during every read; that is reported if it persists.
  mutating func failed(isTransient: Bool, at now: Moment) -> Bool {
    failedLooks += 1
    isStale = true
    blindUntil = now + Backoff(first: .milliseconds(50), longest: .seconds(1)).pause(after: failedLooks)
    return failedLooks == (isTransient ? 3 : 1)
  }

  /// Schedules another attempt after failed steps.
  mutating func retry(at now: Moment) { retryAt = now + .seconds(1) }

  /// Follows notes that are not on disk: attempts follow after five seconds up to five minutes, for a disk may stay read-only.
  mutating func followNotes(areBehind: Bool, at now: Moment) {
    guard areBehind else { return (notesAt, failedNotes) = (nil, 0) }
    if let notesAt, notesAt > now { return }
    failedNotes += 1
    notesAt = now + Backoff(first: .seconds(5), longest: .seconds(300)).pause(after: failedNotes)
  }

  mutating func retryIsDue() { retryAt = nil }
}
