internal import NetworkTypes
internal import RoamwardCore

/// The functions of the agent that all tunnels use.
struct TunnelSurroundings {
  /// A source outside the agent has moved a tunnel: a pass is due.
  var changed: () -> Void = {}
  /// A tunnel has another slot, and so another place among all.
  var reordered: () -> Void = {}
  /// A tunnel has begun or ended to be engaged.
  var moved: () -> Void = {}
  /// A tunnel's provider tells something.
  var publish: (String, ProviderNews) -> Void = { _, _ in }
  /// The way of a tunnel's own packets through another tunnel; `nil`: they leave outside of every tunnel.
  var outerWay: (TunnelPolicy) -> OuterWay? = { _ in nil }
  /// The addresses that this machine and its networks use.
  var places: () -> PlacesInUse = { PlacesInUse() }
  /// Returns the reason why no peer of a tunnel can answer on this network, if this machine knows one. `true`: the wait for a peer is over.
  var obstacle: (TunnelSupervisor, Bool) -> TunnelFailure? = { _, _ in nil }
  /// The addresses of this machine.
  var ownAddresses: () -> Set<IPAddress> = { [] }
  /// The password that a person has given for the tunnel's next run, once.
  var takePassword: (String) -> [UInt8]? = { _ in nil }
  /// The reason of rules and people for a tunnel's state.
  var cause: (TunnelSupervisor) -> ReasonCode = { _ in .undecided }
}
