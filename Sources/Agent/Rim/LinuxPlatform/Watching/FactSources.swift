internal import LinuxIO
internal import NetworkTypes
internal import RoamwardCore

/// The source of a fact: it reports changes of the fact, at which the fact is read again.
enum FactSource: Sendable {
  /// rtnetlink and nl80211 (`KernelWatch`).
  case kernel
  /// The bus and the files of the host's programs (`HostServices`).
  case hostServices
  /// The answers of portals and beacons (`HostProbes`).
  case probes
  /// The agent reads the fact itself, at these events.
  case direct(DirectEvents, read: @Sendable (inout NetworkSnapshot) -> Void)

  static func direct<Value>(
    _ fact: any WritableKeyPath<NetworkSnapshot, Fact<Value>> & Sendable, at events: DirectEvents,
    _ read: @escaping @Sendable () -> Fact<Value>
  ) -> FactSource {
    .direct(events) { $0[keyPath: fact] = read() }
  }
}

/// Events for facts that the agent reads itself. `HostWatch` watches those that a needed fact has.
enum DirectEvents: CaseIterable {
  /// The clock and its time zone.
  case clock
  /// The kernel's events of power supplies.
  case powerSupplies
  /// Sessions that begin and end.
  case sessions

  /// The facts of these that are read at the events.
  func facts(of facts: Set<FactKind>) -> Set<FactKind> {
    facts.filter { if case .direct(self, _) = $0.source { true } else { false } }
  }
}

extension FactKind {
  /// A new fact does not compile without its source: it would be unknown for ever, and no event would wake the agent for it.
  var source: FactSource {
    switch self {
    case .type, .ssid, .bssid, .wifiSecurity, .gatewayMAC: .kernel
    case .dnsServers, .searchDomains, .metered: .hostServices
    case .captivePortal, .internet: .probes
    case .users: .direct(\.users, at: .sessions) { presentUsers() }
    case .time: .direct(\.time, at: .clock) { .known(.now) }
    case .power: .direct(\.power, at: .powerSupplies) { powerSource() }
    }
  }
}

extension NetworkSnapshot {
  /// Reads those of the facts that the agent reads itself.
  mutating func read(_ facts: Set<FactKind>) {
    for fact in facts { if case .direct(_, let read) = fact.source { read(&self) } }
  }
}
