import NetworkTypes
import RoamwardCore

/// The functions of the agent that a driver uses, besides the platform.
struct DriverOutlets {
  /// Reports an event to the tunnel's machine.
  let report: (TunnelMachine.Event) -> Void
  /// Requests a pass: a source outside the agent has moved the tunnel.
  let changed: () -> Void
  /// Publishes what the tunnel's provider tells people and programs.
  let publish: (ProviderNews) -> Void
  /// Returns the reason why the tunnel is in its state, or leaves it.
  let cause: () -> ReasonCode
  /// The way of the tunnel's own packets through another tunnel; `nil`: they leave outside of every tunnel.
  let outerWay: () -> OuterWay?
  /// The addresses that this machine and its networks use.
  var places: () -> PlacesInUse = { PlacesInUse() }
  /// The password that a person has given for a tunnel's next run, once.
  var takePassword: (String) -> [UInt8]? = { _ in nil }
  /// The addresses of this machine.
  let ownAddresses: () -> Set<IPAddress>
}
