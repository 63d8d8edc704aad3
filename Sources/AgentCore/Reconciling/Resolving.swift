internal import ControlProtocol
package import KernelModel
internal import NetworkTypes
import RoamwardCore

/// Name servers: by whom they are set, and that it does not become a war.
extension Reconciler {
  /// By which way name servers are set on this host now.
  var resolverChoice: ResolverChoice {
    guard let state = observation?.state else { return .file }
    return ResolverChoice(state.resolver.facts, file: state.resolvConf)
  }

  /// Links whose name servers are ours to set; `nil` where no tunnel brings any, and nobody is asked.
  var resolverLinks: Set<String>? {
    let brings = policies.tunnels.contains { $0.bringsServers } || supervisors.values.contains { $0.policy.bringsServers }
    // What was set is still to be taken back.
    let isLeft = resolverChange != nil || observation?.state.resolver.links.contains { !$0.value.isEmpty } ?? false
    let refusals = observation.map { $0.state.kernel.link(named: Ownership.refusalLink) != nil } ?? false ? [Ownership.refusalLink] : []
    return brings || isLeft ? Set(supervisors.values.filter(\.machine.isRunning).compactMap(\.linkName) + refusals) : nil
  }

  /// Notes whether what was wanted is there, and who may have taken it away.
  func judgeResolver(_ plan: Plan, _ desired: DesiredState) {
    guard let observation, resolverChange == nil else { return }
    let choice = resolverChoice
    guard choice.obstacle == nil, !choice.isPending else {
      changeToVerify = nil
      // Whoever can be told comes with a word, and so does another file or link; that this one may be written again does not.
      let isSilent = choice.backend == .none && observation.state.resolver.facts.target == nil
      return isSilent && resolverLinks != nil ? contest.obstructed(at: world.now()) : contest.interrupted()
    }
    let open = plan.steps.filter(\.isOfResolver)
    contest.see(.init(desired), isSatisfied: open.isEmpty, rival: rival(observation.state.resolvConf), at: world.now())
    if let step = changeToVerify, open.contains(step) {
      contest.failed(because: "`\(step)` was accepted, and does not show", at: world.now())
    }
    changeToVerify = nil
  }

  private func rival(_ file: ObservedResolvConf) -> String? {
    guard case .file(let text) = file, !file.isOurs else { return nil }
    return ResolvConfWords(parsing: text).writer
  }

  /// Somebody has written the resolver's file: the agent, or another. Where ours stood, that does not wait for the network to settle: names of a tunnel
  /// would be asked elsewhere meanwhile.
  package func resolverFileChanged(to file: ObservedResolvConf) {
    guard !file.isOurs, let settledState, settledState.resolvConf != nil else { return networkChanged() }
    putBack(settledState, inPlaceOf: file)
    damaged()
  }

  /// On the way to another network a pass begins with looks, decisions and new sessions, and programs read the new network's file meanwhile. So ours is put
  /// back before it, while the tunnel is as it was; what the pass then finds is as good as if it had not been. Counts as any other repair.
  private func putBack(_ settled: DesiredState, inPlaceOf file: ObservedResolvConf) {
    if case .untouchable = file { return }
    guard let wanted = settled.resolvConf, !isStopping, desiredState.resolvConf == wanted, resolverChange == nil else { return }
    contest.see(.init(settled), isSatisfied: false, rival: rival(file), at: world.now())
    guard contest.mayAct(at: world.now()) else { return }
    let failures = world.apply([.writeResolvConf(wanted)])
    if failures.isEmpty { counters.steps += 1 }
    _ = takeResolverFailures(failures)
  }

  /// Whether it has to wait: for the change before it, or for the end of a pause.
  func isResolverHeldBack(_ step: Step) -> Bool {
    step.isOfResolver && (resolverChange != nil || !contest.mayAct(at: world.now()))
  }

  /// Whether it takes away what leads names into a tunnel, and has to wait until they are refused in its place; not where that does not succeed.
  func isAwaitingRefusal(_ step: Step, in plan: Plan) -> Bool {
    switch step {
    case .deleteLink(let link, _), .revertLinkResolver(let link): if link == Ownership.refusalLink { return false }
    default: return false
    }
    guard let refusal = plan.steps.first(where: { $0.refusesNames }) else { return false }
    return !isResolverHeldBack(refusal) || resolverChange != nil
  }

  /// Whether the tunnel waits for its name servers before it counts as connected. Not long: every way is bounded, and whatever comes of it will do.
  func isAwaitingResolver(_ supervisor: TunnelSupervisor) -> Bool {
    guard case .applying = supervisor.machine.state else { return false }
    return (resolverChange != nil || resolverChoice.isPending) && supervisor.policy.bringsServers
  }

  /// Has another program make the change. A pass follows when it has.
  func changeResolver(_ step: Step) {
    resolverChange = step
    var isWithin = true
    world.changeResolver(step) { [weak self] problem in
      guard let self else { return }
      resolverChange = nil
      if let problem {
        contest.failed(because: problem, isTakingBack: step.stage == .removal, at: world.now())
      } else {
        changeToVerify = step
        counters.steps += 1
      }
      isObservationStale = true
      if isWithin { isPassDue = true } else { pass() }
    }
    isWithin = false
  }

  /// Name servers that could not be set are nobody's failure but their own: they are told of, and tried again less and less eagerly.
  func takeResolverFailures(_ failures: [StepFailure]) -> [StepFailure] {
    for failure in failures where failure.step.isOfResolver {
      contest.failed(because: failure.reason, isTakingBack: failure.step.stage == .removal, at: world.now())
    }
    return failures.filter { !$0.step.isOfResolver }
  }

  var resolverReport: StatusReport.Resolver? {
    guard resolverLinks != nil else { return nil }
    let choice = resolverChoice
    var report = StatusReport.Resolver(
      backend: "\(choice.backend)", because: choice.because, splits: choice.splits,
      candidates: choice.candidates.map { .init(backend: $0.name, isChosen: $0.isChosen, because: $0.because) })
    report.refused = desiredState.refusedDomains.map(\.text)
    return report
  }
}

extension Step {
  fileprivate var refusesNames: Bool { if case .setLinkResolver(_, Ownership.refusalLink) = self { true } else { false } }
}

extension TunnelPolicy {
  fileprivate var bringsServers: Bool { !dnsInForce.servers.isEmpty }
}
