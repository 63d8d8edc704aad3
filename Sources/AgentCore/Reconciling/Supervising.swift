import ControlProtocol
import NetworkTypes
import RoamwardCore

/// The tunnels that it looks after.
extension Reconciler {
  var orderedSupervisors: [TunnelSupervisor] {
    supervisors.values.sorted { ($0.slot, $0.policy.name) < ($1.slot, $1.policy.name) }
  }

  /// Of tunnels that run, and those whose numbers somebody else uses.
  var usedSlots: Set<UInt32> { desiredTunnels.usedSlots }

  func makeSupervisor(for policy: TunnelPolicy) {
    if let existing = supervisors[policy.name] { return existing.update(policy) }
    supervisors[policy.name] = TunnelSupervisor(policy: policy, world: worldOfTunnels) { [weak self] in
      self?.isObservationStale = true
      self?.pass()
    }
  }

  func removeSupervisorsWithoutPolicy() {
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

  /// Moves a machine, and tells of what has failed since it was told last, and of the state that it has come to.
  func drive(_ supervisor: TunnelSupervisor, _ move: (TunnelSupervisor) -> Void) {
    let before = toldStates[supervisor.policy.name] ?? "disconnected"
    move(supervisor)
    tellOfFailure(of: supervisor)
    let after = supervisor.machine.state.status
    guard before != after else { return }
    toldStates[supervisor.policy.name] = after
    let because = reason(for: supervisor)
    tell(.state(tunnel: supervisor.policy.name, from: before, to: after, reason: because.code, because: because.description))
  }

  /// Each failed attempt is told once, though the next one is under way, or fails for the same reason.
  private func tellOfFailure(of supervisor: TunnelSupervisor) {
    let name = supervisor.policy.name
    let (before, failure) = (toldFailures[name], ToldFailure(supervisor.machine))
    toldFailures[name] = failure
    guard let failure, failure != before, failure.retry != nil || failure.reason != before?.reason else { return }
    tell(.failure(tunnel: name, failure.reason))
  }

  /// Why a tunnel is as it is, in a line: the hold, or the rule, or what is in doubt; and as a code, which names what failed as well.
  func reason(for supervisor: TunnelSupervisor) -> (code: ReasonCode, description: String) {
    let name = supervisor.policy.name
    if let doubt = supervisor.machine.doubt { return (doubt.code, "\(doubt)") }
    let reason = StateReason(
      policies.tunnel(named: name), deliberation.decisions[name], override: deliberation.holds[name], isWanted: supervisor.isWanted,
      timers: timers(of: supervisor), at: world.now(), isStopping: isStopping)
    return (supervisor.machine.trouble ?? reason.code, reason.description)
  }
}

/// What has failed of a tunnel, told apart from the same failure of its next attempt.
struct ToldFailure: Equatable {
  let reason: TunnelFailure
  /// While it waits for its next attempt: when that comes.
  var retry: Moment?

  init?(_ machine: TunnelMachine) {
    guard let failure = machine.failure else { return nil }
    reason = failure
    if case .backingOff(_, let until) = machine.state { retry = until }
  }
}
