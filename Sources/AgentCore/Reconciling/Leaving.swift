import KernelModel
internal import RoamwardCore

/// Closing a kill switch that is open on this network alone, at the first sign that the network is left.
extension Reconciler {
  /// Prepares the step for that moment, from what is wanted now: then nothing has to be looked at, decided or planned first.
  func prepareToLeave() {
    stepOnLeaving = desiredTunnels.tableOnLeaving(portal: portalWindow).map { .replaceFirewall($0) }
  }

  /// The kernel has announced that the default route or the carrier of the network is gone, or that another default route takes its place. What was
  /// prepared is done at once; then the machine is looked at, and where it has not left after all, the firewall is opened again.
  package func wayLost() {
    if !isPassing, let step = stepOnLeaving {
      stepOnLeaving = nil
      hasClosedInAdvance = apply([step]).isEmpty
    }
    networkChanged()
    if stepOnLeaving == nil { prepareToLeave() }
  }
}
