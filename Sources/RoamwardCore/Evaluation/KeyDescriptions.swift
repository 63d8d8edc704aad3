import NetworkTypes

/// What was found for one key, beside what was wanted: `ssid "Cafe" is none of "Home", "Home 5G"`.
func describe(_ condition: Condition, on link: LinkFacts) -> String {
  let holds = test(condition, on: link)
  switch condition {
  case .interface(let types):
    return describe(link.type, as: "interface") { found in
      holds == .yes ? found.rawValue : "\(found.rawValue) is \(none(of: types.map(\.rawValue)))"
    }
  case .interfaceName(let globs):
    return "interface-name \(link.name) \(relation(holds, to: globs.map(\.description)))"
  case .ssid(let names):
    return describe(link.ssid, as: "ssid") { found in
      found.map { "ssid \(quoted($0)) \(relation(holds, to: names.map(quoted)))" } ?? "no ssid"
    }
  case .ssidFile(let file):
    return describe(link.ssid, as: "ssid") { found in
      guard let found else { return "no ssid" }
      if case .unreadable(let reason) = file.contents { return "ssid-file \(file.path) cannot be read: \(reason)" }
      return "ssid \(quoted(found)) is \(holds == .yes ? "" : "not ")in \(file.path)"
    }
  case .dnsDomain(let patterns):
    return describe(link.searchDomains, as: "dns-domain") { found in
      let list = found.isEmpty ? "no dns-domain" : "dns-domain \(found.map(\.text).joined(separator: ", "))"
      return found.isEmpty ? list : "\(list) is \(holds == .yes ? "" : "not ")within \(patterns.map(\.description).joined(separator: ", "))"
    }
  case .dnsServer(let patterns, let quantifier):
    return describe(link.dnsServers, as: "dns-server") { found in
      guard !found.isEmpty else { return "no dns-server" }
      let wanted = patterns.map(\.description).joined(separator: ", ")
      let verdict = quantifier == .any ? (holds == .yes ? "one is in" : "none is in") : holds == .yes ? "each is in" : "not each is in"
      return "dns-server \(found.map(\.description).joined(separator: ", ")): \(verdict) \(wanted)"
    }
  case .subnet(let prefixes):
    let own = link.addresses.filter { !$0.address.isLinkLocal }.map(\.address.description)
    let found = own.isEmpty ? "no address" : "address \(own.joined(separator: ", "))"
    return "\(found) is \(holds == .yes ? "" : "not ")in \(prefixes.map(\.description).joined(separator: ", "))"
  case .gateway(let addresses):
    let found = link.gateways.map(\.description)
    return found.isEmpty
      ? "no gateway" : "gateway \(found.joined(separator: ", ")) \(relation(holds, to: addresses.map(\.description)))"
  case .all, .any, .not, .network: return condition.key
  }
}

private func describe<Value>(_ fact: Fact<Value>, as key: String, _ words: (Value) -> String) -> String {
  switch fact {
  case .known(let value): words(value)
  case .unknown(let reason): "\(key) is unknown: \(reason)"
  }
}

private func quoted(_ ssid: SSID) -> String { "\"\(ssid)\"" }

private func relation(_ holds: Truth, to list: [String]) -> String {
  holds == .yes ? "is \(list.count == 1 ? "" : "one of ")\(list.joined(separator: ", "))" : "is \(none(of: list))"
}

private func none(of list: [String]) -> String { list.count == 1 ? "not \(list[0])" : "none of \(list.joined(separator: ", "))" }
