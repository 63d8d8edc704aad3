import NetworkTypes
import RoamwardCore

/// A fact that conditions ask about; everything else about a network may vary without regard to it, but for what `FactStates` links.
enum FactKey: Hashable {
  case interface, interfaceName, ssid, bssid, wifiSecurity, dnsDomain, dnsServer, subnet, gateway, gatewayMAC
  case captivePortal, internet, metered, time, power
  /// Whether the SSID is on the list, which others change at any time: so it may or may not be, whatever the list says now.
  case ssidFile(String)
  case probe(url: String, status: Int, pins: [String])
  /// Whether a network holds whose file could not be read.
  case opaque(String)

  /// How far a match on this fact tells where the machine is.
  var evidence: Evidence {
    switch self {
    case .time, .power, .metered, .captivePortal, .internet: .none
    case .bssid, .gatewayMAC, .opaque: .hardToForge
    case .probe(_, _, let pins): pins.isEmpty ? .forgeable : .hardToForge
    default: .forgeable
    }
  }

  /// Whether a look at the network may fail to tell it. Names, addresses and gateways come with every look.
  var mayBeUnknown: Bool {
    switch self {
    case .interfaceName, .subnet, .gateway: false
    default: true
    }
  }

  enum Evidence {
    /// It says nothing of where the machine is.
    case none
    /// Any stranger's network can show it.
    case forgeable
    /// It takes the place's own hardware, or a key.
    case hardToForge
  }
}

/// What a key of a match asks of a fact.
struct FactTest: Hashable {
  enum Question: Hashable {
    /// The value lies in these cells.
    case isIn(CellSet)
    /// One of the values does.
    case someIn(CellSet)
    /// There is a value, and every one does.
    case eachIn(CellSet)
  }

  let fact: Int
  let question: Question
}

extension FactUniverse {
  /// Into how many cells a fact's values are divided.
  func cellCount(of fact: FactKey) -> Int {
    switch fact {
    case .interface: InterfaceType.allCases.count
    case .interfaceName: interfaceNames.count
    case .ssid: ssids.count
    case .bssid: bssids.count
    case .wifiSecurity: securities.count
    case .dnsDomain: domains.count
    case .dnsServer: servers.count
    case .subnet: addresses.count
    case .gateway: gateways.count
    case .gatewayMAC: gatewayMACs.count
    case .time: times.count
    case .power: PowerSource.allCases.count
    case .captivePortal, .internet, .metered, .ssidFile, .probe, .opaque: 2
    }
  }

  /// The fact that a key asks about, and the question. `nil` for what is no key.
  func question(of key: Condition) -> (fact: FactKey, question: FactTest.Question)? {
    switch key {
    case .interface(let types): (.interface, .isIn(cells(InterfaceType.allCases, where: types.contains)))
    case .interfaceName(let globs): (.interfaceName, .isIn(cells(interfaceNames) { name in globs.contains { $0.matches(name) } }))
    case .ssid(let names): (.ssid, .isIn(cells(ssids, whereKnown: Set(names).contains)))
    case .ssidGlob(let globs): (.ssid, .isIn(cells(ssids) { name in globs.contains { $0.matches(bytes: name.bytes) } }))
    case .ssidFile(let file): (.ssidFile(file.path), .isIn(.flag(true)))
    case .bssid(let addresses): (.bssid, .isIn(cells(bssids, whereKnown: addresses.contains)))
    case .wifiSecurity(let kinds): (.wifiSecurity, .isIn(cells(securities, whereKnown: kinds.contains)))
    case .dnsDomain(let patterns): (.dnsDomain, .someIn(cells(domains) { patterns.holds($0) }))
    case .dnsServer(let patterns, let quantifier):
      (.dnsServer, listed(cells(servers) { server in patterns.contains { $0.prefix.contains(server) } }, quantifier))
    case .subnet(let prefixes): (.subnet, .someIn(cells(addresses) { address in prefixes.contains { $0.contains(address) } }))
    case .gateway(let wanted): (.gateway, .someIn(cells(gateways, where: wanted.contains)))
    case .gatewayMAC(let wanted): (.gatewayMAC, .isIn(cells(gatewayMACs, whereKnown: wanted.contains)))
    case .probe(let probe): (.probe(url: probe.url, status: probe.status, pins: probe.pins), .isIn(.flag(true)))
    case .captivePortal(let wanted): (.captivePortal, .isIn(.flag(wanted)))
    case .internet(let wanted): (.internet, .isIn(.flag(wanted)))
    case .metered(let wanted): (.metered, .isIn(.flag(wanted)))
    case .time(let window): (.time, .isIn(cells(times, where: window.contains)))
    case .power(let sources): (.power, .isIn(cells(PowerSource.allCases, where: sources.contains)))
    case .all, .any, .not, .network: nil
    }
  }

  private func listed(_ cells: CellSet, _ quantifier: DNSServerQuantifier) -> FactTest.Question {
    quantifier == .any ? .someIn(cells) : .eachIn(cells)
  }

  private func cells<Value>(_ values: [Value], where isMember: (Value) -> Bool) -> CellSet {
    CellSet(count: values.count) { isMember(values[$0]) }
  }

  private func cells<Value>(_ values: [Value?], whereKnown isMember: (Value) -> Bool) -> CellSet {
    CellSet(count: values.count) { values[$0].map(isMember) ?? false }
  }

  private func cells(_ values: [SSID?], _ isMember: (SSID) -> Bool) -> CellSet { cells(values, whereKnown: isMember) }
}

extension CellSet {
  /// Of a fact that is true or false: cell 1 is true.
  static func flag(_ value: Bool) -> CellSet { CellSet(count: 2) { $0 == (value ? 1 : 0) } }
}
