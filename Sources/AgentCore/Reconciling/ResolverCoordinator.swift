import KernelModel
import NetworkTypes
import RoamwardCore

/// Name servers: that setting them does not become a war with another program. Pure: no clock.
struct ResolverCoordinator {
  private var contest = ResolverBackoff()
  /// A change that another program has made: it has to show.
  private var changeToVerify: Step?

  /// When it may be tried again, as of `now`.
  func nextDeadline(at now: Moment) -> Moment? { contest.nextDeadline(after: now) }

  var note: String? { contest.note }

  var isHopeless: Bool { contest.isHopeless }

  func mayAct(at now: Moment) -> Bool { contest.mayAct(at: now) }

  mutating func networkChanged(at now: Moment) { contest.networkChanged(at: now) }

  /// Notes whether what was wanted is there, and who may have taken it away.
  mutating func follow(
    _ plan: Plan, _ desired: DesiredState, in observed: ObservedState, _ choice: ResolverChoice, bringsServers: Bool, at now: Moment
  ) {
    guard choice.obstacle == nil, !choice.isPending else {
      changeToVerify = nil
      // A resolver program announces its return, and so does another file or link; that this one may be written again is not announced.
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

  /// Another program has made the change, or has not.
  mutating func finished(_ step: Step, _ result: Result<Void, PlatformError>, at now: Moment) {
    switch result {
    case .success: changeToVerify = step
    case .failure(let error): failed(step, reason: error.description, at: now)
    }
  }

  /// Name servers that could not be set fail no tunnel: they are reported, and tried again less and less eagerly.
  mutating func failed(_ step: Step, reason: String, at now: Moment) {
    contest.failed(reason: reason, isTakingBack: step.stage == .removal, at: now)
  }
}

extension ObservedResolvConf {
  /// Who has written the file, where it is not ours.
  fileprivate var rival: String? {
    guard case .file(let text) = self, !isOurs else { return nil }
    return ResolvConfReport(parsing: text).writer
  }
}
