internal import ControlProtocol
internal import NetworkTypes
internal import RoamwardCore

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
    return brings || isLeft ? Set(supervisors.values.filter(\.machine.isRunning).compactMap(\.linkName)) : nil
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
    contest.see(.init(desired), isSatisfied: open.isEmpty, rival: rival(observation), at: world.now())
    if let step = changeToVerify, open.contains(step) {
      contest.failed(because: "`\(step)` was accepted, and does not show", at: world.now())
    }
    changeToVerify = nil
  }

  private func rival(_ observation: Observation) -> String? {
    guard case .file(let text) = observation.state.resolvConf, !observation.state.resolvConf.isOurs else { return nil }
    return ResolvConfWords(parsing: text).writer
  }

  /// Somebody has written the resolver's file: the agent, or another. Where ours stood, that does not wait for the network to settle: names of a tunnel
  /// would be asked elsewhere meanwhile.
  package func resolverFileChanged(isOurs: Bool) {
    if !isOurs, settledState?.resolvConf != nil { damaged() } else { networkChanged() }
  }

  /// Whether it has to wait: for the change before it, or for the end of a pause.
  func isResolverHeldBack(_ step: Step) -> Bool {
    step.isOfResolver && (resolverChange != nil || !contest.mayAct(at: world.now()))
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
    return StatusReport.Resolver(
      backend: "\(choice.backend)", because: choice.because, splits: choice.splits,
      candidates: choice.candidates.map { .init(backend: $0.name, isChosen: $0.isChosen, because: $0.because) })
  }
}

extension TunnelPolicy {
  fileprivate var bringsServers: Bool { !dnsInForce.servers.isEmpty }
}
