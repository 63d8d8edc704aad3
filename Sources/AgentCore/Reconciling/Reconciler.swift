package import ControlProtocol
import KernelModel
internal import NetworkTypes
internal import PolicySource
package import RoamwardCore

/// The one converging loop. Whatever happens only wakes it; then it looks at the machine anew, decides, plans, applies and looks again.
///
/// There is no second path by which anything is changed, so start-up, a lost event, a repaired route and a new network are the same case.
package final class Reconciler {
  let world: World
  private let settle: Duration
  /// Told of everything that happens, for logs and monitors.
  package var tell: (Event.Kind) -> Void = { _ in }
  /// Told why it wakes, and for which tunnel, for the log.
  package var tellOfWake: (WakeReason, String?) -> Void = { _, _ in }

  private(set) var inForce = PoliciesInForce()
  var policies: PolicySet { inForce.set }
  var observation: Observation?
  private(set) var observedAt = Moment(nanoseconds: 0)
  /// The network as the host's own sources see it; the observation's own snapshot has what probes found as well.
  private(set) var underlay = NetworkSnapshot()
  var deliberation = Deliberation()
  var supervisors: [String: TunnelSupervisor] = [:]
  private(set) var notes: [Remark] = []
  var guarding = GuardMachine()
  var toldFirewall = FirewallStatus()
  /// What was last recorded as blocked; `nil`: nothing was recorded yet, not even that nothing is blocked.
  var recordedBlocking: FirewallStatus??
  var isObservationStale = true
  /// What the machines have still to be told about the network below.
  var underlayEvent: TunnelMachine.Event?
  var settleUntil: Moment?
  var pace = Pace()
  /// How often what others undo is put right.
  var repairPace = RepairPace()
  var repairAt: Moment?
  var repairTally = RepairTally()
  /// What the agent made last, and has not seen changed by itself since; `nil` before the first look.
  var applied: AppliedState?
  /// What was wanted when everything was last so.
  var settledState: DesiredState?
  /// The other VPNs of this machine.
  var others = OtherVPNs()
  /// Routes of the network that would lead past our tunnels, of the last look.
  var claims: [RouteClaim]?
  /// The machine could not be looked at, so often in a row; it is left alone until then.
  private var failedLooks = 0
  var blindUntil: Moment?
  /// The network that it is on, with all that was learnt about it.
  private(set) var network = NetworkIdentity.none
  private var path = UnderlayPath(NetworkSnapshot())
  /// The families whose path has changed since the machines were told.
  private var changedPaths: Set<IPAddress.Family> = []
  var counters = StatusReport.Counters()
  private var gatewayInquiry = GatewayInquiry()
  private var firstEventAt: Moment?
  /// Since when the network has been as it is; `nil`: since before the agent looked.
  private var changedAt: Moment?
  /// What it waits for though nothing happens, and what it last woke for.
  var deadlines: [Deadline] = []
  var lastWake: Deadline?
  var polling = Polling()
  var toldStates: [String: String] = [:]
  var toldFailures: [String: ToldFailure] = [:]
  var toldTimers: [String: [TunnelTimer]] = [:]
  private(set) var isPassing = false
  /// What closes the firewall when this network is left; and that it has been done since the last look.
  var stepOnLeaving: Step?
  var hasClosedInAdvance = false
  var isPassDue = false
  private(set) var isStopping = false
  /// Commands of an earlier agent are being ended. Until then no policy is in force.
  var isRecovering = false
  var whenStopped: (() -> Void)?
  /// Programs of tunnels that are still ending then are cut short: whatever their time-outs say, a stop takes no more than five seconds.
  var cutAt: Moment?
  private static let patienceAtStop = Duration.seconds(4)
  /// How long a clean-up waits for resolvconf, which may wait for its own lock for 10 s. No agent comes after it that would finish the change.
  static let patienceAtCleanUp = Duration.seconds(15)
  private(set) var isCleaningUp = false
  private(set) var stopBegan: Moment?
  private var sleepClock = SleepClock()
  private var wokeAt: Moment?
  var retryAt: Moment?
  var linksBeingStarted = Set<String>()
  var contest = ResolverContest()
  /// A change that another program is making now.
  var resolverChange: Step?
  var resolverDueAt: Moment?
  /// One that it has made: it has to show.
  var changeToVerify: Step?
  /// What last carried each tunnel.
  var devices: [String: DeviceIdentity] = [:]

  /// An answer waits for a network that is just settling.
  private(set) lazy var prober = Prober(world: world, check: connectivityCheck) { [weak self] in
    if let self, settleUntil == nil { pass() }
  }
  private let connectivityCheck: ConnectivityCheck?

  /// `connectivityCheck`: how to find out about the internet, where the administrator has said so.
  package init(world: World, settle: Duration, connectivityCheck: ConnectivityCheck? = nil) {
    self.world = world
    self.settle = settle
    self.connectivityCheck = connectivityCheck
  }

  // MARK: What wakes it

  /// Loads the policies and makes the first pass; finishes or removes what an earlier agent left.
  package func start() {
    deliberation = Deliberation(holds: world.journal.holds())
    // What a killed agent has left goes first: a handshake of its time would prove nothing.
    observe()
    if case .table(_, _, isGuarding: true) = observation?.state.firewall { guarding.beganGuarded = true }
    converge()
    isRecovering = true
    endLeftOverCommands { [weak self] in
      self?.isRecovering = false
      self?.policiesChanged()
    }
  }

  /// Removes leftover state of an earlier agent, except what its kill switch blocks. Starts nothing.
  package func cleanUp(then done: @escaping () -> Void) {
    isCleaningUp = true
    endLeftOverCommands { [weak self] in self?.stop(then: done) }
  }

  /// The kernel or a watched file of facts has changed. The pass comes a settle time after the first of several changes.
  package func networkChanged() {
    noteWake(.networkEvent)
    isObservationStale = true
    let now = world.now()
    // The first event begins the wait; more of them do not put it off.
    let begun = settleUntil
    if begun == nil { firstEventAt = now }
    if begun == nil || hasClosedInAdvance { glance(at: now) }
    let settle = ([self.settle] + policies.tunnels.compactMap(\.onDemand.timing.settle)).min() ?? self.settle
    settleUntil = begun ?? pace.look(after: settle, at: now)
    // Without a time to settle there is nothing to wait for.
    if let until = settleUntil, until <= now { pass() } else { schedule() }
  }

  /// A kill switch that is open on this network alone does not wait for the next one to settle: where the machine has left, it closes at once, and
  /// the rules have their say later.
  private func glance(at now: Moment) {
    guard !isPassing, !isStopping, guarding.isOpenHereAlone(policies, holds: deliberation.holds),
      hasClosedInAdvance || pace.looksAtOnce(at: now)
    else { return }
    isPassing = true
    let before = guardedSetups.map(\.isGuarding)
    observe()
    if hasClosedInAdvance || guardedSetups.map(\.isGuarding) != before { converge() }
    hasClosedInAdvance = false
    isPassing = false
    isObservationStale = true
    tellOfFirewall()
  }

  /// Facts that were asked for are there. The network is as it was, so there is nothing to settle.
  package func factsCame() {
    noteWake(.facts)
    isObservationStale = true
    pass()
  }

  /// The machine has woken from sleep: the network may be another, and sessions may be dead even if it is not.
  package func woke() {
    _ = sleepClock.hasSlept(world.timeAsleep())
    noteSleep()
    pass()
  }

  /// Whether it has slept since this was asked last.
  func noticeSleep() -> Bool {
    guard sleepClock.hasSlept(world.timeAsleep()) else { return false }
    noteSleep()
    return true
  }

  /// Two witnesses, systemd-logind and the clocks, may tell of the same sleep.
  private func noteSleep() {
    let now = world.now()
    if let last = wokeAt, now < last + .seconds(5) { return }
    noteWake(.sleep)
    wokeAt = now
    isObservationStale = true
    underlayEvent = underlayEvent ?? .slept
    prober.wake()
  }

  /// Policy files, or files that they name, have changed.
  package func policiesChanged() {
    noteWake(.policies)
    let news = inForce.take(world.loadPolicies())
    // The rules have not been judged on this network either.
    if news.isFirst, !isStopping { guarding.leaveNetwork(policies, holds: deliberation.holds) }
    tell(.policy(generation: inForce.generation, errors: news.errors, warnings: news.warnings))
    for line in news.fallback { warn(Remark(.policyRefused, line)) }
    isObservationStale = true
    pass()
  }

  /// Takes every tunnel down, and calls back when nothing of ours is left. `keepingBlock`: except what kill switches block now, for the next agent.
  package func stop(keepingBlock: Bool = false, then done: @escaping () -> Void) {
    isStopping = true
    guarding.isHandedOver = keepingBlock
    whenStopped = done
    stopBegan = world.now()
    cutAt = world.now() + Self.patienceAtStop
    pass()
  }

  /// Moves machines; what they bring about waits for the pass that has to follow.
  func beforePass(_ body: () -> Void) {
    let wasPassing = isPassing
    isPassing = true
    body()
    isPassing = wasPassing
  }

  // MARK: The pass

  /// One convergence. An event that comes in the middle of it, from a callback, is taken up at its end.
  func pass() {
    guard !isPassing else {
      isPassDue = true
      return
    }
    isPassing = true
    _ = noticeSleep()
    var rounds = 0
    repeat {
      rounds += 1
      if isObservationStale { observe() }
      // What was seen until here is judged in this round.
      isPassDue = false
      probe()
      let running = orderedSupervisors.filter { $0.machine.isRunning }
      decide()
      tellOfUnderlay(running)
      for supervisor in orderedSupervisors { drive(supervisor) { $0.learn(self.observation?.snapshot.primaryLink) } }
      // What was told may have begun sessions anew; the handshakes seen before are not theirs.
      if isObservationStale { observe() }
      converge()
    } while isPassDue && rounds < 16
    isPassing = false
    prepareToLeave()
    tellOfFirewall()
    finishStopping()
    beginSampling()
    tellOfTimers()
    tellOfRepairs()
    schedule()
  }

  /// What policies and holds need; a hold that ends with the network tells networks apart by their gateways.
  private var neededFacts: Set<FactKind> {
    let isHeld = deliberation.holds.values.contains { if case .network = $0.lifetime { true } else { false } }
    return isHeld ? policies.neededFacts.union([.gatewayMAC]) : policies.neededFacts
  }

  func observe(for extra: Set<FactKind> = []) {
    guard blindUntil.map({ $0 <= world.now() }) ?? true else {
      settleUntil = nil
      return
    }
    isObservationStale = false
    settleUntil = nil
    blindUntil = nil
    counters.observations += 1
    let need = Need(
      facts: neededFacts.union(extra), tables: supervisors.values.map { Ownership.tables.lowerBound + $0.slot }.sorted(),
      everywhere: observation == nil,
      wireGuardLinks: supervisors.values.filter { $0.policy.provider.isWireGuard }.compactMap(\.linkName).sorted(),
      foreignLinks: supervisors.values.filter { !$0.policy.provider.isWireGuard }.compactMap(\.linkName).sorted(), firewall: firewallNeed,
      resolverLinks: resolverLinks)
    var new: Observation
    do throws(WorldError) {
      new = try world.observe(need)
      retryAt = nil
    } catch {
      return lookAgainLater(because: error)
    }
    failedLooks = 0
    let old = observation?.snapshot
    underlay = new.snapshot
    prober.attach(to: underlay)
    new.snapshot = prober.machine.complete(underlay, probes: policies.probes)
    observation = new
    noteOthers()
    observedAt = world.now()
    if let (gateway, link) = gatewayInquiry.next(on: new.snapshot, needed: need.facts, at: observedAt) {
      world.resolveNeighbour(gateway, link)
    }
    guard new.snapshot != old else { return }
    underlayChanged(from: old ?? NetworkSnapshot(), to: new.snapshot)
  }

  /// The last observation stands; the machine is asked again soon, and less and less eagerly: 50 ms to a second. Tables that change under every
  /// read are told of when they keep doing so; anything else is told of at once.
  private func lookAgainLater(because error: WorldError) {
    failedLooks += 1
    if failedLooks == (error.isTransient ? 3 : 1) {
      warn(Remark(.trouble, "the machine cannot be observed: \(error); it is tried again every second"))
    }
    isObservationStale = true
    blindUntil = world.now() + min(.seconds(1), .milliseconds(50) * (1 << min(failedLooks - 1, 5)))
  }

  private func underlayChanged(from old: NetworkSnapshot, to new: NetworkSnapshot) {
    if !new.isSameButForTime(as: old) {
      tell(.snapshot(new.json))
      changedAt = firstEventAt
      // The kernel need not tell of it once more.
      isPassDue = true
    }
    let (before, after) = (network, NetworkIdentity(of: new))
    if before.isSame(as: after) {
      network.learn(after)
    } else {
      network = after
      guarding.leaveNetwork(policies, holds: deliberation.holds)
    }
    if !before.isSame(as: after) || before.type != network.type {
      let primary = new.primaryLink
      tell(.network(link: primary?.name, type: primary?.type.value?.rawValue, ssid: primary?.ssid.value??.description))
    }
    let path = UnderlayPath(new, after: self.path)
    let changed = path.families(differingFrom: self.path)
    self.path = path
    guard !changed.isEmpty else { return }
    changedPaths.formUnion(changed)
    deliberation.restartWaits()
    if counters.observations > 1 { contest.networkChanged(at: world.now()) }
    underlayEvent = new.primaryLink == nil ? .underlayLost : .underlayChanged
    isPassDue = true
  }

  /// After the rules have had their say: a tunnel that is not wanted on the new network need not be asked whether it works there, and one
  /// that was started on it knows it already.
  private func tellOfUnderlay(_ running: [TunnelSupervisor]) {
    guard let event = underlayEvent else { return }
    underlayEvent = nil
    defer { changedPaths = [] }
    for supervisor in running {
      // The other family's path is not this tunnel's.
      if event == .underlayChanged, let families = supervisor.endpointFamilies, families.isDisjoint(with: changedPaths) { continue }
      drive(supervisor) { $0.handle(event, on: self.observation?.snapshot.primaryLink) }
    }
  }

  private func decide() {
    let snapshot = observation?.snapshot ?? NetworkSnapshot()
    counters.evaluations += 1
    let holds = deliberation.holds
    tellOfEndedHolds(deliberation.endHolds(at: world.wallClock(), on: network))
    if deliberation.holds != holds { world.journal.saveHolds(deliberation.holds) }
    _ = guarding.endRelease(at: world.wallClock(), on: network)
    // To have no network is to have just left one.
    if !isStopping, network.isNone { guarding.leaveNetwork(policies, holds: deliberation.holds) }
    closeNeedlessPortal()
    for policy in policies.tunnels { makeSupervisor(for: policy) }
    let verdicts = deliberation.deliberate(on: policies, snapshot, changed: changedAt, at: world.now(), time: world.wallClock()) {
      [supervisors] name in
      supervisors[name]?.isWanted ?? false
    }
    for verdict in verdicts {
      let name = verdict.policy.name
      let decision = verdict.decision
      if verdict.isNews {
        tell(
          .decision(
            tunnel: name, outcome: decision.outcome.rawValue, rule: decision.rule?.index, name: decision.rule?.name,
            reason: decision.code, because: decision.reason))
      }
      guard let supervisor = supervisors[name] else { continue }
      let intent = isStopping ? .down : verdict.intent
      let isSettling = intent == .unchanged && [.connect, .disconnect].contains(decision.outcome)
      guarding.note(
        isStopping ? .down : verdict.guarding, isPending: !isStopping && (decision.outcome == .pending || isSettling),
        isOnline: isStopping || !network.isNone, of: name)
      drive(supervisor) { $0.want(intent, on: snapshot.primaryLink, usedSlots: self.usedSlots) }
    }
    removeSupervisorsWithoutPolicy()
  }

  func noteProblems(_ problems: [Remark]) {
    for problem in problems where !notes.contains(problem) { warn(problem) }
    notes = problems
  }

  func warn(_ remark: Remark) { tell(.warning(remark)) }
}
