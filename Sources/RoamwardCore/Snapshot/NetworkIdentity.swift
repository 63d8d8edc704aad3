package import NetworkTypes

/// What makes one network another: when it changes, a hold that lasts "until the network changes" ends.
///
/// Left out on purpose: own addresses and leases (they renew), name servers, MTU, and links that are not primary (containers come and go).
package struct NetworkIdentity: Hashable, Sendable {
  package let link: String?
  package let type: InterfaceType?
  package let ssid: SSID?
  package let gateways: [IPAddress]
  package let gatewayMAC: MACAddress?

  package init(link: String?, type: InterfaceType?, ssid: SSID?, gateways: [IPAddress], gatewayMAC: MACAddress?) {
    self.link = link
    self.type = type
    self.ssid = ssid
    self.gateways = gateways
    self.gatewayMAC = gatewayMAC
  }

  package init(of snapshot: NetworkSnapshot) {
    let primary = snapshot.primaryLink
    link = primary?.name
    type = primary?.type.value
    ssid = primary?.ssid.value ?? nil
    gateways = primary?.gateways ?? []
    gatewayMAC = primary?.gatewayMAC.value ?? nil
  }

  /// Whether both may be the same network: what one of them does not know yet does not tell them apart.
  package func isSame(as other: NetworkIdentity) -> Bool {
    func agree<T: Equatable>(_ a: T?, _ b: T?) -> Bool { a == nil || b == nil || a == b }
    return link == other.link && agree(type, other.type) && ssid == other.ssid && agree(gatewayMAC, other.gatewayMAC)
      && IPAddress.Family.allCases.allSatisfy { agree(gateways(of: $0), other.gateways(of: $0)) }
  }

  /// `nil` where the family has none (yet): IPv4 and IPv6 come up one after the other.
  private func gateways(of family: IPAddress.Family) -> [IPAddress]? {
    let own = gateways.filter { $0.family == family }
    return own.isEmpty ? nil : own
  }
}
