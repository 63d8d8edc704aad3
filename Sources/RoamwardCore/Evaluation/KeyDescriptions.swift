import NetworkTypes

/// What was found for one key, beside what was wanted: `ssid "Cafe" is none of "Home", "Home 5G"`.
func describe(_ condition: Condition, on scene: Scene) -> String {
  let link = scene.link
  let snapshot = scene.snapshot
  let holds = test(condition, on: scene)
  switch condition {
  case .interface(let types):
    return describe(link.type, as: "interface") { found in
      holds == .yes ? found.rawValue : "\(found.rawValue) is \(none(of: types.map(\.rawValue)))"
    }
  case .interfaceName(let globs): return "interface-name \(link.name) \(relation(holds, to: globs.map(\.description)))"
  case .ssid(let names): return optional(link.ssid, "ssid", quoted, holds, names.map(quoted))
  case .ssidGlob(let globs): return optional(link.ssid, "ssid", quoted, holds, globs.map(\.description))
  case .ssidFile(let file): return describe(file, link.ssid, holds)
  case .bssid(let addresses): return optional(link.bssid, "bssid", \.description, holds, addresses.map(\.description))
  case .wifiSecurity(let kinds): return optional(link.wifiSecurity, "wifi-security", \.rawValue, holds, kinds.map(\.rawValue))
  case .dnsDomain(let patterns):
    return describe(link.searchDomains, as: "dns-domain") { found in
      guard !found.isEmpty else { return "no dns-domain" }
      return "dns-domain \(list(found)) is \(holds == .yes ? "" : "not ")within \(list(patterns))"
    }
  case .dnsServer(let patterns, let quantifier):
    return describe(link.dnsServers, as: "dns-server") { found in
      guard !found.isEmpty else { return "no dns-server" }
      let verdict = quantifier == .any ? (holds == .yes ? "one is in" : "none is in") : holds == .yes ? "each is in" : "not each is in"
      return "dns-server \(list(found)): \(verdict) \(list(patterns))"
    }
  case .subnet(let prefixes):
    let own = link.addresses.filter { !$0.address.isLinkLocal }.map(\.address)
    return "\(own.isEmpty ? "no address" : "address \(list(own))") is \(holds == .yes ? "" : "not ")in \(list(prefixes))"
  case .gateway(let addresses):
    return link.gateways.isEmpty ? "no gateway" : "gateway \(list(link.gateways)) \(relation(holds, to: addresses.map(\.description)))"
  case .gatewayMAC(let addresses): return optional(link.gatewayMAC, "gateway-mac", \.description, holds, addresses.map(\.description))
  case .probe(let probe):
    let before = snapshot.rememberedProbes[probe.name] == nil ? "" : " when it was last here"
    return describe(snapshot.answer(to: probe), as: "probe \(probe.url)") {
      "probe \(probe.url): \($0 ? "answered" : "not answered")\(before)"
    }
  case .captivePortal: return describe(snapshot.captivePortal, as: "captive-portal") { $0 ? "a captive portal" : "no captive portal" }
  case .internet: return describe(snapshot.internet, as: "internet") { $0 ? "internet" : "no internet" }
  case .metered: return describe(link.metered, as: "metered") { $0 ? "metered" : "not metered" }
  case .time(let window):
    return describe(snapshot.time, as: "time") { "\(clock($0)) is \(holds == .yes ? "" : "not ")in \(window)" }
  case .power(let sources):
    return describe(snapshot.power, as: "power") { "power \($0.rawValue) \(relation(holds, to: sources.map(\.rawValue)))" }
  case .all, .any, .not, .network: return condition.key
  }
}

private func describe(_ file: SSIDFile, _ ssid: Fact<SSID?>, _ holds: Truth) -> String {
  describe(ssid, as: "ssid") { found in
    guard let found else { return "no ssid" }
    if case .unreadable(let reason) = file.contents { return "ssid-file \(file.path) cannot be read: \(reason)" }
    return "ssid \(quoted(found)) is \(holds == .yes ? "" : "not ")in \(file.path)"
  }
}

private func describe<Value>(_ fact: Fact<Value>, as key: String, _ words: (Value) -> String) -> String {
  switch fact {
  case .known(let value): words(value)
  case .unknown(let reason): "\(key) is unknown: \(reason)"
  }
}

/// A fact that may be known to be absent: `ssid "Cafe" is not "Home"`, or `no ssid`.
private func optional<Value>(_ fact: Fact<Value?>, _ key: String, _ text: (Value) -> String, _ holds: Truth, _ wanted: [String]) -> String {
  describe(fact, as: key) { found in found.map { "\(key) \(text($0)) \(relation(holds, to: wanted))" } ?? "no \(key)" }
}

private func quoted(_ ssid: SSID) -> String { "\"\(ssid)\"" }

private func list(_ items: some Collection<some CustomStringConvertible>) -> String { items.map(\.description).joined(separator: ", ") }

private func relation(_ holds: Truth, to list: [String]) -> String {
  holds == .yes ? "is \(list.count == 1 ? "" : "one of ")\(list.joined(separator: ", "))" : "is \(none(of: list))"
}

private func none(of list: [String]) -> String { list.count == 1 ? "not \(list[0])" : "none of \(list.joined(separator: ", "))" }

private func clock(_ time: LocalTime) -> String { "\(time.day) \(clockText(minute: time.second / 60))" }
