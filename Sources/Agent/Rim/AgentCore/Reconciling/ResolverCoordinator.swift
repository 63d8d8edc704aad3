import KernelModel
import NetworkTypes
import RoamwardCore

/// Prevents an endless contest with another program over the name servers. Pure: no clock.
struct ResolverCoordinator {
  private var contest = ResolverBackoff()
  /// A change that another program has reported as made: an observation has to confirm it.
  private var changeToVerify: Step?

  /// The next attempt, as of `now`.
  func nextDeadline(at now: Moment) -> Moment? { contest.nextDeadline(after: now) }

  var note: String? { contest.note }

  var isHopeless: Bool { contest.isHopeless }

  func mayAct(at now: Moment) -> Bool { contest.mayAct(at: now) }

  mutating func networkChanged(at now: Moment) { contest.networkChanged(at: now) }

  /// Notes whether the desired name servers are set, and which program may have removed them.
  mutating func follow(
    _ plan: Plan, _ desired: DesiredState, in observed: ObservedState, _ choice: ResolverChoice, bringsServers: Bool, at now: Moment
  ) {
    guard choice.obstacle == nil, !choice.isPending else {
      changeToVerify = nil
      // Resolver programs announce their return, and so do another file or link. A file that becomes writable again is not announced.
      let isSilent = choice.backend == .none && observed.resolver.facts.target == nil
      return isSilent && bringsServers ? contest.obstructed(at: now) : contest.interrupted()
    }
    let open = plan.steps.filter(\.isOfResolver)
    contest.see(.init(desired), isSatisfied: open.isEmpty, rival: observed.resolvConf.rival, at: now)
    if let step = changeToVerify, open.contains(step) {
      contest.failed(reason: "`\(step)` was accepted, and does not show", at: now)
    }
    changeToVerify = nil
  }

  /// Records that another program has made the change, or has failed.
  mutating func finished(_ step: Step, _ result: Result<Void, PlatformError>, at now: Moment) {
    switch result {
    case .success: changeToVerify = step
    case .failure(let error): failed(step, reason: error.description, at: now)
    }
  }

  /// Notes a failure to set name servers. It fails no tunnel: it is reported, and attempts follow with back-off.
  mutating func failed(_ step: Step, reason: String, at now: Moment) {
    contest.failed(reason: reason, isTakingBack: step.stage == .removal, at: now)
  }
}

extension ObservedResolvConf {
  /// The program that wrote the file, if it is not ours.
  fileprivate var rival: String? {
    guard case .file(let text) = self, !isOurs else { return nil }
    return ResolvConfReport(parsing: text).writer
  }
}
