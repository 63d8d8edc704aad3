import NetworkTypes
import RoamwardCore
import SeededRandom
import TestKit
import Testing

/// As `#expect`, but the comment is made only where the condition does not hold: its texts cost more than what they are about.
private func expect(_ condition: Bool, _ about: @autoclosure () -> Comment, sourceLocation: Testing.SourceLocation = #_sourceLocation) {
  if !condition { Issue.record(about(), sourceLocation: sourceLocation) }
}

/// The sieve excludes rules without an evaluation. A trace evaluates every rule, and is what the decisions are compared with.
@Suite struct RuleSieveTests {
  @Test("a decision with the sieve is the decision of the whole evaluation", arguments: 0..<16)
  func equal(seed: UInt64) {
    var random = RandomNetworks(generator: SplitMix64(seed: seed))
    var excluded = 0
    for _ in 0..<250 {
      let networks = random.networks()
      let evaluator = Evaluator(networks: networks)
      let tunnel = Sample.tunnel(rules: random.rules())
      for _ in 0..<4 {
        let snapshot = random.snapshot()
        let prepared = evaluator.prepare(snapshot)
        for patience in [Evaluator.Patience.waits, .isOver] {
          let whole = evaluator.decide(tunnel, on: prepared, patience: patience, explaining: .whole)
          let brief = evaluator.decide(tunnel, on: prepared, patience: patience, explaining: .none)
          let told = evaluator.decide(tunnel, on: prepared, patience: patience, explaining: .ofDecidingRule)
          var about: Comment { "\(tunnel.onDemand.rules) \(networks.map(\.condition)) \(snapshot)" }
          expect(brief.outcome == whole.outcome && brief.rule == whole.rule && brief.trace.isEmpty, about)
          expect(told.outcome == whole.outcome && told.rule == whole.rule && told.pending == whole.pending, about)
          expect(told.trace == (whole.rule == nil ? [] : whole.trace.suffix(1)) && told.reason == whole.reason, about)
        }
        let candidates = Set(tunnel.onDemand.sieve.candidates(on: prepared))
        for (place, rule) in evaluator.trace(tunnel, on: snapshot).enumerated() where !candidates.contains(place) {
          expect(rule.holds == .no, "rule \(place + 1) of \(tunnel.onDemand.rules) on \(snapshot)")
          excluded += 1
        }
      }
    }
    #expect(excluded > 500, "the sieve excludes too little to be tested")
  }

  @Test("a rule that the sieve of a set names decides", arguments: 0..<16) func decides(seed: UInt64) {
    var random = RandomNetworks(generator: SplitMix64(seed: seed))
    var (named, none) = (0, 0)
    for _ in 0..<100 {
      let networks = random.networks()
      let evaluator = Evaluator(networks: networks)
      let tunnels = (0..<5).map { _ in
        Sample.tunnel(rules: random.rules() + (Bool.random(using: &random.generator) ? [Sample.rule(.always, .disconnect)] : []))
      }
      let sieve = SieveOfSet(tunnels)
      for _ in 0..<4 {
        let snapshot = random.snapshot()
        let prepared = evaluator.prepare(snapshot)
        for (place, tunnel) in tunnels.enumerated() {
          let decision = evaluator.decide(tunnel, on: prepared, explaining: .ofDecidingRule)
          var about: Comment { "\(tunnel.onDemand.rules) \(networks.map(\.condition)) \(snapshot)" }
          switch sieve.decider(at: place, on: prepared) {
          case .rule(let rule):
            expect(decision.rule?.index == rule + 1 && decision.outcome != .pending && decision.unknown == [], about)
            named += 1
          case .none:
            expect(decision.rule == nil && decision.outcome == .ignore && decision.unknown == [], about)
            none += 1
          case .open: break
          }
        }
      }
    }
    #expect(named > 100 && none > 50, "the sieve of a set decides too little to be tested: \(named), \(none)")
  }

  private static let here = Sample.wifi("Cafe", domains: ["cafe.example"], servers: ["198.51.100.1"])

  private static let network: NetworkSnapshot = {
    var network = Sample.network(here)
    network.users = .known(Sample.users("alice"))
    return network
  }()

  private static let elsewhere: [Condition] = [
    .interface([.ethernet, .cellular]), .interfaceName([Glob("eth*"), Glob("ww?n0")]), .ssid([Sample.ssid("Home"), Sample.ssid("Work")]),
    .ssidGlob([Glob("Corp-*")]), .dnsDomain([Sample.pattern("corp.example"), Sample.pattern("*.lab.example")]),
    .dnsServer([DNSServerPattern("10.0.0.53")].compactMap { $0 }, .each), .dnsServer([DNSServerPattern("17.*")].compactMap { $0 }, .any),
    .subnet([Sample.prefix("10.0.0.0/8"), Sample.prefix("2001:db8::/32")]), .gateway([Sample.address("10.0.0.1")]),
    .gatewayMAC([MACAddress("02:00:5e:10:00:01")].compactMap { $0 }), .wifiSecurity([.wpa3]), .metered(true), .power([.battery]),
    .loggedIn(Sample.users("bob")), .network(["corp"]), .any([.ssid([Sample.ssid("Home")]), .ssid([Sample.ssid("Work")])]),
    .any([.all([.interface([.ethernet]), .metered(false)]), .interface([.cellular])]),
  ]

  @Test("rules for another place are excluded without an evaluation", arguments: elsewhere) func excluded(condition: Condition) {
    let networks = [NamedNetwork(name: "corp", condition: .ssid([Sample.ssid("Corp")]), location: Sample.place())]
    let others = [condition, .all([.always, condition]), .all([.interface([.wifi]), condition])].map { Sample.rule($0, .disconnect) }
    let sieve = Sample.tunnel(rules: others + [Sample.rule(.always, .connect)]).onDemand.sieve
    #expect(sieve.candidates(on: Evaluator(networks: networks).prepare(Self.network)) == [3])
  }

  @Test("rules that are changed have another sieve") func changed() {
    var tunnel = Sample.tunnel(rules: [Sample.rule(.ssid([Sample.ssid("Home")]), .disconnect)])
    let network = Evaluator(networks: []).prepare(Sample.network(Self.here))
    #expect(tunnel.onDemand.sieve.candidates(on: network) == [])
    tunnel.onDemand.rules[0].match = .ssid([Sample.ssid("Cafe")])
    tunnel.onDemand.rules.append(Sample.rule(.always, .connect))
    #expect(tunnel.onDemand.sieve.candidates(on: network) == [0, 1])
  }
}

/// Conditions and networks whose values are drawn from small sets, so that they meet. Every fact may be unknown.
private struct RandomNetworks {
  var generator: SplitMix64

  private static let names = ["Home", "Home 5G", "Work", "W", "Corp-1"].map(Sample.ssid)
  private static let addresses = ["10.0.0.1", "10.1.0.53", "192.0.2.1", "192.0.3.1", "2001:db8::1", "2001:db8:1::1"].map(Sample.address)
  private static let domains = ["corp.example", "a.corp.example", "example", "xcorp.example", "lab.test"].map(Sample.domain)
  private static let points = (1...3).compactMap { MACAddress(bytes: [2, 0, 0, 0, 9, $0]) }
  private static let prefixes = [
    "10.0.0.0/8", "10.0.0.0/9", "10.1.0.0/16", "192.0.2.0/23", "192.0.2.1/32", "0.0.0.0/0", "::/0", "2001:db8::/32", "2001:db8:1::/47",
  ]
  private static let linkNames = ["wlan0", "eth0", "e", "wwan1"]
  private static let globs = ["*", "?*", "w*", "wl*", "w?an*", "eth0", "e", "Home*", "H?me", "Corp-?", "*0", ""].map { Glob($0) }

  private mutating func one<Value>(_ values: [Value]) -> Value { values[Int.random(in: 0..<values.count, using: &generator)] }

  private mutating func some<Value>(_ values: [Value], atLeast least: Int = 1) -> [Value] {
    Array(values.shuffled(using: &generator).prefix(Int.random(in: least...2, using: &generator)))
  }

  private mutating func fact<Value>(_ value: Value) -> Fact<Value> {
    Int.random(in: 0..<4, using: &generator) == 0 ? .unknown(reason: "it is random") : .known(value)
  }

  mutating func networks() -> [NamedNetwork] {
    ["n", "m"].enumerated().map { i, name in
      NamedNetwork(name: name, condition: condition(depth: 1, naming: i == 0 ? [] : ["n", "none"]), location: Sample.place())
    }
  }

  mutating func rules() -> [Rule] {
    (0..<Int.random(in: 0...6, using: &generator)).map { line in
      Rule(
        match: condition(depth: 3, naming: ["n", "m", "none"]), action: one(Action.allCases),
        onUnknown: one([nil, nil, .match, .noMatch]), location: Sample.place(line))
    }
  }

  mutating func snapshot() -> NetworkSnapshot {
    if Int.random(in: 0..<30, using: &generator) == 0 { return NetworkSnapshot() }
    var link = LinkFacts(name: one(Self.linkNames), type: fact(one(InterfaceType.allCases)))
    link.ssid = fact(one(Self.names + [nil]))
    link.bssid = fact(one(Self.points + [nil]))
    link.wifiSecurity = fact(one(WiFiSecurity.allCases + [nil]))
    link.metered = fact(one([true, false]))
    link.addresses = some(Self.addresses, atLeast: 0).compactMap { InterfaceAddress($0, prefixLength: 24) }
    link.gateways = some(Self.addresses, atLeast: 0)
    link.gatewayMAC = fact(one(Self.points + [nil]))
    link.dnsServers = fact(some(Self.addresses, atLeast: 0))
    link.searchDomains = fact(some(Self.domains, atLeast: 0))
    if Int.random(in: 0..<4, using: &generator) == 0 { link.unavailable = [one(FactKind.allCases)] }
    var snapshot = Sample.network(link)
    snapshot.captivePortal = fact(one([true, false]))
    snapshot.internet = fact(one([true, false]))
    snapshot.power = fact(one(PowerSource.allCases))
    snapshot.users = fact(some(Self.users, atLeast: 0))
    snapshot.time = fact(LocalTime("mon 09:30") ?? one([]))
    snapshot.probes[Self.probe.name] = fact(one([true, false]))
    if Int.random(in: 0..<4, using: &generator) == 0 { snapshot.rememberedProbes[Self.probe.name] = one([true, false]) }
    return snapshot
  }

  private static let users = Sample.users("alice", "bob", "carol")
  private static let probe = Probe(url: "https://beacon.example/")

  private mutating func condition(depth: Int, naming names: [String]) -> Condition {
    switch Int.random(in: 0..<(depth > 0 ? 10 : 6), using: &generator) {
    case 6, 7: .all((0..<Int.random(in: 0...3, using: &generator)).map { _ in condition(depth: depth - 1, naming: names) })
    case 8: .any((0..<Int.random(in: 0...3, using: &generator)).map { _ in condition(depth: depth - 1, naming: names) })
    case 9: .not(condition(depth: depth - 1, naming: names))
    case 5 where !names.isEmpty: .network(some(names, atLeast: 0))
    default: criterion()
    }
  }

  private mutating func criterion() -> Condition {
    switch Int.random(in: 0..<18, using: &generator) {
    case 17: .loggedIn(some(Self.users, atLeast: 0))
    case 0: .interface(some(InterfaceType.allCases, atLeast: 0))
    case 1: .interfaceName(some(Self.globs, atLeast: 0))
    case 2: .ssid(some(Self.names, atLeast: 0))
    case 3: .ssidGlob(some(Self.globs, atLeast: 0))
    case 4: .ssidFile(SSIDFile(path: "list", contents: one([.entries(Set(Self.names.prefix(2))), .unreadable(reason: "it is random")])))
    case 5: .bssid(some(Self.points))
    case 6: .wifiSecurity(some(WiFiSecurity.allCases, atLeast: 0))
    case 7: .dnsDomain(DomainList(one([[.any], some(Self.domains.map(DomainPattern.within), atLeast: 0)])))
    case 8: .dnsServer(some(Self.prefixes.compactMap { DNSServerPattern($0) }, atLeast: 0), one([.each, .any]))
    case 9: .subnet(some(Self.prefixes.map(Sample.prefix), atLeast: 0))
    case 10: .gateway(some(Self.addresses, atLeast: 0))
    case 11: .gatewayMAC(some(Self.points, atLeast: 0))
    case 12: .probe(Self.probe)
    case 13: one([.captivePortal(true), .captivePortal(false), .internet(true), .internet(false)])
    case 14: one([.metered(true), .metered(false)])
    case 15: one([.time(TimeWindow(days: [.mon], from: 480, to: 1080)), .time(TimeWindow(days: [.tue]))])
    default: .power(some(PowerSource.allCases, atLeast: 0))
    }
  }
}
