import NetworkTypes
import RoamwardCore

/// The schedule of observations: after the network has settled, soon after a failed one, and at most ten a second. Pure: no clock.
struct ObservationSchedule {
  /// Whether the last observation may be outdated.
  var isStale = true
  /// The end of the settle time after a change; `nil`: the network has settled. Until then no look lets rules act on the network, whatever
  /// it is made for, except for tunnels that start at once.
  private(set) var settleUntil: Moment?
  /// The next look for a change that cannot wait for the network to settle.
  private var lookAt: Moment?
  /// The next attempt after a failed step.
  private(set) var retryAt: Moment?
  /// The next attempt after a failed observation.
  private var blindUntil: Moment?
  private var failedLooks = 0
  /// The next attempt to write notes.
  private var notesAt: Moment?
  private var failedNotes = 0
  private var rate = ObservationRateLimit()

  var deadlines: [(WakeReason, Moment?)] {
    [(.networkSettled, settleUntil), (.observation, lookAt), (.observation, blindUntil), (.retry, retryAt), (.retry, notesAt)]
  }

  /// Handles a network change. Several changes share the settle time of the first one, at `begun`. Returns whether to observe now.
  mutating func networkChanged(settle: Duration, begun: Moment?, at now: Moment) -> Bool {
    isStale = true
    let until = begun ?? rate.look(after: settle, at: now)
    settleUntil = until
    return until <= now
  }

  /// Handles a change that cannot wait for the network to settle. Returns whether to observe now.
  mutating func changedByOthers(at now: Moment) -> Bool {
    isStale = true
    let at = rate.look(after: .zero, at: now)
    if now < at { lookAt = at }
    return at <= now
  }

  /// Records that a report has shown a change of our own objects: a separate pass handles it.
  mutating func reportShowedChange(at now: Moment) { (isStale, lookAt) = (true, now) }

  /// Records that tunnels start before the network has settled, by an observation that has just been made.
  mutating func startsAtOnce() { isStale = false }

  /// Whether an additional observation is allowed at once.
  mutating func looksAtOnce(at now: Moment) -> Bool { rate.looksAtOnce(at: now) }

  /// Whether an observation is allowed that may start tunnels before the network has settled: half of all, because damage cannot wait.
  mutating func looksForStarts(at now: Moment) -> Bool { rate.looksAtOnce(at: now, reserve: ObservationRateLimit.looksPerSecond / 2) }

  /// Begins an observation; returns false while the back-off lasts.
  mutating func begin(at now: Moment) -> Bool {
    if let until = settleUntil, until <= now { settleUntil = nil }
    lookAt = nil
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
