import ControlProtocol
import NetworkTypes
import RoamwardCore

/// What is to be done about one tunnel, by rules and overrides.
struct TunnelOrder {
  let tunnel: String
  let decision: Decision
  let intent: Intent
  /// The decision is another one than before.
  let isNews: Bool
}

extension AgentState {
  /// Ends what is over: overrides, and the suspension of the kill switch. Gives the tunnels whose override has ended.
  mutating func endWhatIsOver(wallClock: Timestamp) -> [String] {
    let ended = decisions.endOverrides(at: wallClock, on: seen.network)
    _ = killSwitch.machine.endRelease(at: wallClock, on: seen.network)
    // To have no network is to have just left one.
    if !stop.isStopping, seen.network.isNone { killSwitch.machine.leaveNetwork(set, overrides: decisions.overrides) }
    if isPortalNeedless { _ = killSwitch.machine.close() }
    return ended
  }

  /// Judges the rules on what was seen last.
  mutating func decide(at now: Moment, wallClock: Timestamp) -> [TunnelOrder] {
    agenda.counters.evaluations += 1
    let tunnels = tunnels
    let verdicts = decisions.decide(on: set, seen.snapshot, changed: seen.changedAt, at: now, time: wallClock) {
      tunnels[$0]?.isWanted ?? false
    }
    return verdicts.map { verdict in
      let outcome = verdict.decision.outcome
      let intent = stop.isStopping ? .down : verdict.intent
      let isSettling = intent == .unchanged && [.connect, .disconnect].contains(outcome)
      killSwitch.machine.note(
        stop.isStopping ? .down : verdict.guarding, isPending: !stop.isStopping && (outcome == .pending || isSettling),
        isOnline: stop.isStopping || !seen.network.isNone, of: verdict.policy.name)
      return TunnelOrder(tunnel: verdict.policy.name, decision: verdict.decision, intent: intent, isNews: verdict.isNews)
    }
  }

  /// The tunnel's policy is gone, and it is down.
  mutating func forget(_ tunnel: String) {
    tunnels.remove(tunnel)
    decisions.forget(tunnel)
    killSwitch.machine.forget(tunnel)
  }
}
