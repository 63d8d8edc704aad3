import NetworkTypes

extension LinkFacts {
  /// Makes a fact unknown; those of the machine are not the link's.
  package mutating func makeUnknown(_ kind: FactKind, because reason: String) {
    switch kind {
    case .type: type = .unknown(because: reason)
    case .ssid: ssid = .unknown(because: reason)
    case .bssid: bssid = .unknown(because: reason)
    case .wifiSecurity: wifiSecurity = .unknown(because: reason)
    case .gatewayMAC: gatewayMAC = .unknown(because: reason)
    case .dnsServers: dnsServers = .unknown(because: reason)
    case .searchDomains: searchDomains = .unknown(because: reason)
    case .metered: metered = .unknown(because: reason)
    case .captivePortal, .internet, .time, .power: break
    }
  }

  fileprivate mutating func take(_ kind: FactKind, from other: LinkFacts) {
    switch kind {
    case .type: type = other.type
    case .ssid: ssid = other.ssid
    case .bssid: bssid = other.bssid
    case .wifiSecurity: wifiSecurity = other.wifiSecurity
    case .gatewayMAC: gatewayMAC = other.gatewayMAC
    case .dnsServers: dnsServers = other.dnsServers
    case .searchDomains: searchDomains = other.searchDomains
    case .metered: metered = other.metered
    case .captivePortal, .internet, .time, .power: break
    }
  }

  package func unknownReason(of kind: FactKind) -> String? {
    switch kind {
    case .type: type.reason
    case .ssid: ssid.reason
    case .bssid: bssid.reason
    case .wifiSecurity: wifiSecurity.reason
    case .gatewayMAC: gatewayMAC.reason
    case .dnsServers: dnsServers.reason
    case .searchDomains: searchDomains.reason
    case .metered: metered.reason
    case .captivePortal, .internet, .time, .power: nil
    }
  }
}

extension NetworkSnapshot {
  package mutating func makeUnknown(_ kind: FactKind, because reason: String) {
    switch kind {
    case .captivePortal: captivePortal = .unknown(because: reason)
    case .internet: internet = .unknown(because: reason)
    case .time: time = .unknown(because: reason)
    case .power: power = .unknown(because: reason)
    default: break
    }
  }

  package func unknownReason(of kind: FactKind) -> String? {
    switch kind {
    case .captivePortal: captivePortal.reason
    case .internet: internet.reason
    case .time: time.reason
    case .power: power.reason
    default: nil
    }
  }

  fileprivate mutating func take(_ kind: FactKind, from other: NetworkSnapshot) {
    switch kind {
    case .captivePortal: captivePortal = other.captivePortal
    case .internet: internet = other.internet
    case .time: time = other.time
    case .power: power = other.power
    default: break
    }
  }
}

extension Underlay {
  package init(snapshot: NetworkSnapshot, provenance: Provenance) {
    self.snapshot = snapshot
    self.provenance = provenance
  }

  /// Fills in from another look at the same machine what nobody asked about in this one.
  package mutating func complete(from other: Underlay) {
    func isMissing(_ reason: String?) -> Bool { reason == Fact<Bool>.notNeededReason }
    for i in snapshot.links.indices {
      let name = snapshot.links[i].name
      guard let there = other.snapshot.links.first(where: { $0.name == name }) else { continue }
      for kind in FactKind.allCases where kind.isOfLink && isMissing(snapshot.links[i].unknownReason(of: kind)) {
        snapshot.links[i].take(kind, from: there)
        provenance.links[name, default: [:]][kind] = other.provenance.links[name]?[kind]
      }
    }
    for kind in FactKind.allCases where !kind.isOfLink && isMissing(snapshot.unknownReason(of: kind)) {
      snapshot.take(kind, from: other.snapshot)
      provenance.machine[kind] = other.provenance.machine[kind]
    }
  }
}

extension Fact {
  fileprivate var reason: String? { if case .unknown(let reason) = self { reason } else { nil } }
}
