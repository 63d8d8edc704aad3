import AgentCore
internal import Glibc
import KernelNetwork
internal import LinuxIO
import NetworkTypes
package import RoamwardCore
package import SystemdIO

/// Watches the events of needed facts that the agent reads itself, and nothing else.
package final class HostWatch {
  private let loop: EventLoop
  private let changed: () -> Void
  private var clock: EventSource?
  private var power: EventSource?
  private var powerEvents: PowerEvents?
  /// The watched facts of power supplies, and their last values; the rest of the snapshot is not used.
  private var powerFacts: Set<FactKind> = []
  private var lastPower = NetworkSnapshot.unread
  private var sessions: FileWatcher?
  private var lastUsers = NetworkSnapshot.unread
  package private(set) var files: [String] = []

  package init(_ loop: EventLoop, changed: @escaping () -> Void) {
    self.loop = loop
    self.changed = changed
  }

  package func need(_ facts: Set<FactKind>) {
    for events in DirectEvents.allCases {
      let needed = events.facts(of: facts)
      switch events {
      case .clock: watchClock(!needed.isEmpty)
      case .powerSupplies: watchPower(needed)
      case .sessions: watchSessions(needed)
      }
    }
  }

  private func watchClock(_ isNeeded: Bool) {
    files = isNeeded ? ["/etc/localtime"] : []
    if !isNeeded {
      clock = nil
    } else if clock == nil {
      clock = try? loop.onClockChange { [weak self] in self?.changed() }
    }
  }

  /// A session's file is written at each of its changes; only a change of a watched fact is an event.
  private func watchSessions(_ facts: Set<FactKind>) {
    guard !facts.isEmpty else {
      sessions = nil
      return
    }
    if sessions != nil { return }
    lastUsers.read(facts)
    let watcher = FileWatcher(loop: loop, settle: .milliseconds(20)) { [weak self] in
      guard let self else { return }
      let before = lastUsers
      lastUsers.read(facts)
      // A folder that was not there has to be watched now.
      sessions?.watch(folders: [sessionsFolder], files: [])
      if lastUsers != before { changed() }
    }
    watcher.watch(folders: [sessionsFolder], files: [])
    sessions = watcher
  }

  /// A battery reports every percent; only a change of a watched fact is an event.
  private func watchPower(_ facts: Set<FactKind>) {
    let isSame = facts == powerFacts
    powerFacts = facts
    guard !facts.isEmpty else {
      power = nil
      powerEvents = nil
      return
    }
    if powerEvents != nil, isSame { return }
    if powerEvents == nil, let events = try? PowerEvents() {
      powerEvents = events
      power = try? loop.whenReadable(events.descriptor) { [weak self] in
        guard let self, events.drain() else { return }
        let before = lastPower
        lastPower.read(powerFacts)
        if lastPower != before { changed() }
      }
    }
    lastPower.read(facts)
  }
}
