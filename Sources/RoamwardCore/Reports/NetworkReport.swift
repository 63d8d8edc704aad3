import NetworkTypes

/// `roamward network`, for people: the primary link's facts in about ten lines, then the other links by name.
package func report(_ snapshot: NetworkSnapshot) -> String {
  guard let link = snapshot.primaryLink else {
    return "no network: no link has a default route\n" + otherLinks(snapshot)
  }
  let rows: [(String, String)] = [
    ("link", link.name), ("interface", words(link.type) { $0.rawValue }),
    ("ssid", words(link.ssid) { $0.map { "\"\($0)\"" } ?? "none" }),
    ("address", list(link.addresses)), ("gateway", list(link.gateways)),
    ("gateway-mac", words(link.gatewayMAC) { $0?.description ?? "none" }),
    ("dns-server", words(link.dnsServers, list)), ("dns-domain", words(link.searchDomains, list)), ("mtu", String(link.mtu)),
    ("captive", words(snapshot.captivePortal) { $0 ? "behind a captive portal" : "no captive portal" }),
    ("internet", words(snapshot.internet) { $0 ? "yes" : "no" }),
    ("network", NetworkIdentity(of: snapshot).words),
  ]
  return rows.map { "\(pad($0.0, 12)) \($0.1)\n" }.joined() + otherLinks(snapshot)
}

private func otherLinks(_ snapshot: NetworkSnapshot) -> String {
  let others = snapshot.links.filter { $0.name != snapshot.primary }
  return others.isEmpty
    ? "" : "\(pad("also there", 12)) \(others.map { "\($0.name) (\(words($0.type) { $0.rawValue }))" }.joined(separator: ", "))\n"
}

private func list(_ items: [some CustomStringConvertible]) -> String {
  items.isEmpty ? "none" : items.map(\.description).joined(separator: ", ")
}

private func words<Value>(_ fact: Fact<Value>, _ known: (Value) -> String) -> String {
  switch fact {
  case .known(let value): known(value)
  case .unknown(let reason): "unknown: \(reason)"
  }
}
