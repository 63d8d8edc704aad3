import KernelModel
import NetworkTypes
import RoamwardCore

/// How it begins after another agent, and how it ends.
extension Reconciler {
  /// A command that a dead agent had started gets its `down`, before anything else is started.
  func endLeftOverCommands(then done: @escaping () -> Void) {
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

  func cutShort(at now: Moment) {
    guard let at = cutAt, let stopBegan, at <= now else { return }
    if isCleaningUp, case .removeRecord = resolverChange, at < stopBegan + Self.patienceAtCleanUp {
      cutAt = stopBegan + Self.patienceAtCleanUp
      return
    }
    cutAt = nil
    let time = words(for: at - stopBegan)
    if let step = resolverChange { warn(Remark(.stopTimeout, "`\(step)` did not end within \(time) of the stop; it is not waited for")) }
    if isRecovering {
      for tunnel in world.journal.startedCommands().keys.sorted() {
        warn(Remark(.stopTimeout, of: tunnel, "the `down` that the last agent owed did not end within \(time) of the stop; it is killed"))
        world.cutRun(tunnel)
      }
    }
    for supervisor in orderedSupervisors where !supervisor.isReleased {
      warn(Remark(.stopTimeout, of: supervisor.policy.name, "its programs did not end within \(time) of the stop; they are killed"))
      supervisor.cutShort()
    }
  }

  func finishStopping() {
    guard isStopping, let done = whenStopped, let observation else { return }
    // What an earlier agent has left is known, and ended, first. What another program still writes for us is finished, and then seen.
    guard !isRecovering, resolverChange == nil || cutAt == nil else { return }
    // What whoever keeps the resolver does not take back is told of, and holds nothing up for ever.
    let isEmpty = Plan(from: observation.state, to: desiredState).steps.allSatisfy {
      $0.isOfResolver && (contest.isHopeless || cutAt == nil)
    }
    guard isEmpty, supervisors.values.allSatisfy({ $0.machine.state == .disconnected }), linksBeingStarted.isEmpty else { return }
    whenStopped = nil
    done()
  }
}
