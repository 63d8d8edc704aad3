import ControlProtocol
import KernelModel
import NetworkTypes
import RoamwardCore

/// The steps to apply now, and the remarks for people.
struct PlannedWork {
  var steps: [Step]
  var problems: [Remark]
  /// The starting tunnels with watched names for which these steps, and `nameServer`, are all that is left to do.
  var completed: [TunnelSupervisor] = []
  /// Whether every step that packets depend on is among them.
  var hasAllWays = true
  /// The step that changes the name server, where it depends on such a tunnel.
  var nameServer: Step?

  var isEmpty: Bool { steps.isEmpty && nameServer == nil }
}

extension AgentState {
  /// Plans the steps from the observed to the desired state, without those that have to wait. `troubles`: problems with writing notes.
  func plan(_ scope: (Step) -> Bool, troubles: [String], at now: Moment) -> PlannedWork? {
    guard let observed = seen.state else { return nil }
    let desired = desiredState
    let plan = Plan(from: observed, to: desired)
    agenda.counters.plans += 1
    if inProgress.resolver == nil {
      resolver.follow(plan, desired, in: observed, resolverChoice, bringsServers: resolverLinks != nil, at: now)
    }
    // Only a link that is being made holds back routes.
    let areRoutesFree = inProgress.links.isEmpty
    let isPossible = { [self] (step: Step) in
      scope(step) && (step.isOfRoute && areRoutesFree || mayBegin(step, of: plan, observed, at: now))
    }
    let possible = plan.steps.allSatisfy(isPossible) ? plan.steps : plan.steps.filter(isPossible)
    repairs.follow(observed, towards: desired)
    let (steps, repaired) = repairs.admit(possible, at: now)
    agenda.counters.repairs += repaired
    if plan.isEmpty { repairs.settled = desired }
    let conflicts = (repairs.text(at: now) + seen.others.collisions + pushedClaims()).map { Remark(.conflict, $0) }
    let limits = [resolver.note, observed.resolver.shortage].compactMap { $0 }.map { Remark(.dnsLimited, $0) }
    var work = PlannedWork(
      steps: steps, problems: desired.notes + plan.conflicts + conflicts + limits + troubles.map { Remark(.trouble, $0) })
    work.hasAllWays = !names.isWaiting || plan.steps.allSatisfy { !concernsNames($0) || steps.contains($0) }
    if let settings = desired.nameServer { work.completed = completed(settings, by: steps, of: plan) }
    if !work.completed.isEmpty, let step = steps.first(where: \.isOfResolverProgram) {
      work.nameServer = step
      work.steps.removeAll { $0 == step }
    }
    return work
  }

  /// Whether answers that wait for routes wait for this step: what another tunnel lacks does not concern them.
  func concernsNames(_ step: Step) -> Bool { step.isOfWay && tunnels.owner(of: step)?.policyInForce.routesByName != false }

  /// Whether nothing holds the step back now.
  private func mayBegin(_ step: Step, of plan: Plan, _ observed: ObservedState, at now: Moment) -> Bool {
    !inProgress.block(step) && !isHeldBack(step, at: now) && !isAwaitingRefusal(step, in: plan, at: now)
      && !isAwaitingHeir(step, in: plan, observed, at: now) && !step.awaitsNameServer(in: observed) && !isAwaitingDecision(step, observed)
  }

  private func completed(_ settings: NameServerSettings, by steps: [Step], of plan: Plan) -> [TunnelSupervisor] {
    guard !steps.isEmpty, steps.count == plan.steps.count, inProgress.resolver == nil else { return [] }
    // Programs of the resolver make one change at a time.
    let changes = steps.filter(\.isOfResolverProgram)
    guard changes.allSatisfy({ if case .setNameServer = $0 { true } else { false } }), changes.count < 2 else { return [] }
    return settings.watches.compactMap { tunnels[$0.tunnel] }.filter {
      $0.machine.state.isApplying && plan.obstacles[$0.policy.name] == nil
    }
  }

  /// The step that tells the name server which tunnels can be asked for now. `step`: the plan's step for it; `nil`: it has all else.
  func progressStep(instead step: Step?) -> Step? {
    var settings: NameServerSettings
    switch (step, seen.state?.resolver.nameServer) {
    case (.setNameServer(let planned)?, _): settings = planned
    case (_, .running(let observed)?): settings = observed
    default: return nil
    }
    for (place, watch) in settings.watches.enumerated() {
      if let tunnel = tunnels[watch.tunnel] { settings.watches[place].progress = tunnel.setup.progress }
    }
    return .setNameServer(settings)
  }

  private func isHeldBack(_ step: Step, at now: Moment) -> Bool { step.isOfResolver && !resolver.mayAct(at: now) }

  /// Whether the step removes the redirection of names into a tunnel, and has to wait until those names are refused. It does not wait if
  /// the refusal fails.
  private func isAwaitingRefusal(_ step: Step, in plan: Plan, at now: Moment) -> Bool {
    switch step {
    case .deleteLink(let link, _), .revertLinkResolver(let link): if link == Ownership.refusalLink { return false }
    default: return false
    }
    guard let refusal = plan.steps.first(where: { $0.refusesNames }) else { return false }
    return inProgress.resolver != nil || !isHeldBack(refusal, at: now)
  }

  /// Whether the step takes names from a link in systemd-resolved before another one of ours that is to have them has got them: meanwhile
  /// the network's servers would be asked. It does not wait if that fails.
  private func isAwaitingHeir(_ step: Step, in plan: Plan, _ observed: ObservedState, at now: Moment) -> Bool {
    let (from, kept): (String, Set<DomainName>)
    switch step {
    case .deleteLink(let link, _), .revertLinkResolver(let link): (from, kept) = (link, [])
    case .setLinkResolver(let resolver, let link): (from, kept) = (link, Set(resolver.domains.compactMap(\.name)))
    default: return false
    }
    let lost = Set(observed.resolver.links[from]?.domains.compactMap(\.name) ?? []).subtracting(kept)
    if lost.isEmpty { return false }
    var others = plan.steps[...]
    // Links that take names from each other in a circle do not wait for each other: the last of them waits for none.
    if case .setLinkResolver = step { others = others[((others.firstIndex(of: step) ?? -1) + 1)...] }
    let heir = others.first { other in
      guard case .setLinkResolver(let resolver, let link) = other, link != from else { return false }
      return resolver.domains.contains { $0.name.map(lost.contains) ?? false }
    }
    guard let heir else { return false }
    return inProgress.resolver != nil || !isHeldBack(heir, at: now)
  }

  /// Whether the step has our name server ask another network's servers, by decisions of the last network: names that are watched here
  /// would be asked outside. The pass that follows decides.
  private func isAwaitingDecision(_ step: Step, _ observed: ObservedState) -> Bool {
    guard isDecisionDue, !stop.isStopping, case .setNameServer(let settings) = step else { return false }
    if case .running(let present) = observed.resolver.nameServer { return present.place != settings.place }
    return true
  }

  /// Routes of the network that would bypass a tunnel.
  private func pushedClaims() -> [String] {
    guard let kernel = seen.state?.kernel else { return [] }
    let setups = desiredTunnels.setups.filter { $0.level.hasRoutes }
    if setups.isEmpty { return [] }
    let found = seen.derived.claims ?? routeClaims(on: setups, in: kernel, underlayFit).filter(\.isNews)
    seen.derived.claims = found
    return found.map(\.description)
  }

  /// The event for each tunnel's machine after steps were applied: its part is done, or has failed.
  func verdicts(_ failures: [StepFailure]) -> [(tunnel: TunnelSupervisor, event: TunnelMachine.Event)] {
    guard let observed = seen.state else { return [] }
    let open = Plan(from: observed, to: desiredState)
    return tunnels.engaged.flatMap { tunnel -> [(TunnelSupervisor, TunnelMachine.Event)] in
      let failure = failures.first { tunnel.owns($0.step) }.map {
        TunnelFailure($0.step.isOfSessions ? .engineFailed : .stepFailed, $0.description)
      }
      if let obstacle = failure ?? open.obstacles[tunnel.policy.name], tunnel.machine.level > .nothing {
        return [(tunnel, .failed(obstacle))]
      }
      if case .awaitingPeer = tunnel.machine.state, let obstacle = obstacle(of: tunnel) { return [(tunnel, .failed(obstacle))] }
      if open.steps.contains(where: tunnel.owns) { return [] }
      return (tunnel.setup.level > .nothing && !isAwaitingResolver(tunnel) ? [(tunnel, .applied)] : [])
        + (tunnel.machine.level == .nothing && tunnel.isTornDown ? [(tunnel, .removed)] : [])
    }
  }

  /// Whether the tunnel waits for its name servers before it counts as connected. The wait is short: every method has a time limit, and any
  /// result ends it.
  private func isAwaitingResolver(_ tunnel: TunnelSupervisor) -> Bool {
    switch tunnel.machine.state {
    case .applying, .arming(_, _, hasLink: true): break
    default: return false
    }
    return (inProgress.resolver != nil || resolverChoice.isPending) && tunnel.policyInForce.bringsServers
  }

  /// Whether nothing of ours is left, so that the agent may end. Settings that a resolver program does not revert, and files of proxies
  /// that cannot be removed, are reported, and awaited for a limited time.
  var isEmpty: Bool {
    guard let observed = seen.state else { return false }
    let isEmpty = Plan(from: observed, to: desiredState).steps.allSatisfy { $0.mayBeLeft(resolver.isHopeless, isLate: stop.cutAt == nil) }
    return isEmpty && (killSwitch.machine.programs.isEmpty || killSwitch.machine.isHandedOver)
      && tunnels.ordered.allSatisfy { $0.machine.state == .disconnected || stop.handOver.tunnels[$0.policy.name] != nil }
      && inProgress.links.isEmpty
  }
}

extension Step {
  fileprivate var refusesNames: Bool { if case .setLinkResolver(_, Ownership.refusalLink) = self { true } else { false } }

  /// Whether the step may be left out at the end, when other programs prevent it.
  fileprivate func mayBeLeft(_ isResolverHopeless: Bool, isLate: Bool) -> Bool {
    isOfResolver && (isResolverHopeless || isLate) || self == .removeProxies && isLate
  }

  fileprivate var isOfSessions: Bool { if case .renewSessions = self { true } else { false } }
}

extension ObservedState {
  /// Whether programs are led to our own name server.
  fileprivate var leadsToNameServer: Bool {
    if case .file(let text) = resolvConf, resolvConf.isOurs, ResolvConf(parsing: text).namesOwnServer { return true }
    if case .table = nameCapture { return true }
    return resolver.records.values.contains(where: \.namesOwnServer) || resolver.links.values.contains(where: \.namesOwnServer)
  }
}

extension Step {
  /// Whether the step leads programs to our own name server, which does not run yet, or ends it while they are led to it.
  fileprivate func awaitsNameServer(in observed: ObservedState) -> Bool {
    switch self {
    case .writeResolvConf(let file): file.namesOwnServer && observed.resolver.nameServer == .absent
    case .setRecord(let record): record.content.namesOwnServer && observed.resolver.nameServer == .absent
    case .setNameCapture(let capture): !observed.resolver.nameServer.takes(capture)
    case .setLinkResolver(let resolver, _): resolver.namesOwnServer && observed.resolver.nameServer == .absent
    case .stopNameServer: observed.leadsToNameServer
    default: false
    }
  }
}
