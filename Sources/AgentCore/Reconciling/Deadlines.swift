import ControlProtocol
import NetworkTypes
import RoamwardCore

/// A moment at which the agent acts though nothing happens, and why.
struct Deadline: Hashable, Sendable {
  /// What is done when it comes, from the least to the most.
  enum Action: Int, Hashable, Sendable, Comparable {
    case sample, poll
    /// A pass, with the machine as it was seen last.
    case pass
    /// A pass that observes the machine first.
    case look

    static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
  }

  let reason: WakeReason
  let at: Moment
  /// `nil`: it is of no single tunnel.
  var tunnel: String?

  var action: Action {
    switch reason {
    case .sample: .sample
    case .poll: .poll
    case .networkSettled, .observation, .retry, .repair, .resolver, .networkEvent, .facts, .damage, .sleep: .look
    case .contestOver, .repairsOver, .portal, .trial, .suspensionOver, .rules, .probe, .stop, .underlay, .tunnel, .nameServers, .policies:
      .pass
    }
  }
}

/// When it wakes by itself.
extension Reconciler {
  func noteWake(_ reason: WakeReason, of tunnel: String? = nil) {
    lastWake = Deadline(reason: reason, at: world.now(), tunnel: tunnel)
    tellOfWake(reason, tunnel)
  }

  /// No pass and no poll is due: only samples of connected tunnels are taken.
  package var isAtRest: Bool { deadlines.allSatisfy { $0.action == .sample } }

  /// Waits for the first moment at which something has to be looked at again; with nothing pending, for none.
  func schedule() {
    deadlines = openDeadlines(at: world.now())
    world.wake(deadlines.map(\.at).min()) { [weak self] in self?.timeHasCome() }
  }

  private func openDeadlines(at now: Moment) -> [Deadline] {
    let snapshot = observation?.snapshot ?? NetworkSnapshot()
    resolverDueAt = contest.nextDeadline(after: now)
    let awaiting = orderedSupervisors.filter(\.machine.state.isAwaitingAnswer)
    polling.await(Dictionary(uniqueKeysWithValues: awaiting.map { ($0.policy.name, $0.machine.state) }), at: now)
    let moments: [(WakeReason, Moment?)] = [
      (.networkSettled, settleUntil), (.observation, blindUntil), (.retry, retryAt), (.repair, repairAt),
      (.contestOver, repairPace.endOfContests(at: now)), (.repairsOver, repairTally.nextDeadline), (.resolver, resolverDueAt),
      (.portal, portalLookAt), (.trial, world.trials.current()?.until),
      (.suspensionOver, guarding.release?.lifetime.end.map { now + .seconds(max(0, $0 - world.wallClock())) }),
      (.rules, deliberation.nextDeadline(of: policies, snapshot, seen: observedAt, at: now, time: world.wallClock())),
      (.probe, prober.machine.nextDeadline), (.stop, cutAt), (.underlay, underlayEvent.map { _ in now }), (.poll, polling.next),
    ]
    let common = moments.compactMap { reason, at in at.map { Deadline(reason: reason, at: $0) } }
    return common
      + orderedSupervisors.flatMap { supervisor in
        [(WakeReason.tunnel, supervisor.machine.nextDeadline), (.nameServers, supervisor.nextQuestion), (.sample, supervisor.nextSample)]
          .compactMap { reason, at in at.map { Deadline(reason: reason, at: $0, tunnel: supervisor.policy.name) } }
      }
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
    let due = deadlines.filter { $0.at <= now }
    if let first = due.min(by: { $0.at < $1.at }) { noteWake(first.reason, of: first.tunnel) }
    let hasSlept = noticeSleep()
    let action = due.map(\.action).max() ?? .poll
    // Only a poll or a sample is due: the devices are asked, and nothing else is.
    if !hasSlept, !samplePeers(at: now), action < .pass, !hasNewsOfPeers() { return schedule() }
    endTrialInTime(at: now)
    cutShort(at: now)
    if due.contains(where: { $0.reason == .retry }) { retryAt = nil }
    if due.contains(where: { $0.reason == .repair }) { repairAt = nil }
    // A handshake makes no event, and neither does the clock.
    let isAwaiting = orderedSupervisors.contains(where: \.machine.state.isAwaitingAnswer)
    if action == .look || isAwaiting || !policies.timeWindows.isEmpty { isObservationStale = true }
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
