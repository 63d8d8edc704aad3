package import NetworkTypes
package import RoamwardCore

/// The evidence by which a network is recognised again: the strongest that its snapshot has.
///
/// An SSID, a subnet or a domain can be shown by any network. The gateway's hardware address and the access point's are hard to forge.
/// So is the security of a Wi-Fi network: with a passphrase, the access point has to know it too. Everything is asked for together.
package struct NetworkEvidence: Equatable, Sendable {
  /// The match of a named network.
  package var condition: Condition
  /// The criteria for people: `ssid "Home", gateway-mac 02:00:5e:10:00:01`.
  package var text: String
  /// The reason why any stranger's network could show the same; `nil`: it could not.
  package var weakness: String?
  /// A limit of the evidence that a person should know.
  package var remark: String?

  /// The evidence of the primary link; `nil` without a network, or if nothing distinguishes it from others.
  package init?(of snapshot: NetworkSnapshot, probe: Probe? = nil) {
    guard let link = snapshot.primaryLink else { return nil }
    var criteria: [Condition] = []
    var texts: [String] = []
    let isWiFi = link.type.value == .wifi
    if let ssid = link.ssid.value ?? nil {
      criteria.append(.ssid([ssid]))
      texts.append("ssid \"\(ssid)\"")
    } else if let type = link.type.value {
      criteria.append(.interface([type]))
      texts.append("interface \(type.rawValue)")
    }
    if let security = link.wifiSecurity.value ?? nil, security.isProtected {
      // A network of two generations shows the one that the card and the access point agree on.
      criteria.append(.wifiSecurity(security.generations))
      texts.append("wifi-security \(security.generations.map(\.rawValue).joined(separator: " or "))")
    }
    let prefixes = link.ownPrefixes
    if !isWiFi, !prefixes.isEmpty {
      criteria.append(.subnet(prefixes))
      texts.append("subnet \(prefixes.map(\.description).joined(separator: ", "))")
    }
    let proof: Condition?
    if let mac = link.gatewayMAC.value ?? nil {
      proof = .gatewayMAC([mac])
      texts.append("gateway-mac \(mac)")
    } else if let bssid = link.bssid.value ?? nil {
      proof = .bssid([bssid])
      texts.append("bssid \(bssid)")
      remark = "the gateway's hardware address is not known, so only this access point counts; run the command again at others"
    } else {
      proof = nil
    }
    if let proof { criteria.append(proof) }
    if let probe {
      criteria.append(.probe(probe))
      texts.append("probe \(probe.url)" + (probe.pins.isEmpty ? "" : " with a pin"))
    }
    if isWiFi, link.wifiSecurity.value == .some(.open) {
      let open = "this Wi-Fi network is open: anyone nearby can be on it, and show the same hardware addresses"
      remark = remark.map { "\(open); \($0)" } ?? open
    }
    guard !criteria.isEmpty else { return nil }
    condition = .all(criteria)
    text = texts.joined(separator: ", ")
    if proof == nil, probe?.pins.isEmpty ?? true {
      weakness = "neither the gateway's hardware address nor the access point's is known, and anyone's network can show the rest"
    }
  }

  /// A Wi-Fi network by its name alone.
  package init(ssid: SSID) {
    condition = .all([.ssid([ssid])])
    text = "ssid \"\(ssid)\""
    weakness = "anyone may name an access point \"\(ssid)\""
  }
}

extension WiFiSecurity {
  /// Whether an access point has to know a secret of the network.
  fileprivate var isProtected: Bool { generations != [self] || self == .wpa }

  /// The securities that the same access points may show another time.
  fileprivate var generations: [WiFiSecurity] {
    switch self {
    case .wpa2, .wpa3: [.wpa2, .wpa3]
    case .wpa2Enterprise, .wpa3Enterprise: [.wpa2Enterprise, .wpa3Enterprise]
    default: [self]
    }
  }
}

extension LinkFacts {
  /// The prefixes of its own IPv4 addresses, without link-local ones. Those of IPv6 change with the provider's.
  fileprivate var ownPrefixes: [IPPrefix] {
    addresses.filter { !$0.address.isLinkLocal && $0.address.family == .v4 }.map(\.onLinkPrefix).uniqued()
  }
}
