package import KernelModel
package import NetworkTypes
import RoamwardCore

/// The peers of a simulated machine's WireGuard links, modelled by a test: handshakes, keepalives, losses, in virtual time. Without this
/// model, peers always answer (`SimulatedMachine.peersAnswer`), and carry no traffic.
package protocol SimulatedPeers: AnyObject {
  /// The moment of the next event of a peer.
  var nextEvent: Moment? { get }
  func advance(to now: Moment)
  /// Configures the link's device; `anew`: replaces all of its state, as `wg setconf` does.
  func configure(_ link: String, _ device: WireGuardDevice, anew: Bool, at now: Moment)
  func remove(_ link: String)
  /// Suspends the machine's own ends for this time; the peers continue.
  func sleep(for time: Duration, from now: Moment)
  /// Fills in the state that the engine shows.
  func show(_ link: String, _ device: inout WireGuardState)
}
