internal import ControlProtocol
internal import KernelModel
internal import NetworkTypes
internal import RoamwardCore

/// What others undo, and what they route beside our tunnels.
extension Reconciler {
  /// Something of ours has been changed by somebody else. That does not wait for the network to settle.
  package func damaged() {
    noteWake(.damage)
    isObservationStale = true
    let now = world.now()
    let at = pace.look(after: .zero, at: now)
    if at <= now { return pass() }
    settleUntil = settleUntil.map { min($0, at) } ?? at
    schedule()
  }

  /// Takes in what the last look shows of what the agent has made.
  func follow(_ observation: Observation, towards desired: DesiredState) {
    if applied == nil { applied = AppliedState(observation.state) }
    applied?.follow(observation.state, towards: desired)
  }

  /// Outside, and what is done there beside the steps of a plan is known to be the agent's own.
  var worldOfTunnels: World {
    var world = self.world
    world.renewSessions = { [weak self, renew = world.renewSessions] link, device in
      let failure = renew(link, device)
      if failure == nil { self?.applied?.take(.configureWireGuard(link: link, device)) }
      return failure
    }
    return world
  }

  /// The steps to make now: without repairs of what is fought over, until their time comes.
  func pacingRepairs(_ steps: [Step]) -> [Step] {
    guard let applied, !steps.isEmpty else { return steps }
    let paced = repairPace.pace(steps, after: applied, at: world.now())
    repairAt = [repairAt, paced.nextRepair].compactMap { $0 }.min()
    counters.repairs += paced.repairs.count
    repairTally.add(paced.repairs, at: world.now())
    return paced.steps
  }

  /// Publishes an event for each burst of repairs that is over.
  func tellOfRepairs() {
    for (subject, count) in repairTally.takeEnded(at: world.now()) {
      let tunnel = subject.link.flatMap { link in orderedSupervisors.first { $0.linkName == link }?.policy.name }
      tell(.repair(tunnel: tunnel, reason: subject.reason, count: count))
    }
  }

  /// Of contests that go on, and of routes from the network that would lead past a tunnel; those that are over are forgotten.
  var notesOfOthers: [Remark] {
    let contested = repairPace.contested(at: world.now())
    return (contested.map { repairPace.words(for: $0) } + others.collisions + pushedClaims).map { Remark(.conflict, $0) }
  }

  var underlayFit: UnderlayFit {
    UnderlayFit(
      observation?.snapshot ?? NetworkSnapshot(), isReversePathStrict: observation?.state.isReversePathStrict ?? false, others: others,
      resolver: resolverChoice)
  }

  /// Takes in what the last look shows of other VPNs.
  func noteOthers() {
    guard let kernel = observation?.state.kernel else { return }
    others = OtherVPNs(in: kernel, ownLinks: Set(supervisors.values.compactMap(\.linkName)))
    claims = nil
  }

  private var pushedClaims: [String] {
    guard let kernel = observation?.state.kernel else { return [] }
    let setups = guardedSetups.filter { $0.level == .full }
    if setups.isEmpty { return [] }
    let found = claims ?? routeClaims(on: setups, in: kernel, underlayFit).filter(\.isNews)
    claims = found
    return found.map(\.description)
  }
}
