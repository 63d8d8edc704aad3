package import KeyMemory
package import NetworkTypes
package import RoamwardCore

/// The treatment of network names in the record: a function from a network to the network that is recorded.
package struct NamePrivacy: Sendable {
  package let names: HistorySettings.Names
  private let digest: KeyedDigest

  /// The reason of a fact that is unknown because the record leaves it out.
  package static let reason = "the record leaves it out (history: names)"

  /// `digest`: under the record's own key.
  package init(_ names: HistorySettings.Names, _ digest: KeyedDigest) {
    self.names = names
    self.digest = digest
  }

  /// Whether free text is recorded: reasons name networks.
  package var hasText: Bool { names == .full }

  package func masked(_ snapshot: NetworkSnapshot) -> NetworkSnapshot {
    if names == .full { return snapshot }
    var masked = snapshot
    masked.portalAPI = nil
    masked.users = leftOut(snapshot.users)
    masked.links = snapshot.links.map { self.masked($0) }
    return masked
  }

  private func masked(_ link: LinkFacts) -> LinkFacts {
    var masked = link
    masked.device = nil
    // Its name makes it Wi-Fi, and the record may leave that out.
    if link.type.value == nil, link.showsRadio { masked.type = .known(.wifi) }
    masked.searchDomains = leftOut(link.searchDomains)
    switch names {
    case .full: return link
    case .hashed:
      masked.ssid = link.ssid.map { $0.map { self.masked($0) } }
      masked.bssid = link.bssid.map { $0.map { self.masked($0) } }
      masked.gatewayMAC = link.gatewayMAC.map { $0.map { self.masked($0) } }
    case .none:
      masked.ssid = leftOut(link.ssid)
      masked.bssid = leftOut(link.bssid)
      masked.gatewayMAC = leftOut(link.gatewayMAC)
      masked.dnsServers = leftOut(link.dnsServers)
      masked.addresses = []
      masked.gateways = []
      masked.preferredSources = []
    }
    return masked
  }

  private func leftOut<Value>(_ fact: Fact<Value>) -> Fact<Value> {
    fact.value == nil ? fact : .unknown(reason: Self.reason)
  }

  /// `#` and 16 hexadecimal digits.
  package func masked(_ ssid: SSID) -> SSID {
    SSID(bytes: Array("#".utf8) + digest(Array("ssid:".utf8) + ssid.bytes).prefix(8).flatMap { Array(hexadecimal($0).utf8) }) ?? ssid
  }

  /// A locally administered address.
  package func masked(_ address: MACAddress) -> MACAddress {
    var bytes = Array(digest(Array("mac:".utf8) + address.bytes).prefix(6))
    bytes[0] = bytes[0] & 0xfc | 0x02
    return MACAddress(bytes: bytes) ?? address
  }

  /// An identification of text: 32 hexadecimal digits.
  package func identification(of text: String) -> String { digest(Array(text.utf8)).map(hexadecimal).joined() }
}

extension Fact {
  fileprivate func map<Other>(_ change: (Value) -> Other) -> Fact<Other> {
    switch self {
    case .known(let value): .known(change(value))
    case .unknown(let reason): .unknown(reason: reason)
    }
  }
}
