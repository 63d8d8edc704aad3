import KernelModel
import NetworkTypes
import RoamwardCore

/// What the agent has made, what others undo of it, and when that is put right again. Pure: no clock.
struct RepairSchedule {
  /// What the agent made last, and has not seen changed by itself since; `nil` before the first look.
  private var applied: AppliedState?
  /// What was wanted when everything was last so.
  var settled: DesiredState?
  private var backoff = RepairBackoff()
  private(set) var repairAt: Moment?
  private var tally = RepairTally()

  func deadlines(at now: Moment) -> [(WakeReason, Moment?)] {
    [(.repair, repairAt), (.contestOver, backoff.endOfContests(at: now)), (.repairsOver, tally.nextDeadline)]
  }

  /// Takes in what a look shows of what the agent has made.
  mutating func follow(_ observed: ObservedState, towards desired: DesiredState) {
    if applied == nil { applied = AppliedState(observed) }
    applied?.follow(observed, towards: desired)
  }

  mutating func made(_ steps: [Step]) { for step in steps { applied?.take(step) } }

  /// The steps to make now: without repairs of what is fought over, until their time comes. Gives how many of them are repairs, too.
  mutating func admit(_ steps: [Step], at now: Moment) -> (steps: [Step], repairs: Int) {
    guard let applied, !steps.isEmpty else { return (steps, 0) }
    let admitted = backoff.admit(steps, after: applied, at: now)
    repairAt = [repairAt, admitted.nextRepair].compactMap { $0 }.min()
    tally.add(admitted.repairs, at: now)
    return (admitted.steps, admitted.repairs.count)
  }

  mutating func repairIsDue() { repairAt = nil }

  /// Bursts of repairs that are over.
  mutating func takeEnded(at now: Moment) -> [(subject: RepairBackoff.Subject, count: Int)] { tally.takeEnded(at: now) }

  /// Contests that go on.
  func text(at now: Moment) -> [String] { backoff.contested(at: now).map { backoff.text(for: $0) } }
}
