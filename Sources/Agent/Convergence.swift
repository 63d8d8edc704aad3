internal import ControlProtocol
internal import NetworkTypes
internal import RoamwardCore

extension Reconciler {
  /// Makes the kernel what the machines stand for, and tells them what came of it. Ends when nothing more can be done at once.
  func converge() {
    defer { if orderedSupervisors.contains(where: isReadyToGo) { isPassDue = true } }
    for _ in 0..<8 {
      guard let observation else { return }
      for supervisor in orderedSupervisors {
        drive(supervisor) { $0.hear($0.linkName.flatMap { observation.state.wireGuard[$0] }) }
      }
      let desired = desiredState
      let plan = Plan(from: observation.state, to: desired)
      counters.plans += 1
      judgeResolver(plan, desired)
      let steps = pacingRepairs(plan.steps.filter { !isInProgress($0) && !isResolverHeldBack($0) }, towards: desired)
      noteProblems(desired.notes + plan.conflicts + notesOfOthers + [contest.note].compactMap { $0 })
      if plan.isEmpty { settledState = desired }
      let failures = steps.isEmpty ? [] : takeResolverFailures(execute(steps))
      if !steps.isEmpty { observe() }
      let isSettled = report(failures)
      if isSettled && steps.isEmpty { return }
      if !failures.isEmpty {
        retryAt = world.now() + .seconds(1)
        return
      }
    }
    warn("the machine is not as wanted after eight rounds; it is looked at again in a second")
    isObservationStale = true
    retryAt = world.now() + .seconds(1)
  }

  var desiredState: DesiredState {
    var desired = DesiredState(of: guardedSetups, on: underlayFit, isPortalOpen: guarding.isPortalOpen)
    if generation == 0 { desired.firewall = .asItIs }
    return desired
  }

  /// A userspace device that is being started: nothing about its link can be done until it is there.
  private func isInProgress(_ step: Step) -> Bool { linksBeingStarted.contains { step.needs(link: $0) } }

  private func execute(_ steps: [Step]) -> [StepFailure] {
    var now: [Step] = []
    var postponed = Set<String>()
    for step in steps {
      if case .addWireGuardLink(let link, let engine) = step {
        world.journal.noteLink(link)
        if engine == .userspace {
          postponed.insert(link)
          startUserspaceLink(link)
          continue
        }
      }
      if step.isOfResolverProgram {
        if resolverChange == nil { changeResolver(step) }
        continue
      }
      if !postponed.contains(where: { step.needs(link: $0) }) { now.append(step) }
    }
    let failures = world.apply(now)
    counters.steps += now.count - failures.count
    // From here on its alias says whose it is.
    for case .setAlias(let link, let alias) in now where !failures.contains(where: { $0.step == .setAlias(link: link, alias: alias) }) {
      world.journal.forgetLink(link)
    }
    for case .deleteLink(let link, let engine) in now where !failures.contains(where: { $0.step == .deleteLink(link, engine) }) {
      if engine == .userspace { world.endUserspaceLink(link) }
      world.journal.forgetLink(link)
    }
    return failures
  }

  private func startUserspaceLink(_ link: String) {
    guard linksBeingStarted.insert(link).inserted else { return }
    world.startUserspaceLink(link) { [weak self] failure in
      guard let self else { return }
      linksBeingStarted.remove(link)
      if let failure, let owner = orderedSupervisors.first(where: { $0.linkName == link }) {
        drive(owner) { $0.handle(.failed(because: failure), on: self.observation?.snapshot.primaryLink) }
      }
      isObservationStale = true
      pass()
    }
  }

  /// Tells each machine whether its part is done or cannot be. True when none of them moved.
  private func report(_ failures: [StepFailure]) -> Bool {
    guard let observation else { return true }
    let open = Plan(from: observation.state, to: desiredState)
    let before = orderedSupervisors.map(\.machine)
    for supervisor in orderedSupervisors {
      let own = { (step: Step) in step.concerns(link: supervisor.linkName, table: Ownership.tables.lowerBound + supervisor.slot) }
      let failure = failures.first { own($0.step) }
      drive(supervisor) { supervisor in
        let primary = observation.snapshot.primaryLink
        let obstacle = failure?.description ?? open.obstacles[supervisor.policy.name]
        if let obstacle, supervisor.machine.level > .nothing {
          supervisor.handle(.failed(because: obstacle), on: primary)
        } else if !open.steps.contains(where: own) {
          if supervisor.setup.level == .full, !self.isAwaitingResolver(supervisor) { supervisor.handle(.applied, on: primary) }
          if supervisor.machine.level == .nothing, supervisor.isReleased { supervisor.handle(.removed, on: primary) }
        }
      }
    }
    for failure in failures { warn("\(failure)") }
    return before == orderedSupervisors.map(\.machine)
  }
}
