import AgentCore
package import ControlProtocol
package import KernelNetwork
import NetworkTypes
internal import RoamwardCore

/// The kernel's events as one question: has a relevant object changed?
package final class KernelWatch {
  package enum Change {
    case none
    case underlay
    /// Another program has changed one of our objects.
    case ours
    /// The underlay's default route or carrier is gone, or another default route takes its place.
    case way
  }

  private let events: KernelEvents
  private let machine: LinuxMachine
  package private(set) var counters = StatusReport.Counters()

  /// From here on the machine's observations determine the subscriptions.
  package init(_ machine: LinuxMachine) throws(NetlinkError) {
    self.machine = machine
    events = try KernelEvents()
    machine.kernel.events = events
  }

  package var descriptors: [Int32] { events.descriptors }

  /// Reads the pending events. Lost events count as a change: only a new observation shows what they were.
  package func change() -> Change {
    let change = events.drain(known: machine.kernel.lastRead)
    let isMissing = events.narrow() && !machine.confirmsLastRead()
    counters.events += change.events
    if change.overflowed { counters.overflows += 1 }
    machine.kernel.linksAreGone(change.goneLinks)
    if change.takesWay { return .way }
    if change.isOfOurs { return .ours }
    return change.isRelevant || isMissing ? .underlay : .none
  }
}
