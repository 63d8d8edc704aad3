import NetworkTypes
import PolicyLint
import RoamwardCore

/// Every network of a universe, one by one, each fact of it known or unknown, and every answer of its lists of SSIDs: which rules decide, by
/// the real evaluator, once the decision waits no longer.
struct EveryNetwork {
  /// Rules that decide on some network, counted from 1; 0 where on some network none does.
  private(set) var reached = Set<Int>()
  /// The same on networks of which all is known.
  private(set) var reachedByKnown = Set<Int>()
  /// Rules that hold on some network, whatever rules are before them.
  private(set) var holding = Set<Int>()

  /// `nil` where there are too many.
  init?(_ rules: [Rule], networks: [NamedNetwork], limit: Int = 100_000) {
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
    let unknown = "it is varied"
    func varyFact<Value>(_ values: [Value], _ change: (inout NetworkSnapshot, inout LinkFacts, Fact<Value>) -> Void) -> Bool {
      vary(values.map { .known($0) } + [.unknown(because: unknown)], change)
    }
    func has(_ names: String...) -> Bool { !keys.isDisjoint(with: names) }
    let radio = has("ssid", "ssid-glob", "ssid-file", "bssid", "wifi-security")
    guard
      varyFact(has("interface") ? InterfaceType.allCases : radio ? [.wifi] : [.other], { $1.type = $2 }),
      !has("interface-name") || vary(universe.interfaceNames, { $1.name = $2 }),
      !has("ssid", "ssid-glob", "ssid-file") || varyFact(universe.ssids, { $1.ssid = $2 }),
      !has("bssid") || varyFact(universe.bssids, { $1.bssid = $2 }),
      !has("wifi-security") || varyFact(universe.securities, { $1.wifiSecurity = $2 }),
      !has("gateway-mac") || varyFact(universe.gatewayMACs, { $1.gatewayMAC = $2 }),
      !has("dns-domain") || varyFact(subsets(universe.domains), { $1.searchDomains = $2 }),
      !has("dns-server") || varyFact(subsets(universe.servers), { $1.dnsServers = $2 }),
      !has("subnet") || vary(subsets(universe.addresses), { $1.addresses = $2.compactMap { InterfaceAddress($0, prefixLength: 32) } }),
      !has("gateway") || vary(subsets(universe.gateways), { $1.gateways = $2 }),
      !has("captive-portal") || varyFact([true, false], { $0.captivePortal = $2 }),
      !has("internet") || varyFact([true, false], { $0.internet = $2 }),
      !has("metered") || varyFact([true, false], { $1.metered = $2 }),
      !has("time") || varyFact(universe.times, { $0.time = $2 }),
      !has("power") || varyFact(PowerSource.allCases, { $0.power = $2 })
    else { return nil }
    for url in ["https://a.example/", "https://b.example/"] where has("probe") {
      guard varyFact([true, false], { $0.probes[url] = $2 }) else { return nil }
    }
    let everyName = Set(universe.ssids.compactMap { $0 })
    for list in has("ssid-file") ? [.entries(everyName), .entries([]), .unreadable(because: unknown)] : [SSIDFile.Contents.entries([])] {
      let evaluator = Evaluator(
        networks: networks.map { NamedNetwork(name: $0.name, condition: $0.condition.listing(list), location: $0.location) })
      let listed = rules.map {
        Rule(match: $0.match.listing(list), action: $0.action, onUnknown: $0.onUnknown, location: $0.location)
      }
      func tunnel(_ rules: [Rule]) -> TunnelPolicy {
        TunnelPolicy(
          name: "t", provider: .command(CommandProviderConfiguration(up: [], down: [])), onDemand: OnDemand(rules: rules),
          location: rules[0].location)
      }
      let (whole, each) = (tunnel(listed), listed.map { tunnel([$0]) })
      for scene in scenes {
        let alone = each.map { evaluator.decide($0, on: scene, explaining: .none) }
        for (i, decision) in alone.enumerated() where decision.rule != nil && decision.outcome != .pending { holding.insert(i + 1) }
        let decider = evaluator.decide(whole, on: scene, patience: .isOver, explaining: .none).rule?.index ?? 0
        reached.insert(decider)
        if !alone.contains(where: { $0.outcome == .pending }) { reachedByKnown.insert(decider) }
      }
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

  /// With this in every list of SSIDs.
  fileprivate func listing(_ list: SSIDFile.Contents) -> Condition {
    switch self {
    case .all(let parts): .all(parts.map { $0.listing(list) })
    case .any(let parts): .any(parts.map { $0.listing(list) })
    case .not(let part): .not(part.listing(list))
    case .ssidFile(let file): .ssidFile(SSIDFile(path: file.path, contents: list))
    default: self
    }
  }
}
