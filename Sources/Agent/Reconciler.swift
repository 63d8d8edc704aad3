package import ControlProtocol
internal import NetworkTypes
internal import PolicySource
package import RoamwardCore

/// The one converging loop. Whatever happens only wakes it; then it looks at the machine anew, decides, plans, applies and looks again.
///
/// There is no second path by which anything is changed, so start-up, a lost event, a repaired route and a new network are the same case.
package final class Reconciler {
  private let world: World
  private let settle: Duration
  /// Told of everything that happens, for logs and monitors.
  package var tell: (Event.Kind) -> Void = { _ in }

  private(set) var loaded = LoadedPolicies()
  private(set) var policies = PolicySet()
  private(set) var generation = 0
  private(set) var observation: Observation?
  private(set) var decisions: [String: Decision] = [:]
  private(set) var holds: [String: Hold] = [:]
  private(set) var supervisors: [String: TunnelSupervisor] = [:]
  private(set) var notes: [String] = []
  private var waits: [String: PendingWait] = [:]
  private var isObservationStale = true
  /// What the machines have still to be told about the network below.
  private var underlayEvent: TunnelMachine.Event?
  private var settleUntil: Moment?
  private var isPassing = false
  private var isPassDue = false
  private var isStopping = false
  private var whenStopped: (() -> Void)?
  private var retryAt: Moment?
  private var linksBeingStarted = Set<String>()

  package init(world: World, settle: Duration) {
    self.world = world
    self.settle = settle
  }

  // MARK: What wakes it

  /// Loads the policies and makes the first pass; finishes or removes what an earlier agent left.
  package func start() {
    endLeftOverCommands { [weak self] in self?.policiesChanged() }
  }

  /// Removes whatever an earlier agent left, and starts nothing.
  package func cleanUp(then done: @escaping () -> Void) {
    endLeftOverCommands { [weak self] in self?.stop(then: done) }
  }

  /// The kernel or a watched file of facts has changed. The pass comes when nothing has changed for the settle time.
  package func networkChanged() {
    isObservationStale = true
    let now = world.now()
    // The first event begins the wait; more of them do not put it off.
    if settleUntil == nil { settleUntil = now + settle }
    schedule()
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

  /// Brings a tunnel up or down by hand, until the network changes or `resume`.
  package func hold(_ tunnel: String, up: Bool) throws(RequestError) {
    guard let policy = policies.tunnel(named: tunnel) else { throw noSuchTunnel(tunnel) }
    guard policy.isEnabled || !up else {
      throw RequestError(code: .disabled, message: "\(tunnel) is disabled by its policy (enabled: false, \(policy.location.short))")
    }
    isObservationStale = true
    observe()
    let identity = NetworkIdentity(of: observation?.snapshot ?? NetworkSnapshot())
    holds[tunnel] = Hold(wantsUp: up, since: world.now(), network: identity)
    tell(.hold(tunnel: tunnel, wants: up ? "up" : "down"))
    pass()
  }

  /// Ends the hold on one tunnel, or on all.
  package func resume(_ tunnel: String?) throws(RequestError) {
    if let tunnel, policies.tunnel(named: tunnel) == nil { throw noSuchTunnel(tunnel) }
    for name in holds.keys.sorted() where tunnel == nil || name == tunnel { endHold(name) }
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
  private func pass() {
    guard !isPassing else {
      isPassDue = true
      return
    }
    isPassing = true
    var rounds = 0
    repeat {
      isPassDue = false
      rounds += 1
      if isObservationStale { observe() }
      let running = orderedSupervisors.filter { $0.machine.isRunning }
      decide()
      tellOfUnderlay(running)
      converge()
    } while isPassDue && rounds < 16
    isPassing = false
    finishStopping()
    schedule()
  }

  private func observe() {
    isObservationStale = false
    settleUntil = nil
    let need = Need(
      ssid: policies.needsSSID, tables: supervisors.values.map { Ownership.tables.lowerBound + $0.slot }.sorted(),
      wireGuardLinks: supervisors.values.filter { $0.policy.provider.isWireGuard }.compactMap(\.linkName).sorted())
    let new: Observation
    do throws(WorldError) {
      new = try world.observe(need)
      retryAt = nil
    } catch {
      // The last observation stands; the machine is asked again soon.
      warn("the machine cannot be observed: \(error)")
      isObservationStale = true
      retryAt = world.now() + .seconds(1)
      return
    }
    let old = observation?.snapshot
    observation = new
    guard new.snapshot != old else { return }
    underlayChanged(from: old ?? NetworkSnapshot(), to: new.snapshot)
  }

  private func underlayChanged(from old: NetworkSnapshot, to new: NetworkSnapshot) {
    let (before, after) = (NetworkIdentity(of: old), NetworkIdentity(of: new))
    if !before.isSame(as: after) || before.type != after.type {
      let primary = new.primaryLink
      tell(.network(link: primary?.name, type: primary?.type.value?.rawValue, ssid: primary?.ssid.value??.description))
    }
    // Being without a network for a while is not being on another one.
    if new.primaryLink != nil {
      for name in holds.keys.sorted() where holds[name]?.holds(on: after) == false { endHold(name) }
    }
    guard UnderlayPath(old) != UnderlayPath(new) else { return }
    waits = [:]
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
    let evaluator = Evaluator(networks: policies.networks)
    let now = world.now()
    for tunnel in policies.tunnels {
      let supervisor = supervisor(for: tunnel)
      let decision = decide(tunnel, evaluator, snapshot, now)
      if decision.tellsApart(from: decisions[tunnel.name]) {
        tell(.decision(tunnel: tunnel.name, outcome: decision.outcome.rawValue, rule: decision.rule?.index, because: decision.because))
      }
      decisions[tunnel.name] = decision
      let intent = isStopping ? .down : Intent(tunnel, decision: decision, hold: holds[tunnel.name])
      drive(supervisor) { $0.want(intent, on: snapshot.primaryLink, usedSlots: self.usedSlots) }
    }
    removeSupervisorsWithoutPolicy()
  }

  /// A pending decision waits as long as its policy allows, then ignorance protects.
  private func decide(_ tunnel: TunnelPolicy, _ evaluator: Evaluator, _ snapshot: NetworkSnapshot, _ now: Moment) -> Decision {
    let decision = evaluator.decide(tunnel, on: snapshot)
    guard decision.outcome == .pending else {
      waits[tunnel.name] = nil
      return decision
    }
    let wait = waits[tunnel.name] ?? PendingWait(deadline: now + tunnel.onDemand.timing.decideWithin)
    waits[tunnel.name] = wait
    return now < wait.deadline ? decision : evaluator.decide(tunnel, on: snapshot, patience: .isOver)
  }

  // MARK: Converging

  /// Makes the kernel what the machines stand for, and tells them what came of it. Ends when nothing more can be done at once.
  private func converge() {
    defer { if orderedSupervisors.contains(where: isReadyToGo) { isPassDue = true } }
    for _ in 0..<8 {
      guard let observation else { return }
      for supervisor in orderedSupervisors {
        drive(supervisor) { $0.hear($0.linkName.flatMap { observation.state.wireGuard[$0] }) }
      }
      let desired = desiredState
      let plan = Plan(from: observation.state, to: desired)
      let steps = plan.steps.filter { !isInProgress($0) }
      noteProblems(desired.notes + plan.conflicts)
      let failures = steps.isEmpty ? [] : execute(steps)
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

  private var desiredState: DesiredState {
    let fit = UnderlayFit(observation?.snapshot ?? NetworkSnapshot())
    return DesiredState(of: orderedSupervisors.map(\.setup), on: fit)
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
      if !postponed.contains(where: { step.needs(link: $0) }) { now.append(step) }
    }
    let failures = world.apply(now)
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
          if supervisor.setup.level == .full { supervisor.handle(.applied, on: primary) }
          if supervisor.machine.level == .nothing, supervisor.isReleased { supervisor.handle(.removed, on: primary) }
        }
      }
    }
    for failure in failures { warn("\(failure)") }
    return before == orderedSupervisors.map(\.machine)
  }

  // MARK: Supervisors

  private var orderedSupervisors: [TunnelSupervisor] {
    supervisors.values.sorted { ($0.slot, $0.policy.name) < ($1.slot, $1.policy.name) }
  }

  private var usedSlots: Set<UInt32> { Set(supervisors.values.lazy.filter(\.machine.isRunning).map(\.slot)) }

  private func supervisor(for tunnel: TunnelPolicy) -> TunnelSupervisor {
    if let existing = supervisors[tunnel.name] {
      existing.update(tunnel)
      return existing
    }
    let new = TunnelSupervisor(policy: tunnel, world: world) { [weak self] in
      self?.isObservationStale = true
      self?.pass()
    }
    supervisors[tunnel.name] = new
    return new
  }

  private func removeSupervisorsWithoutPolicy() {
    for name in supervisors.keys.sorted() where policies.tunnel(named: name) == nil {
      guard let supervisor = supervisors[name] else { continue }
      drive(supervisor) { $0.want(.down, on: self.observation?.snapshot.primaryLink) }
      if supervisor.machine.state == .disconnected {
        supervisors[name] = nil
        decisions[name] = nil
        holds[name] = nil
      }
    }
  }

  /// Whether it is down and only there because another pass has to remove or replace it.
  private func isReadyToGo(_ supervisor: TunnelSupervisor) -> Bool {
    supervisor.machine.state == .disconnected && (supervisor.isToBeReplaced || policies.tunnel(named: supervisor.policy.name) == nil)
  }

  /// Moves a machine, and tells of the state that it has come to.
  private func drive(_ supervisor: TunnelSupervisor, _ move: (TunnelSupervisor) -> Void) {
    let before = toldStates[supervisor.policy.name] ?? "disconnected"
    move(supervisor)
    let after = supervisor.machine.state.status
    guard before != after else { return }
    toldStates[supervisor.policy.name] = after
    tell(.state(tunnel: supervisor.policy.name, from: before, to: after, because: reason(for: supervisor)))
  }

  private var toldStates: [String: String] = [:]

  /// Why a tunnel is as it is, in a line: the hold, or the rule, or what failed.
  func reason(for supervisor: TunnelSupervisor) -> String {
    if isStopping { return "the agent is stopping" }
    let name = supervisor.policy.name
    guard let policy = policies.tunnel(named: name) else { return "its policy is gone" }
    if !policy.isEnabled { return "disabled by its policy" }
    if let hold = holds[name] { return "held \(hold.wantsUp ? "up" : "down") by hand until the network changes or `roamward resume`" }
    if !policy.onDemand.isEnabled { return "on-demand is off" }
    guard let decision = decisions[name] else { return "not decided yet" }
    return decision.rule.map { "rule \($0.index): \(decision.because)" } ?? decision.because
  }

  // MARK: Time

  /// The next moment at which something has to be looked at again; with nothing pending, none.
  private func schedule() {
    let deadlines =
      [settleUntil, retryAt, underlayEvent.map { _ in world.now() }] + supervisors.values.map(\.machine.nextDeadline)
      + waits.values.filter { !$0.isOver(at: world.now()) }.map(\.deadline)
    let isAwaiting = supervisors.values.contains { $0.machine.state.isAwaitingAnswer }
    // A handshake makes no event; while one is awaited the device is asked.
    let poll = isAwaiting ? world.now() + .milliseconds(50) : nil
    world.wake((deadlines + [poll]).compactMap { $0 }.min()) { [weak self] in self?.timeHasCome() }
  }

  private func timeHasCome() {
    let now = world.now()
    if let until = settleUntil, until <= now { isObservationStale = true }
    if let at = retryAt, at <= now {
      retryAt = nil
      isObservationStale = true
    }
    if orderedSupervisors.contains(where: \.machine.state.isAwaitingAnswer) { isObservationStale = true }
    for supervisor in orderedSupervisors {
      supervisor.askAgain()
      drive(supervisor) { $0.handle(.tick, on: self.observation?.snapshot.primaryLink) }
    }
    pass()
  }

  /// Files beside the policies that they are made of.
  package var policyDependencies: [String] { loaded.dependencies }

  /// When a hold began, by the clock on the wall.
  func wallClock(_ hold: Hold) -> Int64 { world.wallClock() - (world.now() - hold.since).components.seconds }

  /// Looks at the machine now, for a report. What it finds is acted on in a pass of its own.
  package func refresh() {
    observe()
    if underlayEvent != nil { schedule() }
  }

  // MARK: Ends

  private func endHold(_ tunnel: String) {
    guard holds.removeValue(forKey: tunnel) != nil else { return }
    tell(.hold(tunnel: tunnel, wants: nil))
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
    let isEmpty = Plan(from: observation.state, to: DesiredState()).isEmpty
    guard isEmpty, supervisors.values.allSatisfy({ $0.machine.state == .disconnected }), linksBeingStarted.isEmpty else { return }
    whenStopped = nil
    done()
  }

  private func noteProblems(_ problems: [String]) {
    for problem in problems where !notes.contains(problem) { warn(problem) }
    notes = problems
  }

  private func warn(_ text: String) { tell(.warning(text)) }

  private func noSuchTunnel(_ name: String) -> RequestError {
    let known = policies.tunnels.map(\.name).joined(separator: ", ")
    return RequestError(code: .noSuchTunnel, message: "no tunnel is named \"\(name)\"; known: \(known.isEmpty ? "none" : known)")
  }
}

/// How long a decision may stay pending.
struct PendingWait {
  let deadline: Moment

  func isOver(at now: Moment) -> Bool { deadline <= now }
}

/// What a tunnel's packets go through: when it changes, the other side has to be asked whether it still hears us.
private struct UnderlayPath: Equatable {
  let link: String?
  let addresses: [InterfaceAddress]
  let gateways: [IPAddress]

  init(_ snapshot: NetworkSnapshot) {
    let primary = snapshot.primaryLink
    link = primary?.name
    addresses = primary?.addresses.filter { !$0.address.isLinkLocal } ?? []
    gateways = primary?.gateways ?? []
  }
}

extension Decision {
  /// Whether people should be told: another verdict, rule or reason.
  fileprivate func tellsApart(from other: Decision?) -> Bool {
    outcome != other?.outcome || rule != other?.rule || because != other?.because
  }
}

extension PolicySet {
  /// Whether any rule or network asks for an SSID.
  package var needsSSID: Bool {
    networks.contains { $0.condition.needsSSID } || tunnels.contains { $0.onDemand.rules.contains { $0.match.needsSSID } }
  }
}

extension Condition {
  fileprivate var needsSSID: Bool {
    switch self {
    case .ssid, .ssidFile: true
    case .all(let parts), .any(let parts): parts.contains(where: \.needsSSID)
    case .not(let part): part.needsSSID
    default: false
    }
  }
}
