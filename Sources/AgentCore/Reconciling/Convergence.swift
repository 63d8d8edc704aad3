internal import ControlProtocol
internal import KernelModel
internal import NetworkTypes
internal import RoamwardCore

extension Reconciler {
  /// Makes the kernel what the machines stand for, and tells them what came of it. Ends when nothing more can be done at once.
  func converge() {
    defer { if orderedSupervisors.contains(where: isReadyToGo) { isPassDue = true } }
    var hasFailed = false
    var hasLookedAgain = false
    for _ in 0..<8 {
      guard let observation else { return }
      forgetLinksThatAreGone(observation)
      noteLostDevices(observation)
      for supervisor in orderedSupervisors {
        drive(supervisor) { $0.hear($0.linkName.flatMap { observation.state.wireGuard[$0] }) }
      }
      let desired = desiredState
      let plan = Plan(from: observation.state, to: desired)
      counters.plans += 1
      judgeResolver(plan, desired)
      let possible = plan.steps.filter { !isInProgress($0) && !isResolverHeldBack($0) && !isAwaitingRefusal($0, in: plan) }
      follow(observation, towards: desired)
      let steps = pacingRepairs(possible)
      noteProblems(desired.notes + plan.conflicts + notesOfOthers + troubles)
      if plan.isEmpty { settledState = desired }
      let failures = steps.isEmpty ? [] : takeResolverFailures(execute(steps))
      if !steps.isEmpty { observe() }
      // Somebody took the link down between the look and the step: that is no failure, but another machine to plan for. Once, then it counts.
      if !hasLookedAgain, failures.contains(where: { hasGoneDown($0.step, since: observation) }) {
        hasLookedAgain = true
        continue
      }
      let isSettled = report(failures)
      if isSettled && steps.isEmpty { return }
      if !failures.isEmpty {
        retryAt = world.now() + .seconds(1)
        // What a tunnel that could not be finished has made goes at once; what then fails again, or is nobody's, waits.
        if isSettled || hasFailed { return }
        hasFailed = true
      }
    }
    warn(Remark(.trouble, "the machine is not as wanted after eight rounds; it is looked at again in a second"))
    isObservationStale = true
    retryAt = world.now() + .seconds(1)
  }

  /// What keeps name servers from being applied, and notes from being kept.
  private var troubles: [Remark] {
    [contest.note].compactMap { $0 }.map { Remark(.dnsLimited, $0) } + world.journal.troubles().map { Remark(.trouble, $0) }
  }

  var desiredState: DesiredState {
    var desired = DesiredState(of: guardedSetups, on: underlayFit, portal: portalWindow)
    if inForce.generation == 0 {
      desired.firewall = .asItIs
      if let state = observation?.state, !isStopping { desired.keepRefusal(of: state) }
    }
    return desired
  }

  /// A userspace device that is being started: nothing about its link can be done until it is there.
  private func isInProgress(_ step: Step) -> Bool { linksBeingStarted.contains { step.needs(link: $0) } }

  private func execute(_ steps: [Step]) -> [StepFailure] {
    var now: [Step] = []
    var postponed = Set<String>()
    var forResolver: [Step] = []
    for step in steps {
      if case .addWireGuardLink(let link, let engine) = step {
        world.journal.noteLink(link)
        if engine == .userspace {
          postponed.insert(link)
          startUserspaceLink(link)
          continue
        }
      }
      if case .addDummyLink(let link) = step { world.journal.noteLink(link) }
      if step.isOfResolverProgram {
        forResolver.append(step)
        continue
      }
      if !postponed.contains(where: { step.needs(link: $0) }) { now.append(step) }
    }
    // What is taken back from a program comes before all else, what it is given after.
    if let step = forResolver.first(where: { $0.stage == .removal }), resolverChange == nil { changeResolver(step) }
    let failures = apply(now)
    let isFree = { (step: Step) in step.stage != .removal && !failures.contains { step.builds(on: $0.step) } }
    if let step = forResolver.first(where: isFree), resolverChange == nil { changeResolver(step) }
    for case .deleteLink(let link, .userspace) in now where !failures.contains(where: { $0.step == .deleteLink(link, .userspace) }) {
      world.endUserspaceLink(link)
    }
    return failures
  }

  private func hasGoneDown(_ step: Step, since before: Observation) -> Bool {
    guard case .addRoute(let route) = step, let link = route.link else { return false }
    return before.state.kernel.link(named: link)?.isUp == true && observation?.state.kernel.link(named: link)?.isUp == false
  }

  /// Stage by stage, so that no packet is led where something is missing: what builds on a step that failed is not made (docs/security.md, "Order").
  func apply(_ steps: [Step]) -> [StepFailure] {
    var failures: [StepFailure] = []
    var rest = steps[...]
    while let stage = rest.first?.stage {
      let batch = rest.prefix { $0.stage == stage }
      rest = rest.dropFirst(batch.count)
      let free = batch.filter { step in !failures.contains { step.builds(on: $0.step) } }
      if free.isEmpty { continue }
      let failed = world.apply(free)
      counters.steps += free.count - failed.count
      for step in free where !failed.contains(where: { $0.step == step }) { applied?.take(step) }
      failures += failed
    }
    return failures
  }

  /// A tunnel whose device has gone, or is another one, is not what it was: its machine is told.
  private func noteLostDevices(_ observation: Observation) {
    for supervisor in orderedSupervisors {
      let name = supervisor.policy.name
      let device = supervisor.linkName.flatMap { observation.state.kernel.link(named: $0)?.device }
      if supervisor.setup.level == .full, let before = devices[name], before != device {
        drive(supervisor) { $0.loseDevice(on: observation.snapshot.primaryLink) }
      }
      devices[name] = supervisor.setup.level > .nothing ? device : nil
    }
  }

  /// A note is there from before the link is made until the link, and what ran it, is gone.
  private func forgetLinksThatAreGone(_ observation: Observation) {
    for link in world.journal.unfinishedLinks().sorted()
    where !linksBeingStarted.contains(link) && observation.state.kernel.link(named: link) == nil {
      world.endUserspaceLink(link)
      world.journal.forgetLink(link)
    }
  }

  private func startUserspaceLink(_ link: String) {
    guard linksBeingStarted.insert(link).inserted else { return }
    world.startUserspaceLink(link) { [weak self] failure in
      guard let self else { return }
      linksBeingStarted.remove(link)
      if failure == nil { applied?.take(.addWireGuardLink(link, .userspace)) }
      if let failure, let owner = orderedSupervisors.first(where: { $0.linkName == link }) {
        drive(owner) { $0.handle(.failed(TunnelFailure(.engineFailed, failure)), on: self.observation?.snapshot.primaryLink) }
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
        let obstacle = failure.map { TunnelFailure(.stepFailed, $0.description) } ?? open.obstacles[supervisor.policy.name]
        if let obstacle, supervisor.machine.level > .nothing {
          supervisor.handle(.failed(obstacle), on: primary)
        } else if !open.steps.contains(where: own) {
          if supervisor.setup.level == .full, !self.isAwaitingResolver(supervisor) { supervisor.handle(.applied, on: primary) }
          if supervisor.machine.level == .nothing, supervisor.isReleased { supervisor.handle(.removed, on: primary) }
        }
      }
    }
    for failure in failures {
      let owner = orderedSupervisors.first { failure.step.concerns(link: $0.linkName, table: Ownership.tables.lowerBound + $0.slot) }
      warn(Remark(.stepFailed, of: owner?.policy.name, "\(failure)"))
    }
    return before == orderedSupervisors.map(\.machine)
  }
}
