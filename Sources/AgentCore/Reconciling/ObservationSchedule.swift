import NetworkTypes
import RoamwardCore

/// When the machine is to be observed: after the network has settled, soon after a look that failed, and never more than ten
/// times a second. Pure: no clock.
struct ObservationSchedule {
  /// What was seen last may no longer be so.
  var isStale = true
  /// Something changed: until then it is left to settle.
  private(set) var settleUntil: Moment?
  /// After a step that failed.
  private(set) var retryAt: Moment?
  /// The machine could not be looked at; it is left alone until then.
  private var blindUntil: Moment?
  private var failedLooks = 0
  private var rate = ObservationRateLimit()

  var deadlines: [(WakeReason, Moment?)] { [(.networkSettled, settleUntil), (.observation, blindUntil), (.retry, retryAt)] }

  var isSettling: Bool { settleUntil != nil }

  /// The network has changed. Several changes wait for the time that the first of them, which has `begun` it, needs to settle. Gives
  /// whether it is to be observed now.
  mutating func networkChanged(settle: Duration, begun: Moment?, at now: Moment) -> Bool {
    isStale = true
    let until = begun ?? rate.look(after: settle, at: now)
    settleUntil = until
    return until <= now
  }

  /// What cannot wait for the network to settle. Gives whether it is to be observed now.
  mutating func changedByOthers(at now: Moment) -> Bool {
    isStale = true
    let at = rate.look(after: .zero, at: now)
    if at <= now { return true }
    settleUntil = settleUntil.map { min($0, at) } ?? at
    return false
  }

  /// A report has shown something new: it is acted on in a pass of its own.
  mutating func reportShowedChange(at now: Moment) {
    isStale = true
    settleUntil = settleUntil ?? now
  }

  /// Whether there may be a look at once, besides those that are due.
  mutating func looksAtOnce(at now: Moment) -> Bool { rate.looksAtOnce(at: now) }

  /// Begins a look; false while the machine is left alone.
  mutating func begin(at now: Moment) -> Bool {
    settleUntil = nil
    guard blindUntil.map({ $0 <= now }) ?? true else { return false }
    isStale = false
    blindUntil = nil
    return true
  }

  mutating func succeeded() {
    failedLooks = 0
    retryAt = nil
  }

  /// The last observation stays in force; the machine is asked again soon, and less and less eagerly: 50 ms to a second. Gives whether to
  /// warn: tables that change under every read are reported when they keep doing so, anything else at once.
  mutating func failed(isTransient: Bool, at now: Moment) -> Bool {
    failedLooks += 1
    isStale = true
    blindUntil = now + Backoff(first: .milliseconds(50), longest: .seconds(1)).pause(after: failedLooks)
    return failedLooks == (isTransient ? 3 : 1)
  }

  /// Steps have failed: another attempt follows.
  mutating func retry(at now: Moment) { retryAt = now + .seconds(1) }

  mutating func retryIsDue() { retryAt = nil }
}
