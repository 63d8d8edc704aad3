import ControlProtocol
import RoamwardCore

extension Reconciler {
  /// Starts the tunnels that a change of the network starts without a doubt, before it has settled. If there is none, nothing is taken from
  /// the observation.
  func startAtOnce() {
    guard !isPassing, mayStart, change({ $0.schedule.looksForStarts(at: now) }) else { return }
    change { $0.agenda.counters.observations += 1 }
    let request = state.observationRequest(adding: [])
    guard let new = try? platform.machine.observe(request) else { return }
    let starting = state.decisions.startingAtOnce(on: state.set, new.snapshot, isRunning: state.tunnels.wanted.contains)
    if starting.isEmpty { return }
    change { $0.schedule.startsAtOnce() }
    take(new, by: request)
    pass()
  }

  /// Whether a tunnel is down that rules may start.
  private var mayStart: Bool {
    let (stop, tunnels) = (state.stop, state.tunnels)
    return !stop.isStopping && !stop.isRecovering && !stop.isCleaningUp && state.leftTunnels == nil
      && state.set.tunnels.contains { $0.isEnabled && $0.onDemand.isEnabled && !(tunnels[$0.name]?.isWanted ?? false) }
  }
}
