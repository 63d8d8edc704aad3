import KernelModel
import NetworkTypes
import RoamwardCore

/// The applied state, the changes by other programs, and the times of their repairs. Pure: no clock.
struct RepairSchedule {
  /// The state that the agent applied last, unless it has since changed by itself; `nil` before the first observation.
  private var applied: AppliedState?
  /// The desired state at the last moment without drift.
  var settled: DesiredState?
  private var backoff = RepairBackoff()
  private(set) var repairAt: Moment?
  private var tally = RepairTally()

  func deadlines(at now: Moment) -> [(WakeReason, Moment?)] {
    [(.repair, repairAt), (.contestOver, backoff.endOfContests(at: now)), (.repairsOver, tally.nextDeadline)]
  }

  /// Compares an observation with the applied state.
  mutating func follow(_ observed: ObservedState, towards desired: DesiredState) {
    if applied == nil { applied = AppliedState(observed) }
    applied?.follow(observed, towards: desired)
  }

  mutating func made(_ steps: [Step]) { for step in steps { applied?.take(step) } }

  /// The steps to apply now, without repairs that are in back-off; and how many of them are repairs.
  mutating func admit(_ steps: [Step], at now: Moment) -> (steps: [Step], repairs: Int) {
    guard let applied, !steps.isEmpty else { return (steps, 0) }
    let admitted = backoff.admit(steps, after: applied, at: now)
    repairAt = [repairAt, admitted.nextRepair].compactMap { $0 }.min()
    tally.add(admitted.repairs, at: now)
    return (admitted.steps, admitted.repairs.count)
  }

  /// Whether the agent has written a firewall table, and not removed it since.
  var hasFirewall: Bool { applied?.hasFirewall ?? false }

  /// Whether the agent has written a redirection of names, and not removed it since.
  var hasNameCapture: Bool { applied?.hasNameCapture ?? false }

  mutating func repairIsDue() { repairAt = nil }

  /// Bursts of repairs that have ended.
  mutating func takeEnded(at now: Moment) -> [(subject: RepairBackoff.Subject, count: Int)] { tally.takeEnded(at: now) }

  /// Contests that continue.
  func text(at now: Moment) -> [String] { backoff.contested(at: now).map { backoff.text(for: $0) } }
}
