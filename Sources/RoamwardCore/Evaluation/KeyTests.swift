import NetworkTypes

/// Whether one key of a match holds.
func test(_ condition: Condition, on scene: Scene) -> Truth {
  switch condition {
  case .interface(let types): return scene.link.type.truth { types.contains($0) }
  case .interfaceName(let globs): return Truth(globs.contains { $0.matches(scene.link.name) })
  case .ssid(let names): return scene.link.ssid.truth { ssid in ssid.map(names.contains) ?? false }
  case .ssidGlob(let globs):
    return scene.link.ssid.truth { ssid in ssid.map { name in globs.contains { $0.matches(bytes: name.bytes) } } ?? false }
  case .ssidFile(let file): return test(file, ssid: scene.link.ssid)
  case .bssid(let addresses): return scene.link.bssid.truth { $0.map(addresses.contains) ?? false }
  case .wifiSecurity(let kinds): return scene.link.wifiSecurity.truth { $0.map(kinds.contains) ?? false }
  case .dnsDomain(let patterns):
    return scene.link.searchDomains.truth { $0.contains(where: patterns.holds) }
  case .dnsServer(let patterns, let quantifier):
    return scene.link.dnsServers.truth { servers in
      let isListed = { (server: IPAddress) in patterns.contains { $0.prefix.contains(server) } }
      return quantifier == .any ? servers.contains(where: isListed) : !servers.isEmpty && servers.allSatisfy(isListed)
    }
  case .subnet(let prefixes): return Truth(scene.link.addresses.contains { own in prefixes.contains { $0.contains(own.address) } })
  case .gateway(let addresses): return Truth(scene.link.gateways.contains(where: addresses.contains))
  case .gatewayMAC(let addresses): return scene.link.gatewayMAC.truth { $0.map(addresses.contains) ?? false }
  case .probe(let probe): return scene.snapshot.answer(to: probe).truth { $0 }
  case .captivePortal(let wanted): return scene.snapshot.captivePortal.truth { $0 == wanted }
  case .internet(let wanted): return scene.snapshot.internet.truth { $0 == wanted }
  case .metered(let wanted): return scene.link.metered.truth { $0 == wanted }
  case .time(let window): return scene.snapshot.time.truth(window.contains)
  case .power(let sources): return scene.snapshot.power.truth(sources.contains)
  case .all, .any, .not, .network: return .unknown
  }
}

/// A machine that is not on Wi-Fi is on no list, readable or not.
private func test(_ file: SSIDFile, ssid: Fact<SSID?>) -> Truth {
  switch (ssid, file.contents) {
  case (.known(nil), _): .no
  case (.known(let name?), .entries(let entries)): Truth(entries.contains(name))
  case (_, .unreadable), (.unknown, _): .unknown
  }
}

extension Fact {
  fileprivate func truth(_ test: (Value) -> Bool) -> Truth {
    switch self {
    case .known(let value): Truth(test(value))
    case .unknown: .unknown
    }
  }
}

extension Condition {
  /// The key's name in the policy language.
  package var key: String {
    switch self {
    case .all: "match"
    case .any: "any-of"
    case .not: "not"
    case .network: "network"
    case .interface: "interface"
    case .interfaceName: "interface-name"
    case .ssid: "ssid"
    case .ssidGlob: "ssid-glob"
    case .ssidFile: "ssid-file"
    case .bssid: "bssid"
    case .wifiSecurity: "wifi-security"
    case .dnsDomain: "dns-domain"
    case .dnsServer: "dns-server"
    case .subnet: "subnet"
    case .gateway: "gateway"
    case .gatewayMAC: "gateway-mac"
    case .probe: "probe"
    case .captivePortal: "captive-portal"
    case .internet: "internet"
    case .metered: "metered"
    case .time: "time"
    case .power: "power"
    }
  }
}
