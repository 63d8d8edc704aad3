internal import LinuxIO
internal import NetworkTypes
internal import RoamwardCore

/// The source of the events that report a change of a fact, at which it is read again.
enum FactEvents: Hashable {
  /// rtnetlink and nl80211 (`KernelWatch`).
  case kernel
  /// The bus and the files of the host's programs (`HostServices`).
  case hostServices
  /// The answers of portals and beacons (`HostProbes`).
  case probes
  /// The clock and its time zone (`HostWatch`).
  case clock
  /// The kernel's events of power supplies (`HostWatch`).
  case powerSupplies
}

extension FactKind {
  /// The events that report a change of the fact. A new fact does not compile without them: no event would wake the agent for it.
  var events: FactEvents {
    switch self {
    case .type, .ssid, .bssid, .wifiSecurity, .gatewayMAC: .kernel
    case .dnsServers, .searchDomains, .metered: .hostServices
    case .captivePortal, .internet: .probes
    case .time: .clock
    case .power: .powerSupplies
    }
  }
}

extension SnapshotInputs {
  /// Reads the facts that no other source has.
  mutating func readDirectly(_ facts: Set<FactKind>) {
    for fact in facts {
      switch fact.events {
      case .clock: direct.time = .known(.now)
      case .powerSupplies: direct.power = powerSource()
      case .kernel, .hostServices, .probes: break
      }
    }
  }
}
