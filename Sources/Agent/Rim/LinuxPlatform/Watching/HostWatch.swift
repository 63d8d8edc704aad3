import AgentCore
internal import Glibc
import KernelNetwork
internal import LinuxIO
import NetworkTypes
package import RoamwardCore
package import SystemdIO

/// Watches the needed facts of the host, and nothing else: the clock and its time zone, and the power source.
package final class HostWatch {
  private let loop: EventLoop
  private let changed: () -> Void
  private var clock: EventSource?
  private var power: EventSource?
  private var powerEvents: PowerEvents?
  private var lastPower: Fact<PowerSource>?
  package private(set) var files: [String] = []

  package init(_ loop: EventLoop, changed: @escaping () -> Void) {
    self.loop = loop
    self.changed = changed
  }

  package func need(_ facts: Set<FactKind>) {
    let events = Set(facts.map(\.events))
    let needsTime = events.contains(.clock)
    files = needsTime ? ["/etc/localtime"] : []
    if !needsTime {
      clock = nil
    } else if clock == nil {
      clock = try? loop.onClockChange { [weak self] in self?.changed() }
    }
    watchPower(events.contains(.powerSupplies))
  }

  /// A battery reports every percent; only a change of the power source is an event.
  private func watchPower(_ isNeeded: Bool) {
    guard isNeeded else {
      power = nil
      powerEvents = nil
      return
    }
    guard powerEvents == nil, let events = try? PowerEvents() else { return }
    powerEvents = events
    lastPower = powerSource()
    power = try? loop.whenReadable(events.descriptor) { [weak self] in
      guard let self, events.drain() else { return }
      let now = powerSource()
      guard now != lastPower else { return }
      lastPower = now
      changed()
    }
  }
}
