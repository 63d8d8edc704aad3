internal import KernelNetwork
internal import RoamwardCore

/// The kernel's events as one question: has anything changed that matters?
final class KernelWatch {
  private let events: KernelEvents
  private let machine: LinuxMachine

  init(_ machine: LinuxMachine) throws(NetlinkError) {
    self.machine = machine
    events = try KernelEvents()
  }

  var descriptors: [Int32] { events.descriptors }

  /// Neighbours are heard of only while a gateway's hardware address is needed.
  func need(_ facts: Set<FactKind>) { events.hearNeighbours(facts.contains(.gatewayMAC)) }

  /// Takes what is waiting. Lost events count as a change: only a fresh look tells what they were.
  func hasChanged() -> Bool { events.drain(watching: machine.gateways).isRelevant }
}
