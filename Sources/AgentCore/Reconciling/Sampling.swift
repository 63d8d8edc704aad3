import NetworkTypes
import RoamwardCore

/// Whether the peers of connected tunnels still answer. No event reports that, so their devices are sampled: all of them at one wake-up,
/// nothing else of the machine, and seldom where no session can be alive (`DeadPeerDetector.interval`).
extension Reconciler {
  /// Takes the samples that are due. Whether a tunnel is in doubt because of them.
  func samplePeers(at now: Moment) -> Bool {
    guard let due = supervisors.values.compactMap(\.nextSample).min(), due <= now else { return false }
    var isInDoubt = false
    beforePass {
      for supervisor in orderedSupervisors {
        guard let silence = supervisor.samplePeer() else { continue }
        isInDoubt = true
        drive(supervisor) { $0.handle(.peerSilent(for: silence), on: self.observation?.snapshot.primaryLink) }
      }
    }
    return isInDoubt
  }

  /// Tunnels that have just connected are sampled from now on.
  func beginSampling() { for supervisor in supervisors.values { supervisor.beginSampling() } }
}
