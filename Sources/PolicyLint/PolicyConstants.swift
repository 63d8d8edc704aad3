import NetworkTypes
import RoamwardCore

/// Every constant that conditions compare facts with.
struct PolicyConstants {
  private(set) var interfaceGlobs = Set<Glob>()
  private(set) var ssids = Set<SSID>()
  private(set) var ssidGlobs = Set<Glob>()
  private(set) var bssids = Set<MACAddress>()
  private(set) var gatewayMACs = Set<MACAddress>()
  private(set) var domains = Set<DomainName>()
  private(set) var servers = Set<IPPrefix>()
  private(set) var subnets = Set<IPPrefix>()
  private(set) var gateways = Set<IPAddress>()
  private(set) var windows = Set<TimeWindow>()

  init(_ conditions: [Condition]) {
    for condition in conditions { condition.forEachKey { add($0) } }
  }

  /// Of the keys whose constants divide their fact's values.
  var largestCount: Int {
    [
      interfaceGlobs.count, ssids.count + ssidGlobs.count, bssids.count, gatewayMACs.count, domains.count, servers.count, subnets.count,
      gateways.count, windows.count,
    ].max() ?? 0
  }

  private mutating func add(_ key: Condition) {
    switch key {
    case .interfaceName(let globs): interfaceGlobs.formUnion(globs)
    case .ssid(let names): ssids.formUnion(names)
    case .ssidGlob(let globs): ssidGlobs.formUnion(globs)
    case .bssid(let addresses): bssids.formUnion(addresses)
    case .gatewayMAC(let addresses): gatewayMACs.formUnion(addresses)
    case .dnsDomain(let patterns): for case .within(let name) in patterns { domains.insert(name) }
    case .dnsServer(let patterns, _): servers.formUnion(patterns.map(\.prefix))
    case .subnet(let prefixes): subnets.formUnion(prefixes)
    case .gateway(let addresses): gateways.formUnion(addresses)
    case .time(let window): windows.insert(window)
    case .all, .any, .not, .network, .interface, .ssidFile, .wifiSecurity, .probe, .captivePortal, .internet, .metered, .power: break
    }
  }
}
