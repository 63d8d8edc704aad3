import KernelModel
import NetworkTypes
import RoamwardCore

extension OuterWay {
  /// The way through a tunnel; it is closed where there is no such tunnel.
  init(_ name: String, _ outer: TunnelSupervisor?) {
    self.init(
      outer: name, isOpen: outer?.machine.state == .connected,
      mark: Ownership.innerMark(of: outer.flatMap { $0.machine.isRunning ? $0.slot : nil }), link: outer?.linkName,
      dns: outer?.policyInForce.dnsInForce ?? DNSPolicy())
  }
}
