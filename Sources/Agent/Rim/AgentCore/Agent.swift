import ControlProtocol
package import KernelModel
import NetworkTypes
import PolicySource
package import RoamwardCore

/// The agent: receives events and timers. For each of them, its `Reconciler` moves the system to the desired state.
package final class Agent {
  let platform: Platform
  let reconciler: Reconciler
  package let announcer = Announcer()
  /// The time of the start; `nil`: it has not started.
  private(set) var startedAt: Timestamp?
  private let settle: Duration

  /// `settle`: the delay between a network change and its observation. `connectivityCheck`: the configured internet check.
  package init(platform: Platform, settle: Duration, connectivityCheck: ConnectivityCheck? = nil) {
    self.platform = platform
    self.settle = settle
    reconciler = Reconciler(platform, announcer, check: connectivityCheck)
    reconciler.whenPassed = { [weak self] in
      guard let self else { return }
      platform.lookups.learn(lastSnapshot.primaryLink, isLast: state.stop.isStopping)
      FallingAsleep(reconciler: reconciler).report()
      self.schedule()
    }
    platform.machine.watchLookups { [weak self] in self?.lookedUp($0) }
    AnswerHandling.begin(reconciler)
  }

  var state: AgentState { reconciler.state }
  var now: Moment { platform.clock.now() }

  /// Whether no pass and no poll is due: only samples of connected tunnels are pending.
  package var isAtRest: Bool { state.agenda.isAtRest }

  /// The number of steps of its warm-up for a start; `nil`: there was none yet.
  package var warmUpSteps: Int? { state.warmUp.steps }

  /// The names of the tunnels that are connected, in order.
  package var connectedTunnels: [String] {
    state.tunnels.ordered.filter { $0.machine.state == .connected }.map(\.policy.name).sorted()
  }

  // MARK: Start and stop

  /// Loads the policies and makes the first pass. Finishes or removes leftover state of an earlier agent.
  package func start() {
    startedAt = platform.clock.wallClock()
    if let time = platform.recoveryLog.latestTime() { reconciler.change { $0.latestTime.record(time) } }
    reconciler.change { $0.decisions = DecisionScheduler(overrides: platform.recoveryLog.overrides()) }
    let left = platform.recoveryLog.takeHandOver()
    reconciler.change { $0.leftTunnels = left.tunnels.isEmpty ? nil : left }
    // An agent may have been killed before it could note what it leaves.
    if left.tunnels.isEmpty { platform.installed.endUnclaimed([]) }
    // Leftover state is removed first: a handshake of the killed agent would prove nothing. What the last agent has handed over stays.
    reconciler.reconverge(within: { !left.includes($0) }) {
      reconciler.observe()
      reconciler.change { $0.killSwitch.begin(after: $0.seen.state?.firewall) }
      let found = state.seen.state.map { PrefixesByName.inKernel($0.kernel) } ?? [:]
      reconciler.change { $0.names.routes.adopt(found, at: now) }
    }
    resumeGuards()
    reconciler.change { $0.stop.isRecovering = true }
    endLeftoverCommands(except: Set(left.tunnels.keys)) { [weak self] in
      self?.reconciler.change { $0.stop.isRecovering = false }
      self?.policiesChanged()
    }
  }

  /// Removes leftover state of an earlier agent, except what its kill switch blocks. Starts nothing.
  package func cleanUp(then done: @escaping () -> Void) {
    resumeGuards()
    _ = platform.recoveryLog.takeHandOver()
    reconciler.change { $0.stop.isCleaningUp = true }
    endLeftoverCommands { [weak self] in self?.stop(then: done) }
  }

  /// Takes every tunnel down, and calls back when nothing of ours is left. `keepingBlock`: leaves in place what kill switches block now,
  /// for the next agent; `handingOver`: also the tunnels that are up, which it takes over as they are.
  package func stop(keepingBlock: Bool = false, handingOver: Bool = false, then done: @escaping () -> Void) {
    let now = now
    let handOver = handingOver ? state.tunnels.handOver() : HandOver()
    if !handOver.tunnels.isEmpty { platform.recoveryLog.recordHandOver(handOver) }
    reconciler.change {
      $0.killSwitch.machine.isHandedOver = keepingBlock
      $0.stop.handOver = handOver
      $0.stop.begin(at: now, then: done)
    }
    if !keepingBlock { endGuards() }
    reconciler.pass()
  }

  /// Runs `down` for each command that a killed agent started, before anything else starts. `kept`: tunnels that were handed over.
  private func endLeftoverCommands(except kept: Set<String> = [], then done: @escaping () -> Void) {
    let commands = platform.recoveryLog.startedCommands().filter { !kept.contains($0.key) }.sorted { $0.key < $1.key }
    platform.installed.endLeftovers(Set(commands.map(\.key)).union(kept))
    var open = commands.count
    if open == 0 { return done() }
    for (tunnel, command) in commands {
      platform.commands.run(.down, tunnel, command, Ownership.mark) { [platform] _ in
        platform.recoveryLog.forgetCommand(tunnel)
        open -= 1
        if open == 0 { done() }
      }
    }
  }

  // MARK: Events

  /// Handles a change in the kernel or in a watched file. All but sure starts follows one settle time after the first of several changes.
  package func networkChanged() {
    reconciler.recordWake(.networkEvent)
    let now = now
    let begun = state.schedule.settleUntil
    if begun == nil { reconciler.change { $0.seen.eventCame(at: now) } }
    if begun == nil || state.killSwitch.hasClosedInAdvance { closeOnNetworkLoss(at: now) }
    if begun == nil { admitLinksOfGuards(at: now) }
    let settle = ([settle] + state.set.tunnels.compactMap(\.onDemand.timing.settle)).min() ?? settle
    if reconciler.change({ $0.schedule.networkChanged(settle: settle, begun: begun, at: now) }) { return reconciler.pass() }
    reconciler.startAtOnce()
    schedule()
  }

  /// Handles a change of one of our objects by another program. It does not wait for the network to settle.
  package func damaged() {
    reconciler.recordWake(.damage)
    let now = now
    reconciler.change { $0.schedule.changedByOthers(at: now) } ? reconciler.pass() : schedule()
  }

  /// Handles the loss or replacement of the default route, or the loss of carrier. The prepared step is applied at once, then the machine
  /// is observed. If the network did not change, the firewall is opened again.
  package func networkLost() {
    if !reconciler.isPassing, let step = reconciler.change({ $0.killSwitch.takeStepOnLeaving() }) {
      let isClosed = reconciler.carryOut([step]).isEmpty
      reconciler.change { $0.killSwitch.closedInAdvance(isClosed) }
    }
    networkChanged()
    if !state.killSwitch.isPreparedToLeave { reconciler.change { $0.prepareToLeave() } }
  }

  /// Closes the firewall at once if the network was left and it was open there alone. The rules are evaluated later.
  private func closeOnNetworkLoss(at now: Moment) {
    guard !reconciler.isPassing, !state.stop.isStopping, state.isKillSwitchOpenHereAlone,
      state.killSwitch.hasClosedInAdvance || reconciler.change({ $0.schedule.looksAtOnce(at: now) })
    else { return }
    let before = state.desiredTunnels.setups.map(\.isGuarding)
    reconciler.reconverge {
      reconciler.observe()
    } if: {
      state.killSwitch.hasClosedInAdvance || state.desiredTunnels.setups.map(\.isGuarding) != before
    }
    reconciler.change { $0.killSwitch.closedInAdvance(false) }
    announcer.followFirewall(of: state, platform.recordBlocking)
  }

  /// Handles a write to resolv.conf, by the agent or another program. If the file was ours, the repair does not wait for the network to
  /// settle. It does not wait for decisions or new sessions on another network either: programs would read the other file meanwhile.
  package func resolverFileChanged(to file: ObservedResolvConf) {
    // The echo of our own write, or the same text again.
    if file == state.seen.state?.resolvConf, !state.schedule.isStale { return }
    guard !file.isOurs, state.repairs.settled?.resolvConf != nil else { return networkChanged() }
    if !reconciler.isPassing, !state.stop.isStopping {
      reconciler.reconverge(within: \.isOfResolver) {
        let resolver = platform.machine.observeResolver(state.resolverLinks)
        reconciler.change { $0.seen.take(resolver) }
      }
    }
    damaged()
  }

  /// Handles the arrival of requested facts. The network is unchanged, so there is nothing to settle.
  package func factsCame() {
    reconciler.recordWake(.facts)
    reconciler.lookAgain()
  }

  /// Handles a look-up of a name whose tunnel is down. The tunnel comes up if its rules still watch such look-ups.
  private func lookedUp(_ lookup: NameLookup) {
    guard !state.stop.isStopping, let tunnel = state.tunnels[lookup.tunnel] else { return }
    var isStart = false
    reconciler.recordWake(.lookup, of: lookup.tunnel)
    reconciler.beforePass {
      reconciler.drive(tunnel) { isStart = $0.lookUp(lookup, on: $1, usedSlots: self.state.desiredTunnels.usedSlots) }
    }
    guard isStart else { return }
    announcer.publish(.lookup(lookup))
    reconciler.pass()
  }

  /// Handles the approach of a sleep. `done`: the tunnels with `disconnect-on-sleep` are down.
  package func fallsAsleep(then done: @escaping () -> Void) { FallingAsleep(reconciler: reconciler).begin(then: done) }

  /// Whether a tunnel goes down before a sleep, which has to wait for it.
  package var delaysSleep: Bool { !state.set.tunnelsDownInSleep.isEmpty }

  /// Handles wake-up from sleep: the network may be another one, and sessions may be dead even on the same network.
  package func woke() {
    reconciler.change { _ = $0.agenda.sleep.hasSlept(platform.clock.timeAsleep()) }
    reconciler.recordSleep()
    reconciler.pass()
  }

  /// Handles a change of policy files, or of files that they name.
  package func policiesChanged() {
    reconciler.recordWake(.policies)
    let loaded = platform.policies.load()
    let localTime = platform.clock.localTime
    let news = reconciler.change { state in
      let news = state.policies.take(loaded, localTime: localTime)
      // The rules have not been evaluated on this network either.
      if news.isFirst, !state.stop.isStopping { state.killSwitch.machine.leaveNetwork(state.set, overrides: state.decisions.overrides) }
      return news
    }
    keepGroup()
    announcer.keepCounts(of: Set(state.set.tunnels.map(\.name)))
    if news.isNews {
      announcer.publish(.policy(generation: state.policies.generation, errors: news.errors, warnings: news.warnings))
    }
    for line in news.replacements { announcer.warn(Remark(.policyRefused, line)) }
    reconciler.lookAgain()
  }

  /// Observes the machine now, for a report. Changes that it finds are handled in a separate pass.
  ///
  /// Every user may ask for a report at any rate; the machine is observed at most ten times a second. `facts`: what the report needs beside
  /// the facts of the policies.
  package func refresh(for facts: Set<FactKind> = []) {
    let (before, now) = (state.seen, now)
    guard before.observation == nil || now >= before.at + .milliseconds(100) else { return }
    // A change that this look is the first to see begins now, and has to settle: the kernel need not report it again.
    if state.schedule.settleUntil == nil { reconciler.change { $0.seen.eventCame(at: now) } }
    reconciler.observe(for: facts)
    if before.observation?.snapshot.isSameButForTime(as: state.seen.snapshot) != true { return networkChanged() }
    guard before.state?.kernel != state.seen.state?.kernel else { return }
    reconciler.change { $0.schedule.reportShowedChange(at: now) }
    schedule()
  }

  // MARK: Timers

  /// Sets the timer to the first deadline, or to none.
  func schedule() {
    let (probe, trial, now, wallClock) = (
      reconciler.probes.nextDeadline, platform.policies.trials.current()?.until, now, platform.clock.wallClock()
    )
    reconciler.change { $0.agenda.set($0.openDeadlines(probe: probe, trial: trial, at: now, wallClock: wallClock)) }
    platform.clock.wake(state.agenda.next?.at) { [weak self] in self?.timeHasCome() }
    keepEngineReady(at: now)
  }

  /// Keeps an engine's process ready while a WireGuard tunnel is down: its start would take longer than all else until the first packet.
  /// It is started when there is nothing else to do, and not again before that.
  private func keepEngineReady(at now: Moment) {
    let isQuiet = state.agenda.isQuiet(at: now)
    if state.stop.isStopping || !state.tunnels.wireGuard.contains(where: { $0.machine.state == .disconnected }) {
      platform.machine.keepEngineReady(false)
    } else if isQuiet {
      platform.machine.keepEngineReady(true)
    }
    if isQuiet { reconciler.change { $0.runWarmUp() } }
  }

  private func timeHasCome() {
    let now = now
    let due = state.agenda.due(at: now)
    if let first = due.first { reconciler.recordWake(first.reason, of: first.tunnel) }
    let hasSlept = reconciler.recordSleepOfClock()
    let action = due.map(\.action).max() ?? .poll
    // Only a poll or a sample is due: only the devices are read.
    var peers = NewsOfPeers.none
    if !hasSlept, !samplePeers(at: now), action < .pass {
      peers = newsOfPeers()
      if peers == .none { return schedule() }
    }
    if platform.policies.trials.end(at: now) {
      announcer.warn(Remark(.trialEnded, "the policies on trial were not confirmed in time; the previous set is active again"))
      policiesChanged()
    }
    cutShort(at: now)
    AnswerHandling(reconciler: reconciler).expire()
    // Neither a handshake nor the clock produces an event.
    reconciler.change {
      $0.killSwitch.machine.forgetEnded(at: now)
      if due.contains(where: { $0.reason == .retry }) { $0.schedule.retryIsDue() }
      if due.contains(where: { $0.reason == .repair }) { $0.repairs.repairIsDue() }
      // An answer is in the device, which has just been read; all else that changes is announced.
      if action == .look || peers != .answer && $0.tunnels.isPolled || !$0.set.timeWindows.isEmpty { $0.schedule.isStale = true }
    }
    // A deadline that passed during sleep is not evaluated: the pass handles the sleep first.
    if !hasSlept {
      reconciler.beforePass {
        for tunnel in state.tunnels.timed {
          tunnel.askAgain()
          tunnel.advance()
          reconciler.drive(tunnel) { $0.handle(.tick, on: $1) }
        }
      }
    }
    reconciler.pass()
  }

  /// The result of reading the devices of awaited peers. A handshake produces no event.
  private enum NewsOfPeers {
    case none, answer
    /// A device does not answer itself, or needs new sessions.
    case other
  }

  /// Reads the awaited devices. Those that show an answer are taken into the last observation.
  private func newsOfPeers() -> NewsOfPeers {
    var news = NewsOfPeers.none
    for tunnel in state.tunnels.engaged where tunnel.machine.state.isAwaitingAnswer {
      tunnel.askAgain()
      if tunnel.wantsNewSessions || tunnel.isTrialDue { return .other }
      guard let link = tunnel.linkName, state.seen.state?.wireGuard[link] != nil else { continue }
      reconciler.change { $0.agenda.counters.polls += 1 }
      guard let device = platform.machine.readDevice(link) else { return .other }
      guard tunnel.isAnswered(by: device) else { continue }
      if reconciler.change({ $0.seen.take(device, of: link) }) { news = .answer }
    }
    return news
  }

  /// Returns whether a tunnel is now in doubt, or idle.
  private func samplePeers(at now: Moment) -> Bool {
    reconciler.samplePeers(at: now) { [weak self] in
      self?.schedule()
      self?.timeHasCome()
    }
  }

  /// Ends what still runs after the stop's time limit.
  private func cutShort(at now: Moment) {
    let change = state.inProgress.resolver
    guard let passed = reconciler.change({ $0.stop.cutShort(change, at: now) }) else { return }
    let time = text(for: passed)
    if let change { announcer.warn(Remark(.stopTimeout, "`\(change)` did not end within \(time) of the stop; it is not waited for")) }
    if state.stop.isRecovering {
      for tunnel in platform.recoveryLog.startedCommands().keys.sorted() {
        announcer.warn(
          Remark(.stopTimeout, of: tunnel, "the `down` that the last agent owed did not end within \(time) of the stop; it is killed"))
        platform.commands.cut(tunnel)
      }
    }
    for tunnel in state.tunnels.ordered where !tunnel.isTornDown {
      announcer.warn(Remark(.stopTimeout, of: tunnel.policy.name, "its programs did not end within \(time) of the stop; they are killed"))
      tunnel.cutShort()
    }
  }
}

extension HandOver {
  /// Whether the step changes a tunnel that was handed over, or the firewall or name servers, which may be those of one.
  fileprivate func includes(_ step: Step) -> Bool {
    guard !tunnels.isEmpty else { return false }
    switch step {
    case .replaceFirewall, .removeFirewall, .setNameCapture, .removeNameCapture: return true
    default: break
    }
    return step.isOfResolver || step.concerns(link: nil, table: Ownership.lostTable) && tunnels.values.contains { $0.outer != nil }
      || tunnels.values.contains {
        step.concerns(link: $0.link, table: Ownership.tables.lowerBound + $0.slot)
          || step.concerns(link: nil, table: Ownership.innerTable(of: $0.slot))
      }
  }
}
