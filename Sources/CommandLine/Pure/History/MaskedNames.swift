package import FlightRecord
import NetworkTypes
package import RoamwardCore

extension RecordedHistory {
  /// The history with the names that these policies know in the place of their digests, so that their rules can be evaluated.
  package func revealing(_ policies: PolicySet, _ privacy: NamePrivacy?) -> RecordedHistory {
    guard let privacy, names.contains(.hashed) else { return self }
    var ssids: [SSID: SSID] = [:]
    var addresses: [MACAddress: MACAddress] = [:]
    for constant in policies.constants {
      switch constant {
      case .name(let bytes): if let ssid = SSID(bytes: bytes) { ssids[privacy.masked(ssid)] = ssid }
      case .hardwareAddress(let address): addresses[privacy.masked(address)] = address
      default: break
      }
    }
    var history = self
    for i in history.networks.indices {
      for j in history.networks[i].links.indices { history.networks[i].links[j].reveal(ssids, addresses) }
    }
    return history
  }

  /// The facts that these policies ask for, and that the record leaves out, each with the reason.
  package func leftOut(for policies: PolicySet, known: [RecordedPolicy]) -> [String] {
    let needed = policies.ruleFacts(of: policies.tunnels)
    var lines = needed.intersection(hidden).map(\.rawValue).sorted().map { "\($0): left out by `history: names`" }
    if names.contains(.hashed), policies.hasPatternsOfNames { lines.append("ssid: patterns cannot be compared with digests") }
    let unread = needed.subtracting(hidden).filter { fact in known.contains { !$0.facts.contains(fact.rawValue) } }
    lines += unread.map(\.rawValue).sorted().map { "\($0): no policy asked for it at all times, so it was not always read" }
    return lines
  }

  /// The facts that a tunnel's rules ask for, and that the record leaves out: its decisions cannot be told from the record.
  package func leftOut(for tunnel: TunnelPolicy, of policies: PolicySet) -> Set<FactKind> {
    policies.ruleFacts(of: [tunnel]).intersection(hidden)
  }

  /// The facts that the record leaves out.
  private var hidden: Set<FactKind> {
    names.contains(.none)
      ? [.ssid, .bssid, .gatewayMAC, .dnsServers, .searchDomains, .users] : names.contains(.hashed) ? [.searchDomains, .users] : []
  }
}

extension LinkFacts {
  fileprivate mutating func reveal(_ ssids: [SSID: SSID], _ addresses: [MACAddress: MACAddress]) {
    if case .known(.some(let name)) = ssid, let real = ssids[name] { ssid = .known(real) }
    if case .known(.some(let address)) = bssid, let real = addresses[address] { bssid = .known(real) }
    if case .known(.some(let address)) = gatewayMAC, let real = addresses[address] { gatewayMAC = .known(real) }
  }
}

extension PolicySet {
  fileprivate var constants: [FactConstant] {
    networks.flatMap(\.condition.constants) + tunnels.flatMap { $0.onDemand.rules.flatMap(\.match.constants) }
  }

  fileprivate var hasPatternsOfNames: Bool { constants.contains { if case .pattern = $0 { true } else { false } } }
}

extension Condition {
  fileprivate var constants: [FactConstant] {
    switch self {
    case .all(let parts), .any(let parts): parts.flatMap(\.constants)
    case .not(let part): part.constants
    case .network: []
    case .criterion(let criterion): criterion.constants
    }
  }
}
