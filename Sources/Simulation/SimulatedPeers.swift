package import KernelModel
package import NetworkTypes
import RoamwardCore

/// The other ends of a simulated machine's WireGuard links, where a test brings a model of them: handshakes, keepalives, losses, in virtual
/// time. Without one, peers answer whenever they are asked (`SimulatedMachine.peersAnswer`), and carry no traffic.
package protocol SimulatedPeers: AnyObject {
  /// When something next happens by itself.
  var nextEvent: Moment? { get }
  func advance(to now: Moment)
  /// The link's device is configured; `anew`: from nothing, as `wg setconf` does.
  func configure(_ link: String, _ device: WireGuardDevice, anew: Bool, at now: Moment)
  func remove(_ link: String)
  /// The machine, with our ends, stands still for so long; the other ends go on.
  func sleep(for time: Duration, from now: Moment)
  /// Fills in what the engine shows.
  func show(_ link: String, _ device: inout WireGuardState)
}
