import ControlProtocol
import KernelModel
import NetworkTypes
import RoamwardCore

/// The steps to apply now, and the remarks for people.
struct PlannedWork {
  var steps: [Step]
  var problems: [Remark]
  /// The tunnels for which these steps are all that is left to do.
  var completed: Set<String> = []
}

extension AgentState {
  /// Plans the steps from the observed to the desired state, without those that have to wait. `troubles`: problems with writing notes.
  mutating func plan(_ scope: (Step) -> Bool, troubles: [String], at now: Moment) -> PlannedWork? {
    guard let observed = seen.state else { return nil }
    let desired = desiredState
    let plan = Plan(from: observed, to: desired)
    agenda.counters.plans += 1
    if inProgress.resolver == nil {
      resolver.follow(plan, desired, in: observed, resolverChoice, bringsServers: resolverLinks != nil, at: now)
    }
    let possible = plan.steps.filter {
      scope($0) && !inProgress.block($0) && !isHeldBack($0, at: now) && !isAwaitingRefusal($0, in: plan, at: now)
        && !isAwaitingNameServer($0, observed)
    }
    repairs.follow(observed, towards: desired)
    let (steps, repaired) = repairs.admit(possible, at: now)
    agenda.counters.repairs += repaired
    if plan.isEmpty { repairs.settled = desired }
    let conflicts = (repairs.text(at: now) + seen.others.collisions + pushedClaims()).map { Remark(.conflict, $0) }
    let limits = [resolver.note].compactMap { $0 }.map { Remark(.dnsLimited, $0) }
    var work = PlannedWork(
      steps: steps, problems: desired.notes + plan.conflicts + conflicts + limits + troubles.map { Remark(.trouble, $0) })
    if desired.nameServer?.watches.isEmpty == false { work.completed = tunnelsCompleted(by: steps, of: plan) }
    return work
  }

  private func tunnelsCompleted(by steps: [Step], of plan: Plan) -> Set<String> {
    guard steps.count == plan.steps.count else { return [] }
    return Set(tunnels.ordered.map(\.policy.name).filter { plan.obstacles[$0] == nil })
  }

  /// The step that tells the name server which tunnels can be asked, after these steps; `nil`: it does not run, or takes other settings.
  func progressStep(after steps: [Step]) -> Step? {
    guard inProgress.resolver == nil, case .running(var settings)? = seen.state?.resolver.nameServer else { return nil }
    for case .setNameServer(let new) in steps { settings = new }
    let before = settings
    for (i, watch) in settings.watches.enumerated() {
      if let tunnel = tunnels[watch.tunnel] { settings.watches[i].progress = tunnel.setup.progress }
    }
    return settings == before ? nil : .setNameServer(settings)
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

  /// Whether the step leads programs to our own name server, which does not run yet, or ends it while they are led to it.
  private func isAwaitingNameServer(_ step: Step, _ observed: ObservedState) -> Bool {
    switch step {
    case .writeResolvConf(let file): file.namesOwnServer && observed.resolver.nameServer == .absent
    case .setRecord(let record): record.content.namesOwnServer && observed.resolver.nameServer == .absent
    case .setNameCapture(let capture): !observed.resolver.nameServer.takes(capture)
    case .setLinkResolver(let resolver, _): resolver.namesOwnServer && observed.resolver.nameServer == .absent
    case .stopNameServer: observed.leadsToNameServer
    default: false
    }
  }

  /// Routes of the network that would bypass a tunnel.
  private mutating func pushedClaims() -> [String] {
    guard let kernel = seen.state?.kernel else { return [] }
    let setups = desiredTunnels.setups.filter { $0.level.hasRoutes }
    if setups.isEmpty { return [] }
    let found = seen.claims ?? routeClaims(on: setups, in: kernel, underlayFit).filter(\.isNews)
    seen.claims = found
    return found.map(\.description)
  }

  /// The event for each tunnel's machine after steps were applied: its part is done, or has failed.
  func verdicts(_ failures: [StepFailure]) -> [(tunnel: TunnelSupervisor, event: TunnelMachine.Event)] {
    guard let observed = seen.state else { return [] }
    let open = Plan(from: observed, to: desiredState)
    return tunnels.ordered.flatMap { tunnel -> [(TunnelSupervisor, TunnelMachine.Event)] in
      let failure = failures.first { tunnel.owns($0.step) }.map {
        TunnelFailure($0.step.isOfSessions ? .engineFailed : .stepFailed, $0.description)
      }
      if let obstacle = failure ?? open.obstacles[tunnel.policy.name], tunnel.machine.level > .nothing {
        return [(tunnel, .failed(obstacle))]
      }
      if open.steps.contains(where: tunnel.owns) { return [] }
      return (tunnel.setup.level > .nothing && !isAwaitingResolver(tunnel) ? [(tunnel, .applied)] : [])
        + (tunnel.machine.level == .nothing && tunnel.isReleased ? [(tunnel, .removed)] : [])
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

  /// Whether nothing of ours is left, so that the agent may end. Settings that a resolver program does not revert are reported, and awaited
  /// for a limited time.
  var isEmpty: Bool {
    guard let observed = seen.state else { return false }
    let isEmpty = Plan(from: observed, to: desiredState).steps.allSatisfy { $0.isOfResolver && (resolver.isHopeless || stop.cutAt == nil) }
    return isEmpty && (killSwitch.machine.programs.isEmpty || killSwitch.machine.isHandedOver)
      && tunnels.ordered.allSatisfy { $0.machine.state == .disconnected || stop.handOver.tunnels[$0.policy.name] != nil }
      && inProgress.links.isEmpty
  }
}

extension Step {
  fileprivate var refusesNames: Bool { if case .setLinkResolver(_, Ownership.refusalLink) = self { true } else { false } }

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
