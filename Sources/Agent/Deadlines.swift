import ControlProtocol
import NetworkTypes
import RoamwardCore

/// When it wakes by itself.
extension Reconciler {
  /// No pass and no poll is due: only samples of connected tunnels are taken.
  package var isAtRest: Bool { passAt == nil && polling.next == nil }

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
        repairTally.nextDeadline,
        blindUntil, cutAt, prober.machine.nextDeadline,
        underlayEvent.map { _ in now }, deliberate, resolverDueAt,
      ]
      + supervisors.values.flatMap { [$0.machine.nextDeadline, $0.nextQuestion] }
    passAt = deadlines.compactMap { $0 }.min()
    let awaiting = orderedSupervisors.filter(\.machine.state.isAwaitingAnswer)
    polling.await(Dictionary(uniqueKeysWithValues: awaiting.map { ($0.policy.name, $0.machine.state) }), at: now)
    world.wake([passAt, polling.next, nextSample].compactMap { $0 }.min()) { [weak self] in self?.timeHasCome() }
  }

  /// Whether a device that is awaited has an answer, or does not answer itself. A handshake makes no event.
  private func hasNewsOfPeers() -> Bool {
    for supervisor in orderedSupervisors where supervisor.machine.state.isAwaitingAnswer {
      supervisor.askAgain()
      guard let link = supervisor.linkName, observation?.state.wireGuard[link] != nil else { continue }
      counters.polls += 1
      guard let state = world.readDevice(link) else { return true }
      if supervisor.isAnswered(by: state) { return true }
    }
    return false
  }

  func timeHasCome() {
    let now = world.now()
    let hasWork = passAt.map { $0 <= now } ?? false
    let hasSlept = noticeSleep()
    // Only a poll or a sample is due: the devices are asked, and nothing else is.
    if !hasSlept, !samplePeers(at: now), !hasWork, !hasNewsOfPeers() { return schedule() }
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
    // A deadline that passed in sleep is no verdict: the pass handles the sleep first.
    if !hasSlept {
      beforePass {
        for supervisor in orderedSupervisors {
          supervisor.askAgain()
          drive(supervisor) { $0.handle(.tick, on: self.observation?.snapshot.primaryLink) }
        }
      }
    }
    pass()
  }
}
