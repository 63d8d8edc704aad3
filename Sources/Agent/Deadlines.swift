import NetworkTypes
import RoamwardCore

/// When it wakes by itself.
extension Reconciler {
  /// The next moment at which something has to be looked at again; with nothing pending, none.
  func schedule() {
    let now = world.now()
    let snapshot = observation?.snapshot ?? NetworkSnapshot()
    let deliberate = deliberation.nextDeadline(of: policies, snapshot, seen: observedAt, at: now, time: world.wallClock())
    let releaseEnd = guarding.release?.lifetime.end.map { now + .seconds(max(0, $0 - world.wallClock())) }
    resolverDueAt = contest.nextDeadline(after: now)
    let deadlines =
      [
        world.trials.current()?.until, releaseEnd, portalLookAt, settleUntil, retryAt, repairAt, repairPace.endOfContests(at: now),
        blindUntil, cutAt, prober.machine.nextDeadline,
        underlayEvent.map { _ in now }, deliberate, resolverDueAt,
      ]
      + supervisors.values.map(\.machine.nextDeadline)
    world.wake((deadlines + [nextPoll(at: now)]).compactMap { $0 }.min()) { [weak self] in self?.timeHasCome() }
  }

  /// While an answer is awaited the device is asked: often at first, then twenty times a second.
  func nextPoll(at now: Moment) -> Moment? {
    guard supervisors.values.contains(where: \.machine.state.isAwaitingAnswer) else {
      awaitingSince = nil
      return nil
    }
    let since = awaitingSince ?? now
    awaitingSince = since
    return now + min(.milliseconds(50), max(.milliseconds(2), (now - since) / 2))
  }

  func timeHasCome() {
    let now = world.now()
    endTrialInTime(at: now)
    cutShort(at: now)
    if resolverDueAt.map({ $0 <= now }) ?? false { isObservationStale = true }
    for until in [settleUntil, blindUntil] { if let until, until <= now { isObservationStale = true } }
    if let at = retryAt, at <= now {
      retryAt = nil
      isObservationStale = true
    }
    if let at = repairAt, at <= now {
      repairAt = nil
      isObservationStale = true
    }
    // A handshake makes no event, and neither does the clock.
    if orderedSupervisors.contains(where: \.machine.state.isAwaitingAnswer) || !policies.timeWindows.isEmpty { isObservationStale = true }
    for supervisor in orderedSupervisors {
      supervisor.askAgain()
      drive(supervisor) { $0.handle(.tick, on: self.observation?.snapshot.primaryLink) }
    }
    pass()
  }
}
