import AgentCore
package import ControlProtocol
package import KernelNetwork
import NetworkTypes
internal import RoamwardCore

/// The kernel's events as one question: has anything changed that matters?
package final class KernelWatch {
  package enum Change {
    case none
    case underlay
    /// Somebody has changed what is ours.
    case ours
    /// The underlay's default route or carrier is gone, or another default route takes its place.
    case way
  }

  private let events: KernelEvents
  private let machine: LinuxMachine
  package private(set) var counters = StatusReport.Counters()

  /// From here on the machine's looks say what is listened to.
  package init(_ machine: LinuxMachine) throws(NetlinkError) {
    self.machine = machine
    events = try KernelEvents()
    machine.events = events
  }

  package var descriptors: [Int32] { events.descriptors }

  /// Takes what is waiting. Lost events count as a change: only a fresh look tells what they were.
  package func change() -> Change {
    let change = events.drain(known: machine.lastRead)
    counters.events += change.events
    if change.overflowed { counters.overflows += 1 }
    machine.linksAreGone(change.goneLinks)
    if change.takesWay { return .way }
    if change.isOfOurs { return .ours }
    return change.isRelevant ? .underlay : .none
  }
}
