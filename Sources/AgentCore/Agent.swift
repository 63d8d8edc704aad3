import ControlProtocol
package import KernelModel
import NetworkTypes
import PolicySource
package import RoamwardCore

/// The agent: what wakes it, and when it wakes by itself. Each time its `Reconciler` makes the machine what policies and people want of it.
package final class Agent {
  let platform: Platform
  let reconciler: Reconciler
  package let announcer = Announcer()
  private let settle: Duration

  /// `settle`: how long the network is left in peace before it is observed. `connectivityCheck`: how to find out about the internet, where
  /// the administrator has said so.
  package init(platform: Platform, settle: Duration, connectivityCheck: ConnectivityCheck? = nil) {
    self.platform = platform
    self.settle = settle
    reconciler = Reconciler(platform, announcer, check: connectivityCheck)
    reconciler.whenPassed = { [weak self] in self?.schedule() }
  }

  var state: AgentState { reconciler.state }
  var now: Moment { platform.clock.now() }

  /// No pass and no poll is due: only samples of connected tunnels are taken.
  package var isAtRest: Bool { state.agenda.isAtRest }

  // MARK: Beginning and end

  /// Loads the policies and makes the first pass; finishes or removes what an earlier agent left.
  package func start() {
    reconciler.change { $0.decisions = DecisionScheduler(overrides: platform.recoveryLog.overrides()) }
    // What a killed agent has left goes first: a handshake of its time would prove nothing.
    reconciler.reconverge {
      reconciler.observe()
      reconciler.change { $0.killSwitch.begin(after: $0.seen.state?.firewall) }
    }
    reconciler.change { $0.stop.isRecovering = true }
    endLeftoverCommands { [weak self] in
      self?.reconciler.change { $0.stop.isRecovering = false }
      self?.policiesChanged()
    }
  }

  /// Removes leftover state of an earlier agent, except what its kill switch blocks. Starts nothing.
  package func cleanUp(then done: @escaping () -> Void) {
    reconciler.change { $0.stop.isCleaningUp = true }
    endLeftoverCommands { [weak self] in self?.stop(then: done) }
  }

  /// Takes every tunnel down, and calls back when nothing of ours is left. `keepingBlock`: except what kill switches
  /// block now, for the next agent.
  package func stop(keepingBlock: Bool = false, then done: @escaping () -> Void) {
    let now = now
    reconciler.change {
      $0.killSwitch.machine.isHandedOver = keepingBlock
      $0.stop.begin(at: now, then: done)
    }
    reconciler.pass()
  }

  /// A command that a killed agent had started gets its `down`, before anything else is started.
  private func endLeftoverCommands(then done: @escaping () -> Void) {
    let commands = platform.recoveryLog.startedCommands().sorted { $0.key < $1.key }
    var open = commands.count
    if open == 0 { return done() }
    for (tunnel, command) in commands {
      platform.commands.run(.down, tunnel, command) { [platform] _ in
        platform.recoveryLog.forgetCommand(tunnel)
        open -= 1
        if open == 0 { done() }
      }
    }
  }

  // MARK: What wakes it

  /// The kernel or a watched file of facts has changed. The pass comes a settle time after the first of several changes.
  package func networkChanged() {
    reconciler.noteWake(.networkEvent)
    let now = now
    let begun = state.schedule.settleUntil
    if begun == nil { reconciler.change { $0.seen.eventCame(at: now) } }
    if begun == nil || state.killSwitch.hasClosedInAdvance { closeOnNetworkLoss(at: now) }
    let settle = ([settle] + state.set.tunnels.compactMap(\.onDemand.timing.settle)).min() ?? settle
    // Without a time to settle there is nothing to wait for.
    let isDue = reconciler.change { $0.schedule.networkChanged(settle: settle, begun: begun, at: now) }
    isDue ? reconciler.pass() : schedule()
  }

  /// Another program has changed something of ours. That does not wait for the network to settle.
  package func damaged() {
    reconciler.noteWake(.damage)
    let now = now
    reconciler.change { $0.schedule.changedByOthers(at: now) } ? reconciler.pass() : schedule()
  }

  /// The kernel has announced that the default route or the carrier of the network is gone, or that another default route
  /// takes its place. What was planned for that is done at once; then the machine is observed, and where it has not left after
  /// all, the firewall is opened again.
  package func networkLost() {
    if !reconciler.isPassing, let step = reconciler.change({ $0.killSwitch.takeStepOnLeaving() }) {
      let isClosed = reconciler.carryOut([step]).isEmpty
      reconciler.change { $0.killSwitch.closedInAdvance(isClosed) }
    }
    networkChanged()
    if !state.killSwitch.isPreparedToLeave { reconciler.change { $0.prepareToLeave() } }
  }

  /// A kill switch that is open on this network alone does not wait for the next one to settle: where the machine has left, it closes at
  /// once, and the rules are judged later.
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

  /// The resolver's file has been written, by the agent or another program. Where ours stood, that does not wait for the network to settle,
  /// and not for decisions and new sessions on another network either: programs would read the other file meanwhile.
  package func resolverFileChanged(to file: ObservedResolvConf) {
    guard !file.isOurs, state.repairs.settled?.resolvConf != nil else { return networkChanged() }
    if !reconciler.isPassing, !state.stop.isStopping {
      reconciler.reconverge(within: \.isOfResolver) {
        let resolver = platform.machine.observeResolver(state.resolverLinks)
        reconciler.change { $0.seen.take(resolver) }
      }
    }
    damaged()
  }

  /// Facts that were asked for are there. The network is as it was, so there is nothing to settle.
  package func factsCame() {
    reconciler.noteWake(.facts)
    reconciler.lookAgain()
  }

  /// The machine has woken from sleep: the network may be another, and sessions may be dead even if it is not.
  package func woke() {
    reconciler.change { _ = $0.agenda.sleep.hasSlept(platform.clock.timeAsleep()) }
    reconciler.noteSleep()
    reconciler.pass()
  }

  /// Policy files, or files that they name, have changed.
  package func policiesChanged() {
    reconciler.noteWake(.policies)
    let loaded = platform.policies.load()
    let localTime = platform.clock.localTime
    let news = reconciler.change { state in
      let news = state.policies.take(loaded, localTime: localTime)
      // The rules have not been judged on this network either.
      if news.isFirst, !state.stop.isStopping { state.killSwitch.machine.leaveNetwork(state.set, overrides: state.decisions.overrides) }
      return news
    }
    announcer.publish(.policy(generation: state.policies.generation, errors: news.errors, warnings: news.warnings))
    for line in news.fallback { announcer.warn(Remark(.policyRefused, line)) }
    reconciler.lookAgain()
  }

  /// Looks at the machine now, for a report. What it finds is acted on in a pass of its own.
  ///
  /// Every user may ask for a report, as often as they like; the machine is observed at most ten times a second.
  package func refresh() {
    let before = state.seen
    let now = now
    guard before.observation == nil || now >= before.at + .milliseconds(100) else { return }
    reconciler.observe()
    let after = state.seen
    let isNew = before.observation?.snapshot.isSameButForTime(as: after.snapshot) != true || before.state?.kernel != after.state?.kernel
    guard isNew else { return }
    // The kernel need not announce it once more.
    reconciler.change { $0.schedule.reportShowedChange(at: now) }
    schedule()
  }

  // MARK: When it wakes by itself

  /// Waits for the first moment at which something has to be looked at again; with nothing pending, for none.
  func schedule() {
    let (probe, trial, now, wallClock) = (
      reconciler.probes.nextDeadline, platform.policies.trials.current()?.until, now, platform.clock.wallClock()
    )
    reconciler.change { $0.agenda.set($0.openDeadlines(probe: probe, trial: trial, at: now, wallClock: wallClock)) }
    platform.clock.wake(state.agenda.next?.at) { [weak self] in self?.timeHasCome() }
  }

  private func timeHasCome() {
    let now = now
    let due = state.agenda.due(at: now)
    if let first = due.first { reconciler.noteWake(first.reason, of: first.tunnel) }
    let hasSlept = reconciler.noteSleepOfClock()
    let action = due.map(\.action).max() ?? .poll
    // Only a poll or a sample is due: the devices are asked, and nothing else is.
    if !hasSlept, !samplePeers(at: now), action < .pass, !hasNewsOfPeers() { return schedule() }
    if platform.policies.trials.end(at: now) {
      announcer.warn(Remark(.trialEnded, "the policies on trial were not confirmed in time; the previous set is active again"))
      policiesChanged()
    }
    cutShort(at: now)
    // A handshake makes no event, and neither does the clock.
    let isAwaiting = state.tunnels.ordered.contains(where: \.machine.state.isAwaitingAnswer)
    reconciler.change {
      if due.contains(where: { $0.reason == .retry }) { $0.schedule.retryIsDue() }
      if due.contains(where: { $0.reason == .repair }) { $0.repairs.repairIsDue() }
      if action == .look || isAwaiting || !$0.set.timeWindows.isEmpty { $0.schedule.isStale = true }
    }
    // A deadline that passed in sleep is no verdict: the pass handles the sleep first.
    if !hasSlept {
      reconciler.beforePass {
        for tunnel in state.tunnels.ordered {
          tunnel.askAgain()
          reconciler.drive(tunnel) { $0.handle(.tick, on: $1) }
        }
      }
    }
    reconciler.pass()
  }

  /// Whether a device that is awaited has an answer, does not answer itself, or is to begin new sessions. A handshake makes no event.
  private func hasNewsOfPeers() -> Bool {
    for tunnel in state.tunnels.ordered where tunnel.machine.state.isAwaitingAnswer {
      tunnel.askAgain()
      if tunnel.wantsNewSessions { return true }
      guard let link = tunnel.linkName, state.seen.state?.wireGuard[link] != nil else { continue }
      reconciler.change { $0.agenda.counters.polls += 1 }
      guard let device = platform.machine.readDevice(link) else { return true }
      if tunnel.isAnswered(by: device) { return true }
    }
    return false
  }

  /// Whether the peers of connected tunnels still answer. No event reports that, so their devices are sampled: all of them at one
  /// wake-up, nothing else of the machine, and seldom where no session can be alive (`DeadPeerDetector.interval`). Gives whether a
  /// tunnel is in doubt because of them.
  private func samplePeers(at now: Moment) -> Bool {
    guard let due = state.tunnels.ordered.compactMap(\.nextSample).min(), due <= now else { return false }
    var isInDoubt = false
    reconciler.beforePass {
      for tunnel in state.tunnels.ordered {
        guard let silence = tunnel.samplePeer() else { continue }
        isInDoubt = true
        reconciler.drive(tunnel) { $0.handle(.peerSilent(for: silence), on: $1) }
      }
    }
    return isInDoubt
  }

  /// At a stop: what has not ended by now is ended.
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
    for tunnel in state.tunnels.ordered where !tunnel.isReleased {
      announcer.warn(Remark(.stopTimeout, of: tunnel.policy.name, "its programs did not end within \(time) of the stop; they are killed"))
      tunnel.cutShort()
    }
  }
}
