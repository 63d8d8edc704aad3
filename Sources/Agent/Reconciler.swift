package import ControlProtocol
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

  private(set) var loaded = LoadedPolicies()
  private(set) var policies = PolicySet()
  private(set) var generation = 0
  var observation: Observation?
  private var observedAt = Moment(nanoseconds: 0)
  /// The network as the host's own sources see it; the observation's own snapshot has what probes found as well.
  private(set) var underlay = NetworkSnapshot()
  private(set) var deliberation = Deliberation()
  private(set) var supervisors: [String: TunnelSupervisor] = [:]
  private(set) var notes: [String] = []
  var guarding = GuardMachine()
  var toldFirewall = FirewallStatus()
  var isObservationStale = true
  /// What the machines have still to be told about the network below.
  private var underlayEvent: TunnelMachine.Event?
  private var settleUntil: Moment?
  private var pace = Pace()
  /// The machine could not be looked at, so often in a row; it is left alone until then.
  private var failedLooks = 0
  private var blindUntil: Moment?
  /// The network that it is on, with all that was learnt about it.
  private(set) var network = NetworkIdentity.none
  var counters = StatusReport.Counters()
  private var firstEventAt: Moment?
  /// Since when the network has been as it is; `nil`: since before the agent looked.
  private var changedAt: Moment?
  private var awaitingSince: Moment?
  private var toldStates: [String: String] = [:]
  var toldTimers: [String: [TunnelTimer]] = [:]
  private var isPassing = false
  var isPassDue = false
  private(set) var isStopping = false
  private var whenStopped: (() -> Void)?
  private var sleepClock = SleepClock()
  private var wokeAt: Moment?
  var retryAt: Moment?
  var linksBeingStarted = Set<String>()

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
    endLeftOverCommands { [weak self] in self?.policiesChanged() }
  }

  /// Removes whatever an earlier agent left, but for what its firewall holds back, and starts nothing.
  package func cleanUp(then done: @escaping () -> Void) {
    endLeftOverCommands { [weak self] in self?.stop(then: done) }
  }

  /// The kernel or a watched file of facts has changed. The pass comes a settle time after the first of several changes.
  package func networkChanged() {
    isObservationStale = true
    let now = world.now()
    // The first event begins the wait; more of them do not put it off.
    if settleUntil == nil {
      firstEventAt = now
      let settle = ([self.settle] + policies.tunnels.compactMap(\.onDemand.timing.settle)).min() ?? self.settle
      settleUntil = pace.look(after: settle, at: now)
    }
    // Without a time to settle there is nothing to wait for.
    if let until = settleUntil, until <= now { pass() } else { schedule() }
  }

  /// Facts that were asked for are there. The network is as it was, so there is nothing to settle.
  package func factsCame() {
    isObservationStale = true
    pass()
  }

  /// The machine has woken from sleep: the network may be another, and sessions may be dead even if it is not.
  package func woke() {
    _ = sleepClock.hasSlept(world.timeAsleep())
    noteWake()
    pass()
  }

  /// Two witnesses, systemd-logind and the clocks, may tell of the same sleep.
  private func noteWake() {
    let now = world.now()
    if let last = wokeAt, now < last + .seconds(5) { return }
    wokeAt = now
    isObservationStale = true
    underlayEvent = .underlayChanged
    prober.wake()
    for supervisor in orderedSupervisors { supervisor.doubtSessions() }
  }

  /// Policy files, or files that they name, have changed.
  package func policiesChanged() {
    loaded = world.loadPolicies()
    let errors = loaded.diagnostics.count { $0.severity == .error }
    let warnings = loaded.diagnostics.count - errors
    if !loaded.hasErrors {
      policies = loaded.policies
      generation += 1
    }
    tell(.policy(generation: generation, errors: errors, warnings: warnings))
    isObservationStale = true
    pass()
  }

  /// Brings a tunnel up or down by hand, whatever the rules say.
  package func hold(_ tunnel: String, _ request: HoldRequest) throws(RequestError) {
    guard let policy = policies.tunnel(named: tunnel) else { throw noSuchTunnel(tunnel) }
    guard policy.isEnabled || !request.wantsUp else {
      throw RequestError(code: .disabled, message: "\(tunnel) is disabled by its policy (enabled: false, \(policy.location.short))")
    }
    observe(for: request.until == .networkChange ? [.gatewayMAC] : [])
    let now = world.wallClock()
    let lifetime: Hold.Lifetime =
      switch request.until {
      case .networkChange: .network(network)
      case .resume: .resume
      case .seconds(let seconds): .time(now + seconds)
      }
    deliberation.hold(tunnel, Hold(wantsUp: request.wantsUp, since: now, lifetime: lifetime, reason: request.reason))
    world.journal.saveHolds(deliberation.holds)
    tell(.hold(tunnel: tunnel, request, isSaid: true))
    pass()
  }

  /// Ends the hold on one tunnel, or on all.
  package func resume(_ tunnel: String?) throws(RequestError) {
    if let tunnel, policies.tunnel(named: tunnel) == nil { throw noSuchTunnel(tunnel) }
    if tunnel == nil { _ = guarding.close() }
    tellOfEndedHolds(deliberation.resume(tunnel), areSaid: true)
    pass()
  }

  /// Takes every tunnel down, and calls back when nothing of ours is left.
  package func stop(then done: @escaping () -> Void) {
    isStopping = true
    whenStopped = done
    pass()
  }

  // MARK: The pass

  /// One convergence. An event that comes in the middle of it, from a callback, is taken up at its end.
  func pass() {
    guard !isPassing else {
      isPassDue = true
      return
    }
    isPassing = true
    if sleepClock.hasSlept(world.timeAsleep()) { noteWake() }
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
      // What was told may have begun sessions anew; the handshakes seen before are not theirs.
      if isObservationStale { observe() }
      converge()
    } while isPassDue && rounds < 16
    isPassing = false
    tellOfFirewall()
    finishStopping()
    tellOfTimers()
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
      foreignLinks: supervisors.values.filter { !$0.policy.provider.isWireGuard }.compactMap(\.linkName).sorted(), firewall: firewallNeed)
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
    observedAt = world.now()
    guard new.snapshot != old else { return }
    underlayChanged(from: old ?? NetworkSnapshot(), to: new.snapshot)
  }

  /// The last observation stands; the machine is asked again soon, and less and less eagerly: 50 ms to a second. Tables that change under every
  /// read are told of when they keep doing so; anything else is told of at once.
  private func lookAgainLater(because error: WorldError) {
    failedLooks += 1
    if failedLooks == (error.isTransient ? 3 : 1) { warn("the machine cannot be observed: \(error); it is tried again every second") }
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
    if before.isSame(as: after) { network.learn(after) } else { network = after }
    if !before.isSame(as: after) || before.type != network.type {
      let primary = new.primaryLink
      tell(.network(link: primary?.name, type: primary?.type.value?.rawValue, ssid: primary?.ssid.value??.description))
    }
    guard UnderlayPath(old) != UnderlayPath(new) else { return }
    deliberation.restartWaits()
    underlayEvent = new.primaryLink == nil ? .underlayLost : .underlayChanged
    isPassDue = true
  }

  /// After the rules have had their say: a tunnel that is not wanted on the new network need not be asked whether it works there, and one
  /// that was started on it knows it already.
  private func tellOfUnderlay(_ running: [TunnelSupervisor]) {
    guard let event = underlayEvent else { return }
    underlayEvent = nil
    for supervisor in running { drive(supervisor) { $0.handle(event, on: self.observation?.snapshot.primaryLink) } }
  }

  private func decide() {
    let snapshot = observation?.snapshot ?? NetworkSnapshot()
    counters.evaluations += 1
    let holds = deliberation.holds
    tellOfEndedHolds(deliberation.endHolds(at: world.wallClock(), on: network))
    if deliberation.holds != holds { world.journal.saveHolds(deliberation.holds) }
    _ = guarding.endRelease(at: world.wallClock(), on: network)
    for policy in policies.tunnels { makeSupervisor(for: policy) }
    let verdicts = deliberation.deliberate(on: policies, snapshot, changed: changedAt, at: world.now(), time: world.wallClock()) {
      [supervisors] name in
      supervisors[name]?.machine.isWanted ?? false
    }
    for verdict in verdicts {
      let name = verdict.policy.name
      let decision = verdict.decision
      if verdict.isNews {
        tell(.decision(tunnel: name, outcome: decision.outcome.rawValue, rule: decision.rule?.index, because: decision.because))
      }
      guard let supervisor = supervisors[name] else { continue }
      let intent = isStopping ? .down : verdict.intent
      guarding.note(intent, isPending: decision.outcome == .pending, of: name)
      drive(supervisor) { $0.want(intent, on: snapshot.primaryLink, usedSlots: self.usedSlots) }
    }
    removeSupervisorsWithoutPolicy()
  }

  // MARK: Supervisors

  var orderedSupervisors: [TunnelSupervisor] {
    supervisors.values.sorted { ($0.slot, $0.policy.name) < ($1.slot, $1.policy.name) }
  }

  private var usedSlots: Set<UInt32> { Set(supervisors.values.lazy.filter(\.machine.isRunning).map(\.slot)) }

  private func makeSupervisor(for policy: TunnelPolicy) {
    if let existing = supervisors[policy.name] { return existing.update(policy) }
    supervisors[policy.name] = TunnelSupervisor(policy: policy, world: world) { [weak self] in
      self?.isObservationStale = true
      self?.pass()
    }
  }

  private func removeSupervisorsWithoutPolicy() {
    for name in supervisors.keys.sorted() where policies.tunnel(named: name) == nil {
      guard let supervisor = supervisors[name] else { continue }
      drive(supervisor) { $0.want(.down, on: self.observation?.snapshot.primaryLink) }
      if supervisor.machine.state == .disconnected {
        supervisors[name] = nil
        deliberation.forget(name)
        guarding.forget(name)
      }
    }
  }

  /// Whether it is down and only there because another pass has to remove or replace it.
  func isReadyToGo(_ supervisor: TunnelSupervisor) -> Bool {
    supervisor.machine.state == .disconnected && (supervisor.isToBeReplaced || policies.tunnel(named: supervisor.policy.name) == nil)
  }

  /// Moves a machine, and tells of the state that it has come to.
  func drive(_ supervisor: TunnelSupervisor, _ move: (TunnelSupervisor) -> Void) {
    let before = toldStates[supervisor.policy.name] ?? "disconnected"
    move(supervisor)
    let after = supervisor.machine.state.status
    guard before != after else { return }
    toldStates[supervisor.policy.name] = after
    tell(.state(tunnel: supervisor.policy.name, from: before, to: after, because: reason(for: supervisor)))
  }

  /// Why a tunnel is as it is, in a line: the hold, or the rule, or what failed.
  func reason(for supervisor: TunnelSupervisor) -> String {
    if isStopping { return "the agent is stopping" }
    let name = supervisor.policy.name
    guard let policy = policies.tunnel(named: name) else { return "its policy is gone" }
    if !policy.isEnabled { return "disabled by its policy" }
    if let hold = deliberation.holds[name] {
      return "held \(hold.wantsUp ? "up" : "down") by hand \(hold.lifetime.words); `roamward resume` ends it"
    }
    if !policy.onDemand.isEnabled { return "on-demand is off" }
    guard let decision = deliberation.decisions[name] else { return "not decided yet" }
    return decision.rule.map { "rule \($0.index): \(decision.because)" } ?? decision.because
  }

  // MARK: Time

  /// The next moment at which something has to be looked at again; with nothing pending, none.
  private func schedule() {
    let now = world.now()
    let snapshot = observation?.snapshot ?? NetworkSnapshot()
    let deliberate = deliberation.nextDeadline(of: policies, snapshot, seen: observedAt, at: now, time: world.wallClock())
    let releaseEnd = guarding.release?.lifetime.end.map { now + .seconds(max(0, $0 - world.wallClock())) }
    let deadlines =
      [releaseEnd, settleUntil, retryAt, blindUntil, prober.machine.nextDeadline, underlayEvent.map { _ in now }, deliberate]
      + supervisors.values.map(\.machine.nextDeadline)
    world.wake((deadlines + [nextPoll(at: now)]).compactMap { $0 }.min()) { [weak self] in self?.timeHasCome() }
  }

  /// While an answer is awaited the device is asked: often at first, then twenty times a second.
  private func nextPoll(at now: Moment) -> Moment? {
    guard supervisors.values.contains(where: \.machine.state.isAwaitingAnswer) else {
      awaitingSince = nil
      return nil
    }
    let since = awaitingSince ?? now
    awaitingSince = since
    return now + min(.milliseconds(50), max(.milliseconds(2), (now - since) / 2))
  }

  private func timeHasCome() {
    let now = world.now()
    for until in [settleUntil, blindUntil] { if let until, until <= now { isObservationStale = true } }
    if let at = retryAt, at <= now {
      retryAt = nil
      isObservationStale = true
    }
    // A handshake makes no event, and neither does the clock.
    if orderedSupervisors.contains(where: \.machine.state.isAwaitingAnswer) || !policies.timeWindows.isEmpty { isObservationStale = true }
    for supervisor in orderedSupervisors {
      supervisor.askAgain()
      drive(supervisor) { $0.handle(.tick, on: self.observation?.snapshot.primaryLink) }
    }
    pass()
  }

  /// The network as the last pass saw it.
  package var lastSnapshot: NetworkSnapshot { observation?.snapshot ?? NetworkSnapshot() }

  /// The same, with where its facts come from.
  package var lastUnderlay: Underlay { Underlay(snapshot: lastSnapshot, provenance: observation?.provenance ?? Provenance()) }

  /// Files beside the policies that they are made of.
  package var policyDependencies: [String] { loaded.dependencies }

  /// Looks at the machine now, for a report. What it finds is acted on in a pass of its own.
  package func refresh() {
    let before = observation
    observe()
    let isNew = before?.snapshot.isSameButForTime(as: lastSnapshot) != true || before?.state.kernel != observation?.state.kernel
    guard isNew else { return }
    // The kernel need not tell of it once more.
    isObservationStale = true
    settleUntil = settleUntil ?? world.now()
    schedule()
  }

  // MARK: Ends

  private func tellOfEndedHolds(_ tunnels: [String], areSaid: Bool = false) {
    if areSaid, !tunnels.isEmpty { world.journal.saveHolds(deliberation.holds) }
    for tunnel in tunnels { tell(.hold(tunnel: tunnel, nil, isSaid: areSaid)) }
  }

  /// A command that a dead agent had started gets its `down`, before anything else is started.
  private func endLeftOverCommands(then done: @escaping () -> Void) {
    let commands = world.journal.startedCommands().sorted { $0.key < $1.key }
    var open = commands.count
    if open == 0 { return done() }
    for (tunnel, command) in commands {
      world.run(.down, tunnel, command) { [world] _ in
        world.journal.forgetCommand(tunnel)
        open -= 1
        if open == 0 { done() }
      }
    }
  }

  private func finishStopping() {
    guard isStopping, let done = whenStopped, let observation else { return }
    let isEmpty = Plan(from: observation.state, to: desiredState).isEmpty
    guard isEmpty, supervisors.values.allSatisfy({ $0.machine.state == .disconnected }), linksBeingStarted.isEmpty else { return }
    whenStopped = nil
    done()
  }

  func noteProblems(_ problems: [String]) {
    for problem in problems where !notes.contains(problem) { warn(problem) }
    notes = problems
  }

  func warn(_ text: String) { tell(.warning(text)) }

  private func noSuchTunnel(_ name: String) -> RequestError {
    let known = policies.tunnels.map(\.name).joined(separator: ", ")
    return RequestError(code: .noSuchTunnel, message: "no tunnel is named \"\(name)\"; known: \(known.isEmpty ? "none" : known)")
  }
}
