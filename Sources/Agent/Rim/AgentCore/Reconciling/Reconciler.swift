import ControlProtocol
import KernelModel
import NetworkTypes
import RoamwardCore

/// The one reconcile loop: observe, decide, plan, apply, verify.
///
/// Start-up, a lost event, a repaired route and a new network are the same case. `Agent` starts passes; one that is requested during
/// another starts at its end. One step is applied before a pass: it closes the kill switch when a network is lost (`Agent.networkLost`).
final class Reconciler {
  let platform: Platform
  let announcer: Announcer
  private(set) var state: AgentState
  private let prober: Prober
  private let runner: StepRunner
  private let passes = PassLoop()
  /// Called at the end of each pass.
  var whenPassed: () -> Void = {}

  init(_ platform: Platform, _ announcer: Announcer, check: ConnectivityCheck?) {
    self.platform = platform
    self.announcer = announcer
    state = AgentState(tunnels: TunnelSet(platform), lookups: platform.lookups, controlGroup: platform.machine.controlGroup)
    prober = Prober(platform, check: check)
    runner = StepRunner(platform: platform)
    state.tunnels.surroundings = TunnelSurroundings(
      changed: { [weak self] in self?.lookAgain() }, publish: { [announcer] in announcer.publish(.provider($0, $1)) },
      outerWay: { [tunnels = state.tunnels] in tunnels.outerWay(of: $0) },
      places: { [weak self] in self.map { PlacesInUse($0.state.seen.snapshot) } ?? PlacesInUse() },
      obstacle: { [weak self] tunnel, isOver in self?.state.obstacle(of: tunnel, isOver: isOver) },
      ownAddresses: { [weak self] in Set(self?.state.seen.state?.kernel.addresses.map(\.address.address) ?? []) },
      takePassword: { [weak self] in self?.state.policies.takePassword(of: $0) },
      cause: { [weak self] tunnel in
        guard let self else { return .stopping }
        return state.reason(for: tunnel, at: now, wallClock: wallClock).code
      })
    platform.lookups.whenNeeded = { [weak self] in self?.lookAgain() }
    // A probe's answer waits while the network settles.
    prober.whenAnswered = { [weak self] answer in
      guard let self else { return }
      announcer.countProbe(answer)
      if state.schedule.settleUntil == nil { pass() }
    }
  }

  var now: Moment { platform.clock.now() }
  var wallClock: Timestamp { platform.clock.wallClock() }
  var probes: ProbeMachine { prober.machine }
  var isPassing: Bool { passes.isPassing }

  /// Changes facts or requests outside of a pass.
  func change<Result>(_ body: (inout AgentState) -> Result) -> Result { body(&state) }

  func lookAgain() {
    state.schedule.isStale = true
    pass()
  }

  // MARK: The pass

  func pass() {
    guard passes.begin() else { return }
    _ = recordSleepOfClock()
    state.latestTime.record(wallClock)
    repeat {
      // Before the observation, which subscribes to the events of their links.
      state.tunnels.follow(state.set)
      if state.schedule.isStale { observe() }
      // The round covers everything observed so far.
      passes.beginRound()
      decide()
      if state.schedule.isStale { observe() }
      converge()
    } while passes.hasAnotherRound
    passes.end()
    // A disk with room again is no event.
    state.schedule.followNotes(areBehind: platform.recoveryLog.isBehind(), at: now)
    state.prepareToLeave()
    announcer.follow(&state, at: now, wallClock: wallClock, recordBlocking: platform.recordBlocking)
    if state.stop.mayEnd(isChangingResolver: state.inProgress.resolver != nil), state.isEmpty, let done = state.stop.end() { done() }
    for tunnel in state.tunnels.engaged {
      tunnel.beginSampling()
      tunnel.watchPackets { [weak self] in self?.packetCame(into: tunnel) }
    }
    whenPassed()
  }

  /// Handles the first packet into an armed tunnel: the engine is beginning a session, which its device shows.
  private func packetCame(into tunnel: TunnelSupervisor) {
    recordWake(.packet, of: tunnel.policy.name)
    guard let link = tunnel.linkName, let device = platform.machine.readDevice(link), state.seen.take(device, of: link) else {
      return lookAgain()
    }
    pass()
  }

  /// Makes a pass without decisions: the desired state is applied to the system as observed now. `isNeeded` is called after that.
  func reconverge(within scope: (Step) -> Bool = { _ in true }, afterLook look: () -> Void, if isNeeded: () -> Bool = { true }) {
    passes.beforePass {
      look()
      if isNeeded() { converge(within: scope) }
    }
  }

  /// Drives tunnels; a pass that they request is left to the one that follows.
  func beforePass(_ body: () -> Void) { passes.beforePass(body) }

  /// Samples the peers of connected tunnels, if it is time: no event says that one has stopped answering. All devices are read at one time,
  /// rarely while nothing is sent; `isDue` is called when something is. Returns whether a tunnel is now in doubt, or idle.
  func samplePeers(at now: Moment, isDue: @escaping () -> Void) -> Bool {
    guard let due = state.tunnels.engaged.compactMap(\.nextSample).min(), due <= now else { return false }
    var isInDoubt = false
    beforePass {
      for tunnel in state.tunnels.engaged {
        let event = tunnel.samplePeer()
        if let event { drive(tunnel) { $0.handle(event, on: $1) } }
        isInDoubt = isInDoubt || event != nil
        tunnel.watchQuiet(isDue)
      }
    }
    return isInDoubt
  }

  /// Whether the machine has slept since the last call.
  func recordSleepOfClock() -> Bool {
    guard state.agenda.sleep.hasSlept(platform.clock.timeAsleep()) else { return false }
    recordSleep()
    return true
  }

  func recordSleep() {
    guard state.wake(at: now) else { return }
    recordWake(.sleep)
    prober.wake()
  }

  func recordWake(_ reason: WakeReason, of tunnel: String? = nil) {
    state.agenda.lastWake = Deadline(reason: reason, at: now, tunnel: tunnel)
    announcer.publishWake(reason, tunnel)
  }

  // MARK: Observe

  /// `afterSteps`: the next plan follows at once.
  func observe(for extra: Set<FactKind> = [], afterSteps: Bool = false) {
    guard state.schedule.begin(at: now) else { return }
    var request = state.observationRequest(adding: extra)
    request.followsSteps = afterSteps
    state.agenda.counters.observations += 1
    let new: Observation
    do throws(PlatformError) {
      new = try platform.machine.observe(request)
    } catch {
      guard state.schedule.failed(isTransient: error.isTransient, at: now) else { return }
      return announcer.warn(Remark(.trouble, "the machine cannot be observed: \(error); it is tried again every second"))
    }
    state.schedule.succeeded()
    take(new, by: request)
  }

  func take(_ new: Observation, by request: ObservationRequest) {
    state.looksEverywhere = false
    prober.attach(to: new.snapshot)
    let (machine, probes, links) = (prober.machine, state.set.probes, state.tunnels.linkNames)
    let news = state.seen.take(new, ownLinks: links, at: now) { machine.complete($0, probes: probes) }
    if let (gateway, link) = state.seen.nextInquiry(needed: request.facts) { platform.network.resolveNeighbour(gateway, link) }
    take(news)
  }

  private func take(_ news: ObservedMachine.News) {
    if news.isSnapshot { announcer.publish(.snapshot(state.seen.snapshot.json)) }
    if news.isNetwork { state.killSwitch.machine.leaveNetwork(state.set, overrides: state.decisions.overrides) }
    if news.isDescription { announcer.publish(.network(of: state.seen.snapshot)) }
    // The kernel need not report it again.
    if news.isSnapshot || !news.paths.isEmpty { passes.demandAnotherRound() }
    guard !news.paths.isEmpty else { return }
    state.decisions.restartWaits(hasNetwork: state.seen.snapshot.primaryLink != nil)
    state.isDecisionDue = true
    if state.agenda.counters.observations > 1 { state.resolver.networkChanged(at: now) }
    state.seen.pathNews.pathChanged(news.paths, hasNetwork: state.seen.snapshot.primaryLink != nil)
  }

  // MARK: Decide

  private func decide() {
    state.policies.follow(state.seen.snapshot.users)
    announcer.owners = state.owners
    takeProbeResults()
    prober.want(state.stop.isStopping ? [] : state.decisions.evidence(for: state.set, state.seen.snapshot, at: now))
    takeProbeResults()
    let running = state.tunnels.engaged.filter(\.machine.isRunning)
    let overrides = state.decisions.overrides
    for tunnel in state.endWhatIsOver(wallClock: wallClock) { announcer.publish(.override(tunnel: tunnel, nil, isSaid: false)) }
    if state.decisions.overrides != overrides { platform.recoveryLog.saveOverrides(state.decisions.overrides) }
    state.tunnels.follow(state.set)
    takeOver()
    let orders = state.decide(at: now, wallClock: wallClock, record: announcer.publishPass)
    state.isDecisionDue = false
    for order in orders {
      if order.isNews { announcer.publish(.decision(order)) }
      guard let tunnel = state.tunnels[order.tunnel] else { continue }
      drive(tunnel) { tunnel, underlay in
        if order.isAfterInner { return tunnel.endAfterInner(on: underlay) }
        tunnel.want(order.intent, isReady: order.isReady, on: underlay, usedSlots: self.state.desiredTunnels.usedSlots)
      }
    }
    for tunnel in state.tunnels.withoutPolicy {
      drive(tunnel) { $0.want(.down, isReady: false, on: $1) }
      if tunnel.machine.state == .disconnected { state.forget(tunnel.policy.name) }
    }
    // After the rules: a tunnel that is not wanted on the new network need not be verified there.
    if let news = state.seen.pathNews.take() {
      for tunnel in running where tunnel.isConcerned(by: news) { state.seen.pathNews.postpone(news.event, of: tunnel.policy.name) }
    }
    let due = state.seen.pathNews.takePostponed { !state.decisions.awaitsSettledNetwork($0) }
    for tunnel in running { if let event = due[tunnel.policy.name] { drive(tunnel) { $0.handle(event, on: $1) } } }
    for tunnel in state.tunnels.engaged {
      if let event = tunnel.takeOuterNews() { drive(tunnel) { $0.handle(event, on: $1) } }
    }
    for tunnel in state.tunnels.engaged { drive(tunnel) { $0.learn($1) } }
  }

  /// Takes over the tunnels that the last agent has left. All others of them are leftover state, which the next observation finds.
  private func takeOver() {
    guard let left = state.leftTunnels, state.policies.generation > 0 else { return }
    state.leftTunnels = nil
    let commands = platform.recoveryLog.startedCommands()
    for name in left.outerFirst {
      guard let noted = left.tunnels[name] else { continue }
      guard let tunnel = state.tunnels[name], tunnel.takes(noted, commands[name]) else {
        if let command = commands[name] {
          platform.commands.run(.down, name, command, Ownership.mark) { [platform] _ in platform.recoveryLog.forgetCommand(name) }
        }
        continue
      }
      let link = noted.link.flatMap { state.seen.state?.kernel.link(named: $0) }?.name
      let found = LeftTunnel(
        device: tunnel.policy.provider.isWireGuard ? link.flatMap(platform.machine.readDevice) : nil, hasLink: link != nil,
        command: commands[name], provider: noted.provider)
      let outer = noted.outer.flatMap { state.tunnels[$0] }
      let isOuterSame = noted.outer.map { outer?.machine.isRunning == true && outer?.slot == left.tunnels[$0]?.slot } ?? true
      // It is published with the decision, which follows.
      tunnel.takeOver(noted, found, isOuterSame: isOuterSame, on: state.seen.observation?.snapshot.primaryLink)
    }
    platform.installed.endUnclaimed(Set(left.tunnels.filter { $0.value.provider != nil }.keys))
    state.looksEverywhere = true
    state.schedule.isStale = true
  }

  /// Adds the results of probes to the facts of the host's own sources.
  private func takeProbeResults() {
    let before = state.seen.snapshot
    state.seen.complete(prober.machine.complete(state.seen.hostSnapshot, probes: state.set.probes))
    // A changed reason alone is no event.
    guard state.seen.snapshot != before, state.seen.snapshot.json != before.json else { return }
    announcer.publish(.snapshot(state.seen.snapshot.json))
  }

  /// Drives a tunnel, and publishes its changes.
  func drive(_ tunnel: TunnelSupervisor, _ move: (TunnelSupervisor, LinkFacts?) -> Void) {
    move(tunnel, state.seen.observation?.snapshot.primaryLink)
    announcer.follow(tunnel) { state.reason(for: tunnel, at: now, wallClock: wallClock) }
  }

  // MARK: Plan, apply, verify

  /// Applies the desired state, and reports the results to the tunnels. Ends when no more step can be applied at once.
  private func converge(within scope: (Step) -> Bool = { _ in true }) {
    defer {
      if state.decisions.choose(of: state.set, state.tunnels, at: now) || state.tunnels.isUnfinished { passes.demandAnotherRound() }
    }
    var (hasFailed, hasSkipped, repeats) = (false, false, 0)
    // The tunnels as a verification of the last observation has left them.
    var verified: [TunnelMachine]?
    for _ in 0..<8 {
      guard let before = state.seen.state else { return }
      showTunnels(before)
      guard let work = state.plan(scope, troubles: platform.recoveryLog.troubles(), at: now) else { return }
      announcer.record(work.problems)
      if work.isEmpty, !state.seen.hasNewerDevice, verified == state.tunnels.engaged.map(\.machine) { return }
      let failures = carryOut(work.steps)
      if work.hasAllWays, !failures.contains(where: { state.concernsNames($0.step) }) { state.names.release() }
      if !work.completed.isEmpty { allowQuestions(after: work, failures) }
      // A tunnel is connected only if an observation shows its settings, also one that needs no step.
      if !work.isEmpty || state.seen.hasNewerDevice { observe(afterSteps: !work.isEmpty) }
      // If the link went down or away after the observation, the plan is made again, twice at most; this is no failure.
      if repeats < 2, let after = state.seen.state, failures.contains(where: { $0.step.lostItsLink(between: before, after) }) {
        repeats += 1
        continue
      }
      // The peer of a tunnel has answered: there is more to apply, and the next observation verifies all of it. Once only, because the
      // rounds are counted.
      if !hasSkipped, failures.isEmpty, let after = state.seen.state, moves({ showTunnels(after) }) {
        (verified, hasSkipped) = (nil, true)
        continue
      }
      let isSettled = verify(failures)
      if isSettled && work.isEmpty { return }
      verified = isSettled && failures.isEmpty ? state.tunnels.engaged.map(\.machine) : nil
      if !failures.isEmpty {
        state.schedule.retry(at: now)
        // The state of a failed tunnel is removed at once; further failures, or those of no tunnel, wait.
        if isSettled || hasFailed { return }
        hasFailed = true
      }
    }
    announcer.warn(Remark(.trouble, "the machine is not as wanted after eight rounds; it is looked at again in a second"))
    state.schedule.isStale = true
    state.schedule.retry(at: now)
  }

  /// Tells the name server that tunnels can be asked for whose steps have all been made: a held look-up does not wait for the observation
  /// that verifies them. Not if anything else may have changed since the plan's observation: then only the next one shows where packets go.
  private func allowQuestions(after work: PlannedWork, _ failures: [StepFailure]) {
    var step = work.nameServer
    if failures.isEmpty, !state.schedule.isStale, platform.machine.isAsObserved() {
      for tunnel in work.completed { tunnel.allowQuestions() }
      step = state.progressStep(instead: step)
    }
    if let step, !failures.contains(where: { step.builds(on: $0.step) }) { _ = carryOut([step]) }
  }

  /// Passes the observed state to the tunnels.
  private func showTunnels(_ observed: ObservedState) {
    runner.endMissingLinks(in: observed.kernel, inProgress: state.inProgress.links)
    state.tunnels.recordDevices(in: observed.kernel) { tunnel in drive(tunnel) { $0.loseDevice(on: $1) } }
    for tunnel in state.tunnels.engaged {
      drive(tunnel) { tunnel, _ in tunnel.observe(tunnel.linkName.flatMap { observed.wireGuard[$0] }) }
    }
  }

  /// Applies steps, or starts the program that does. Returns failures, except of name servers: those fail no tunnel.
  func carryOut(_ steps: [Step]) -> [StepFailure] {
    if steps.isEmpty { return [] }
    let outcome = runner.carryOut(steps, isChangingResolver: state.inProgress.resolver != nil, begin: begin)
    state.agenda.counters.steps += outcome.made.count
    state.repairs.made(outcome.made)
    for case .renewSessions(let link, _) in outcome.made { state.tunnels.ordered.first { $0.linkName == link }?.sessionsBegan() }
    for failure in outcome.failures where failure.step.isOfResolver {
      state.resolver.failed(failure.step, reason: failure.reason, at: now)
    }
    return outcome.failures.filter { !$0.step.isOfResolver }
  }

  /// Starts a change by another program. Returns whether it has been made already; otherwise a pass follows at its end.
  private func begin(_ step: Step) -> Bool {
    guard state.inProgress.begin(step) else { return false }
    var (isBegun, isMade) = (false, false)
    platform.machine.begin(step) { [weak self] result in
      guard let self else { return }
      finish(step, result)
      // Before the call has returned, the observation after all steps is still to come.
      if !isBegun, case .success = result { isMade = true } else { lookAgain() }
    }
    isBegun = true
    return isMade
  }

  private func finish(_ step: Step, _ result: Result<Void, PlatformError>) {
    state.inProgress.end(step)
    if step.isOfResolverProgram { state.resolver.finished(step, result, at: now) }
    switch result {
    case .success where step.isOfResolverProgram: state.agenda.counters.steps += 1
    case .success: state.repairs.made([step])
    case .failure(let error):
      guard !step.isOfResolverProgram, let tunnel = state.tunnels.ordered.first(where: { $0.linkName == step.link }) else { break }
      drive(tunnel) { $0.handle(.failed(TunnelFailure(.engineFailed, error.description)), on: $1) }
    }
  }

  /// Reports to each tunnel whether its part is done or has failed. Returns true if none of them moved.
  private func verify(_ failures: [StepFailure]) -> Bool {
    !moves {
      for (tunnel, event) in state.verdicts(failures) { drive(tunnel) { $0.handle(event, on: $1) } }
      for failure in failures {
        announcer.warn(Remark(.stepFailed, of: state.tunnels.owner(of: failure.step)?.policy.name, "\(failure)"))
      }
    }
  }

  /// Whether a tunnel's state changes by this.
  private func moves(_ body: () -> Void) -> Bool {
    let before = state.tunnels.engaged.map(\.machine)
    body()
    return before != state.tunnels.engaged.map(\.machine)
  }
}
