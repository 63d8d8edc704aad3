internal import KernelNetwork

/// The kernel's events as one question: has anything changed that matters?
final class KernelWatch {
  private let events: KernelEvents
  private let machine: LinuxMachine

  init(_ machine: LinuxMachine) throws(NetlinkError) {
    self.machine = machine
    events = try KernelEvents()
  }

  var descriptors: [Int32] { events.descriptors }

  /// Takes what is waiting. Lost events count as a change: only a fresh look tells what they were.
  func hasChanged() -> Bool { events.drain(watching: machine.gateways).isRelevant }
}
