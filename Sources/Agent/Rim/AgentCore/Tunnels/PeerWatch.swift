internal import NetworkTypes
internal import RoamwardCore

/// The looks at a tunnel's peer and traffic between the changes of its state: samples, trials of endpoints, the first packet.
struct PeerWatch {
  var sampling = TunnelSampling()
  var trials = EndpointTrials()
  /// The watch for the first packet while it is armed.
  var packets = PacketWatch()

  /// Ends the looks that the state does not need. `hasMoved`: it is another state than before.
  mutating func follow(_ state: TunnelMachine.State, hasMoved: Bool, endsWhenIdle: Bool) {
    if hasMoved { sampling.stateChanged() }
    if !endsWhenIdle { sampling.endMeasuring() }
    if state != .armed { packets = PacketWatch() }
  }
}
