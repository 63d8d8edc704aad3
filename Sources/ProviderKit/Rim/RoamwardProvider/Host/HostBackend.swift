package import NetworkTypes
package import ProviderProtocol

/// The machine below a `ProviderHost`: descriptors and the clock, or their doubles in memory.
package protocol HostBackend: AnyObject {
  var now: Moment { get }
  /// Sends a message to the agent.
  func send(_ message: [UInt8])
  /// Calls the host's `advance` at this moment, or does not; it replaces the moment before.
  func wake(at moment: Moment?)
  /// The content of a readable descriptor, at most `ProtocolLimits.secret` bytes; `nil` if it cannot be read.
  func secret(_ descriptor: AnyObject) -> [UInt8]?
  /// `nil` if the descriptor cannot be one.
  func flow(_ descriptor: AnyObject, interface: String, mtu: Int) -> (any ClosableFlow)?
  func socket(_ descriptor: AnyObject, _ transport: Transport, remote: Endpoint) -> (any OutsideSocket)?
  /// Ends the program. `reason`: `nil` if all is well.
  func end(reason: String?)
}

/// A flow that the host closes at the end of a run.
package protocol ClosableFlow: PacketFlow {
  func close()
}
