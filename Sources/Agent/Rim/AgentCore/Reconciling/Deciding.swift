import ControlProtocol
import NetworkTypes
import RoamwardCore

/// The intent for one tunnel, with the decision and its consequences.
struct TunnelIntent {
  let tunnel: String
  let decision: Decision
  let intent: Intent
  /// Whether the decision differs from the last one.
  let isNews: Bool
  /// Whether it is to go down only when no tunnel goes through it any more.
  let isAfterInner: Bool
  /// Whether its device is to be ready while it is down.
  let isReady: Bool
}

extension AgentState {
  /// Ends expired overrides and an expired suspension of the kill switch. Returns the tunnels whose override has ended.
  func endWhatIsOver(wallClock: Timestamp) -> [String] {
    let ended = decisions.endOverrides(at: wallClock, on: seen.network)
    names.follow(set)
    policies.follow(decisions.overrides, decisions.decisions, running: tunnels.wanted)
    _ = killSwitch.machine.endSuspension(at: wallClock, on: seen.network)
    // No network means that the last one was just left.
    if !stop.isStopping, seen.network.isNone { killSwitch.machine.leaveNetwork(set, overrides: decisions.overrides) }
    if isPortalNeedless { _ = killSwitch.machine.close() }
    return ended
  }

  /// Evaluates the rules on the last observation. Returns the decisions that are news, or move a tunnel. `record` receives the inputs and
  /// the results.
  func decide(at now: Moment, wallClock: Timestamp, record: ((DecisionPass) -> Void)? = nil) -> [TunnelIntent] {
    agenda.counters.evaluations += 1
    _ = decisions.choose(of: set, tunnels, at: now)
    let (tunnels, waits, settlesAt) = (tunnels, decisions.waits, stop.isStopping ? nil : schedule.settleUntil)
    let running = tunnels.wanted.filter(set.hasTunnel)
    let verdicts = decisions.decide(
      on: set, seen.snapshot, changed: seen.changedAt, settlesAt: settlesAt, at: now, time: wallClock, isComplete: stop.isStopping,
      isRunning: running.contains)
    record?(
      DecisionPass(
        at: now, time: wallClock, generation: policies.generation, policies: policies.files, snapshot: seen.snapshot,
        changedAt: seen.changedAt, running: running, overrides: decisions.overrides, waits: (waits, decisions.waits),
        turns: decisions.groups.turns, decisions: decisions.all))
    let ready = desiredTunnels.ready
    return verdicts.compactMap { verdict in
      let outcome = verdict.decision.outcome
      let isHandedOver = stop.handOver.tunnels[verdict.policy.name] != nil
      let isDown = stop.isStopping || agenda.sleep.keepsDown(verdict.policy.name, at: now)
      let intent = isHandedOver ? .unchanged : isDown ? .down : verdict.intent
      let isActedOn = [.connect, .disconnect].contains(outcome) || outcome == .evaluateConnection && verdict.decision.inert == nil
      let isSettling = intent == .unchanged && isActedOn
      // A watched tunnel is wanted as long as a look-up, or what came before, keeps it up.
      let guarding = verdict.guarding == .watched ? (running.contains(verdict.policy.name) ? .up : .down) : verdict.guarding
      killSwitch.machine.record(
        stop.isStopping ? .down : guarding, isPending: !stop.isStopping && (outcome == .pending || isSettling),
        isOnline: stop.isStopping || !seen.network.isNone, of: verdict.policy.name)
      let isReady = !isDown && ready.contains(verdict.policy.name)
      if !verdict.isNews, let tunnel = tunnels[verdict.policy.name], tunnel.isAtRest(under: intent, isReady: isReady) { return nil }
      return TunnelIntent(
        tunnel: verdict.policy.name, decision: verdict.decision, intent: intent, isNews: verdict.isNews,
        isAfterInner: intent == .down && !stop.isStopping && tunnels.isCarrying(verdict.policy.name), isReady: isReady)
    }
  }

  /// Forgets a tunnel that is down and whose policy was removed.
  func forget(_ tunnel: String) {
    tunnels.remove(tunnel)
    decisions.forget(tunnel)
    killSwitch.machine.forget(tunnel)
  }
}
