import NetworkTypes

/// The text of `roamward network`: the network in one sentence, then its facts with their sources. `now` in seconds since 1970.
package func report(_ snapshot: NetworkSnapshot, from provenance: Provenance = Provenance(), at now: Int64? = nil) -> String {
  guard let link = snapshot.primaryLink else {
    return "No network: no link has a default route.\n" + otherLinks(snapshot)
  }
  func source(_ kinds: FactKind...) -> String {
    kinds.compactMap { provenance.origin(of: $0, on: link.name)?.believed.map(\.shortly) }.uniqued().joined(separator: "; ")
      + kinds.compactMap { provenance.origin(of: $0, on: link.name)?.ageText(at: now) }.prefix(1).joined()
  }
  var rows: [(label: String, value: String, source: String)] = [
    ("link", "\(link.name), \(text(link.type) { $0.rawValue }), mtu \(link.mtu)", source(.type))
  ]
  if link.isOnWiFi {
    let parts = [text(link.ssid, naming), text(link.wifiSecurity) { $0?.rawValue ?? "security none" }, text(link.bssid, naming)]
    let known = [isShown(link.ssid), isShown(link.wifiSecurity), isShown(link.bssid)]
    rows.append(("wi-fi", zip(parts, known).filter(\.1).map(\.0).joined(separator: ", "), source(.ssid, .wifiSecurity, .bssid)))
  }
  rows.append(("address", list(link.addresses), ""))
  rows.append(("gateway", gateway(of: link), source(.gatewayMAC)))
  rows.append(("dns-server", text(link.dnsServers, list), source(.dnsServers)))
  rows.append(("dns-domain", text(link.searchDomains, list), source(.searchDomains)))
  rows.append(("internet", internet(snapshot), source(.internet)))
  rows.append(("metered", text(link.metered) { $0 ? "yes" : "no" }, source(.metered)))
  if case .known(let users) = snapshot.users { rows.append(("users", users.isEmpty ? "none" : list(users), source(.users))) }
  let time = snapshot.time.value.map { ", \($0.day) \(clockText(minute: $0.second / 60))" } ?? ""
  rows.append(("power", text(snapshot.power) { $0.rawValue } + time, source(.power)))
  rows.append(("identity", NetworkIdentity(of: snapshot).text, ""))
  let width = min(48, columns(ofWidest: rows.filter { !$0.source.isEmpty }.map(\.value)))
  let lines = rows.map { row in
    row.source.isEmpty ? "\(pad(row.label, 11)) \(row.value)" : "\(pad(row.label, 11)) \(pad(row.value, width))  \(row.source)"
  }
  return ([sentence(link)] + lines).map { $0 + "\n" }.joined() + otherLinks(snapshot)
}

/// The text of `roamward network --explain-facts`: every source that was queried for each fact, in order, with its answer.
package func explanation(of snapshot: NetworkSnapshot, from provenance: Provenance, at now: Int64?) -> String {
  let primary = snapshot.primaryLink
  let others = snapshot.links.filter { $0.name != primary?.name }
  let ofLinks = ([primary].compactMap { $0 } + others).flatMap { link in
    FactKind.allCases.compactMap { kind -> String? in
      guard case .link(let access) = kind.declaration.place else { return nil }
      return explained(kind.rawValue, access.text(link), provenance.links[link.name]?[kind], on: link.name, at: now)
    }
  }
  let ofMachine = FactKind.allCases.compactMap { kind -> String? in
    guard case .machine(let access) = kind.declaration.place else { return nil }
    return explained(kind.rawValue, access.text(snapshot), provenance.machine[kind], on: nil, at: now)
  }
  return (ofLinks + ofMachine).joined()
}

private func explained(_ fact: String, _ value: String, _ origin: FactOrigin?, on link: String?, at now: Int64?) -> String {
  let width = max(16, columns(ofWidest: (origin?.sources ?? []).map(\.source)))
  var lines = ["\(link.map { "\($0) " } ?? "")\(fact): \(value)"]
  for answer in origin?.sources ?? [] {
    let age = answer.isBelieved ? origin?.ageText(at: now) ?? "" : ""
    let reason = answer.reason.map { "  (\($0))" } ?? ""
    lines.append("  \(answer.isBelieved ? "*" : "-") \(pad(answer.source, width))  \(answer.said)\(reason)\(age)")
  }
  return lines.map { $0 + "\n" }.joined()
}

extension SourceAnswer {
  fileprivate var shortly: String { source + (reason.map { ": \($0)" } ?? "") }
}

extension FactOrigin {
  /// The age as `, 3 min ago`; `nil` for a fact observed just now.
  fileprivate func ageText(at now: Int64?) -> String? {
    guard let now, let confirmed, now - confirmed >= 5 else { return nil }
    switch now - confirmed {
    case let s where s < 60: return ", \(s) s ago"
    case let s where s < 3600: return ", \(s / 60) min ago"
    case let s: return ", \(s / 3600) h ago"
    }
  }
}

extension LinkFacts {
  fileprivate var isOnWiFi: Bool { type.value == .wifi || (ssid.value ?? nil) != nil }
}

private func sentence(_ link: LinkFacts) -> String {
  let place =
    switch (link.type.value, link.ssid.value ?? nil) {
    case (_, let ssid?): "on the Wi-Fi network \"\(ssid)\""
    case (.wifi?, nil): "on a Wi-Fi network without a known name"
    case (.ethernet?, nil): "on a cable"
    case (.cellular?, nil): "on a mobile network"
    case (.usbTether?, nil): "on a phone's connection, over USB"
    case (.bluetooth?, nil): "on a phone's connection, over Bluetooth"
    case (let type?, nil): "on a link of type \(type.rawValue)"
    case (nil, nil): "on a link whose type is not known"
    }
  return "You are \(place), through \(link.name)."
}

private func gateway(of link: LinkFacts) -> String {
  guard let first = link.gateways.first else { return "none: the link leads to one peer" }
  let rest = link.gateways.dropFirst().map { ", \($0)" }.joined()
  switch link.gatewayMAC {
  case .known(let address?): return "\(first) at \(address)\(rest)"
  case .known(nil): return "\(first)\(rest)"
  case .unknown: return "\(first), hardware address not known yet\(rest)"
  }
}

private func internet(_ snapshot: NetworkSnapshot) -> String {
  switch (snapshot.internet, snapshot.captivePortal) {
  case (_, .known(true)): "behind a captive portal"
  case (.known(true), _): "yes"
  case (.known(false), _): "no"
  case (.unknown(let reason), _): "unknown: \(reason)"
  }
}

private func otherLinks(_ snapshot: NetworkSnapshot) -> String {
  let others = snapshot.links.filter { $0.name != snapshot.primary }
  return others.isEmpty
    ? "" : "\(pad("also there", 11)) \(others.map { "\($0.name) (\(text($0.type) { $0.rawValue }))" }.joined(separator: ", "))\n"
}

/// Whether the fact was requested, and so is shown.
private func isShown<Value>(_ fact: Fact<Value>) -> Bool { !fact.isNotNeeded }

private func naming(_ ssid: SSID?) -> String { ssid.map { "\"\($0)\"" } ?? "none" }

private func naming(_ address: MACAddress?) -> String { address?.description ?? "none" }

private func list(_ items: [some CustomStringConvertible]) -> String {
  items.isEmpty ? "none" : items.map(\.description).joined(separator: ", ")
}

private func text<Value>(_ fact: Fact<Value>, _ known: (Value) -> String) -> String {
  switch fact {
  case .known(let value): known(value)
  case .unknown(let reason): "unknown: \(reason)"
  }
}
