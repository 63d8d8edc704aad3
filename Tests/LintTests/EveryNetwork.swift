import NetworkTypes
import RoamwardCore

/// Every network of a universe, one by one, and every answer of its lists of SSIDs: what rules are reached, by the real evaluator.
struct EveryNetwork {
  /// Rules that some network reaches, counted from 1; 0 where some network reaches none.
  private(set) var reached = Set<Int>()

  /// `nil` where there are too many.
  init?(_ rules: [Rule], networks: [NamedNetwork], limit: Int = 60_000) {
    let conditions = rules.map(\.match) + networks.map(\.condition)
    guard let universe = FactUniverse(of: conditions) else { return nil }
    let keys = Set(conditions.flatMap { $0.keys })
    var scenes = [LinkFacts(name: universe.interfaceNames[0])].map {
      NetworkSnapshot(primary: "link", links: [$0], time: .known(universe.times[0]))
    }
    func vary<Value>(_ values: [Value], _ change: (inout NetworkSnapshot, inout LinkFacts, Value) -> Void) -> Bool {
      guard scenes.count * values.count <= limit else { return false }
      scenes = scenes.flatMap { scene in
        values.map { value in
          var scene = scene
          var link = scene.links[0]
          change(&scene, &link, value)
          scene.links = [link]
          scene.primary = link.name
          return scene
        }
      }
      return true
    }
    func has(_ names: String...) -> Bool { !keys.isDisjoint(with: names) }
    let radio = has("ssid", "ssid-glob", "ssid-file", "bssid", "wifi-security")
    guard
      vary(has("interface") ? InterfaceType.allCases : radio ? [.wifi] : [.other], { $1.type = .known($2) }),
      !has("interface-name") || vary(universe.interfaceNames, { $1.name = $2 }),
      !has("ssid", "ssid-glob", "ssid-file") || vary(universe.ssids, { $1.ssid = .known($2) }),
      !has("bssid") || vary(universe.bssids, { $1.bssid = .known($2) }),
      !has("wifi-security") || vary(universe.securities, { $1.wifiSecurity = .known($2) }),
      !has("gateway-mac") || vary(universe.gatewayMACs, { $1.gatewayMAC = .known($2) }),
      !has("dns-domain") || vary(subsets(universe.domains), { $1.searchDomains = .known($2) }),
      !has("dns-server") || vary(subsets(universe.servers), { $1.dnsServers = .known($2) }),
      !has("subnet") || vary(subsets(universe.addresses), { $1.addresses = $2.compactMap { InterfaceAddress($0, prefixLength: 32) } }),
      !has("gateway") || vary(subsets(universe.gateways), { $1.gateways = $2 }),
      !has("captive-portal") || vary([true, false], { $0.captivePortal = .known($2) }),
      !has("internet") || vary([true, false], { $0.internet = .known($2) }),
      !has("metered") || vary([true, false], { $1.metered = .known($2) }),
      !has("time") || vary(universe.times, { $0.time = .known($2) }),
      !has("power") || vary(PowerSource.allCases, { $0.power = .known($2) })
    else { return nil }
    for url in ["https://a.example/", "https://b.example/"] where has("probe") {
      guard vary([true, false], { $0.probes[url] = .known($2) }) else { return nil }
    }
    // A radio's facts are there on Wi-Fi alone.
    let possible = scenes.filter { scene in
      let link = scene.links[0]
      return link.type.value == .wifi
        || link.ssid.value == .some(nil) && link.bssid.value == .some(nil) && link.wifiSecurity.value == .some(nil)
    }
    for isListed in has("ssid-file") ? [true, false] : [false] {
      let entries = isListed ? Set(universe.ssids.compactMap { $0 }) : []
      let evaluator = Evaluator(
        networks: networks.map { NamedNetwork(name: $0.name, condition: $0.condition.listing(entries), location: $0.location) })
      let listed = rules.map { Rule(match: $0.match.listing(entries), action: $0.action, location: $0.location) }
      let tunnel = TunnelPolicy(
        name: "t", provider: .command(CommandProviderConfiguration(up: [], down: [])), onDemand: OnDemand(rules: listed),
        location: rules[0].location)
      for scene in possible { reached.insert(evaluator.decide(tunnel, on: scene, explaining: .none).rule?.index ?? 0) }
    }
  }
}

private func subsets<Value>(_ values: [Value]) -> [[Value]] {
  (0..<1 << values.count).map { bits in values.indices.filter { bits >> $0 & 1 == 1 }.map { values[$0] } }
}

extension Condition {
  fileprivate var keys: [String] {
    switch self {
    case .all(let parts), .any(let parts): parts.flatMap(\.keys)
    case .not(let part): part.keys
    default: [key]
    }
  }

  /// With every list of SSIDs holding these.
  fileprivate func listing(_ entries: Set<SSID>) -> Condition {
    switch self {
    case .all(let parts): .all(parts.map { $0.listing(entries) })
    case .any(let parts): .any(parts.map { $0.listing(entries) })
    case .not(let part): .not(part.listing(entries))
    case .ssidFile(let file): .ssidFile(SSIDFile(path: file.path, contents: .entries(entries)))
    default: self
    }
  }
}
