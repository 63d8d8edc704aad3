import KernelModel
import NetworkTypes
import RoamwardCore
import SeededRandom
import Testing

@testable import PolicySource

/// Policies as a reader would give them, but of every kind.
private struct Invention {
  var random: SplitMix64
  private let place = Place(file: "", line: 1, column: 1)
  private let texts = [
    "Home", "no", "null", "~", "0123", "1.5", "a: b", "a #b", "\"q\"", "- x", "é", "🇩🇪", "[x]", "{x", "x}", "*", "&a", "!t", "%", "@", "`",
    " lead", "trail ", "a,b", "true", "1e3", "0x1F", "12:30", "2026-01-01", "a:", ":a", "|", ">", "?", "=", "<<", "x\ty",
  ]

  init(seed: UInt64) { random = SplitMix64(seed: seed) }

  mutating func chance(_ n: Int) -> Bool { Int.random(in: 0..<n, using: &random) == 0 }
  mutating func one<T>(_ items: [T]) -> T { items[Int.random(in: items.indices, using: &random)] }
  mutating func some<T>(_ items: [T]) -> [T] {
    let chosen = items.filter { _ in Bool.random(using: &random) }
    return chosen.isEmpty ? [one(items)] : chosen
  }
  mutating func duration() -> Duration { .milliseconds(one([0, 1, 500, 1500, 10_000, 60_000, 90_000, 7_200_000])) }
  mutating func text() -> String { one(texts) }
  mutating func words() -> [String] { (0..<Int.random(in: 0...3, using: &random)).map { _ in text() } }
  mutating func addresses() -> [IPAddress] { some(["10.0.0.53", "2001:db8::1", "192.0.2.1"]).compactMap { IPAddress($0) } }
  mutating func prefixes() -> [IPPrefix] {
    some(["10.0.0.0/8", "0.0.0.0/0", "::/0", "fd00::/8", "192.0.2.1/32"]).compactMap { IPPrefix($0) }
  }
  mutating func domains() -> [DomainPattern] { some(["corp.example", "*", "10.in-addr.arpa", "1.2"]).compactMap { DomainPattern($0) } }
  mutating func macs() -> [MACAddress] { some(["02:00:5e:10:00:01", "ff:ff:ff:ff:ff:ff"]).compactMap { MACAddress($0) } }

  mutating func probe() -> Probe {
    let pin = "sha256//MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI="
    let url = one(["https://a.example/", "https://[2001:db8::1]:8443/x?y=%20,[z]", "https://b.example:1/#".replacing("#", with: "-:")])
    return Probe(url: url, status: one([200, 204]), pins: one([[], [pin], [pin, pin]]), timeout: one([.seconds(5), .milliseconds(1)]))
  }

  mutating func ssids() -> [SSID] {
    (0..<Int.random(in: 1...3, using: &random)).compactMap { _ in
      Bool.random(using: &random)
        ? SSID(text()) : SSID(bytes: (0..<Int.random(in: 1...32, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) })
    }
  }

  mutating func window() -> TimeWindow {
    let from = Int.random(in: 0..<1440, using: &random)
    let window = TimeWindow(days: chance(3) ? [] : Set(some(Weekday.allCases)), from: one([0, from]), to: one([1440, 0, from + 1]))
    return window.from == window.to ? TimeWindow() : window
  }

  mutating func key(_ key: Int, depth: Int, names: [String]) -> Condition? {
    switch key {
    case 0: .interface(some(InterfaceType.allCases))
    case 1: .interfaceName(some(["wl*", "*", "eth?", "?"]).map { Glob($0) })
    case 2: .ssid(ssids())
    case 3: .ssidGlob([Glob(text()), Glob("*x")])
    case 4: .bssid(macs())
    case 5: .ssidFile(SSIDFile(path: one(["/l/a", "/l/b c: #"]), contents: .entries([ssid("Home")])))
    case 6: .wifiSecurity(some(WiFiSecurity.allCases))
    case 7: .dnsDomain(DomainList(domains()))
    case 8: .dnsServer(some(["10.0.0.53", "17.*", "fd00::/8"]).compactMap { DNSServerPattern($0) }, one([.each, .any]))
    case 9: .subnet(prefixes())
    case 10: .gateway(addresses())
    case 11: .gatewayMAC(macs())
    case 12: .probe(probe())
    case 13: .captivePortal(one([true, false]))
    case 14: .internet(one([true, false]))
    case 15: .metered(one([true, false]))
    case 16: .time(window())
    case 17: .power(some(PowerSource.allCases))
    case 21: .loggedIn(some(["alice", "no", "a@corp.example"].compactMap { UserName($0) }))
    case 18: names.isEmpty ? nil : .network(some(names))
    case 19: depth == 0 ? nil : .not(match(depth: depth - 1, names: names, atLeast: 1))
    default: depth == 0 ? nil : .any((0..<Int.random(in: 1...3, using: &random)).map { _ in match(depth: depth - 1, names: names) })
    }
  }

  /// Each key at most once, as a mapping has it.
  mutating func match(depth: Int = 2, names: [String], atLeast: Int = 0) -> Condition {
    var parts: [Condition] = []
    for i in (0...21).shuffled(using: &random) where chance(5) {
      if let part = key(i, depth: depth, names: names) { parts.append(part) }
    }
    if parts.count < atLeast { parts.append(.metered(true)) }
    return .all(parts)
  }

  mutating func rule(names: [String]) -> Rule {
    let action = one(Action.allCases)
    var rule = Rule(
      name: chance(2) ? text() : nil, match: match(names: names), action: action, onUnknown: chance(3) ? one(UnknownPolicy.allCases) : nil,
      location: place)
    if action == .evaluateConnection {
      rule.connections = (0..<Int.random(in: 1...3, using: &random)).map { _ in
        let action = one(ConnectionRule.Action.allCases)
        let isConditional = action == .connectIfNeeded
        return ConnectionRule(
          domains: DomainList(domains()), action: action, servers: isConditional && chance(2) ? addresses() : [],
          probe: isConditional && chance(2) ? probe() : nil, location: place)
      }
    }
    return rule
  }

  mutating func tunnel(_ name: String, names: [String]) -> TunnelPolicy {
    let command = CommandProviderConfiguration(
      up: ["/u"] + words(), down: ["d"] + words(), status: chance(2) ? [] : ["/s", ""], interface: chance(2) ? "tun0" : nil,
      timeout: one([.seconds(30), .seconds(1), .seconds(120)]))
    let servers = addresses()
    var tunnel = TunnelPolicy(
      name: name, about: chance(2) ? text() : nil, isEnabled: !chance(4), precedence: one(TunnelClass.allCases),
      provider: .command(command),
      onDemand: OnDemand(
        isEnabled: !chance(4), rules: (0..<Int.random(in: 0...4, using: &random)).map { _ in rule(names: names) },
        timing: Timing(
          settle: chance(2) ? duration() : nil, releaseDelay: duration(), minimumDwell: duration(), decideWithin: duration(),
          idle: chance(2) ? .seconds(600) : nil)),
      routes: chance(2)
        ? RoutePolicy(
          include: PrefixList(prefixes()), exclude: PrefixList(chance(2) ? prefixes() : []), lan: one(LANPolicy.allCases),
          onOverlap: one(OverlapPolicy.allCases))
        : nil,
      dns: chance(2)
        ? DNSPolicy(servers: servers, searchDomains: one([[], [domain("corp.example")]]), matchDomains: chance(2) ? domains() : []) : nil,
      mtu: one([nil, .fixed(1420), .overhead(80)]), location: place)
    if chance(2) {
      tunnel.dns?.rebindAllowed = one([[], [domain("home.example"), domain("plex.direct")]])
      tunnel.dns?.dnssec = one([nil, .no, .allowDowngrade, .yes])
    }
    if chance(3) {
      tunnel.routes?.includeDomains = one([[], [domain("git.corp.example"), domain("cdn.example")]])
      tunnel.routes?.excludeDomains = one([[], [domain("video.example")]])
    }
    if tunnel.precedence == .personal, chance(3) { tunnel.availability.owner = UserName(one(["alice", "no", "a@corp.example"])) }
    if chance(3) {
      tunnel.proxy =
        chance(2)
        ? ProxyPolicy(pac: "http://10.0.0.80/proxy.pac")
        : ProxyPolicy(http: "p.example:3128", exclude: one([[], ["corp.example", "10.0.0.0/8"]]))
      if tunnel.proxy?.pac == nil { tunnel.proxy?.excludesSimpleNames = chance(2) }
      tunnel.proxy?.publish = one([[], [.environment], [.firefox, .pac]])
    }
    return tunnel
  }

  mutating func set() -> PolicySet {
    let names = some(["home", "no", "0123", "a: b", "é #", "~", "null"])
    let networks = names.map { NamedNetwork(name: $0, condition: match(names: [], atLeast: 1), location: place) }
    return PolicySet(networks: networks, tunnels: some(["corp", "on", "1", "a-b.c_d"]).map { tunnel($0, names: names) })
  }
}

@Suite struct PrinterTests {
  @Test("1,000 invented policies: what is printed is read as the same, and prints the same again")
  func identity() {
    var invention = Invention(seed: 11)
    for _ in 0..<1_000 {
      let set = invention.set()
      let text = PolicyPrinter.yaml(set)
      let files = MemoryFiles(["/etc/p/1.yaml": text, "/l/a": "Home\n", "/l/b c: #": "Home\n"])
      let loaded = files.load()
      if loaded.hasErrors || loaded.policies.withoutPlaces != set.withoutPlaces {
        Issue.record("\(loaded.report)\n\(text)")
        return
      }
      #expect(PolicyPrinter.yaml(loaded.policies) == text)
    }
  }

  @Test("conditions that a mapping cannot hold are spelled by others of the same meaning")
  func equivalence() throws {
    let yes = LinkFacts(name: "e", type: .known(.wifi), ssid: .known(ssid("a")), gatewayMAC: .unknown(reason: "x"))
    let no = LinkFacts(name: "e", type: .known(.ethernet), metered: .known(true))
    let a = Condition.ssid([ssid("a")])
    let b = Condition.ssid([ssid("b")])
    let mac = Condition.gatewayMAC([try #require(MACAddress("02:00:5e:10:00:01"))])
    let conditions: [Condition] = [
      .always, .never, .not(.never), .all([a, b]), .all([a, a, mac]), .all([.not(a), .not(b), .not(mac)]), .any([a, b]), .not(a),
      .all([.any([a, b]), .any([b, mac]), .any([mac])]), .all([.all([a]), .all([.not(b), .any([.all([]), b])])]), .ssid([]), .any([]),
      .network([]),
      .all([.ssid([]), a]), .not(.ssid([])), .any([.never, a]), .not(.all([.all([])])), .all([mac, mac, .not(mac)]), .not(.not(.not(a))),
    ]
    for condition in conditions {
      let text = PolicyPrinter.yaml(networks: [NamedNetwork(name: "n", condition: condition, location: Place(file: "", line: 1, column: 1))]
      )
      let loaded = MemoryFiles(["/etc/p/1.yaml": text]).load()
      let read = try #require(loaded.policies.networks.first?.condition, "\(loaded.report)\n\(text)")
      for link in [yes, no] {
        for action in [Action.connect, .disconnect] {
          func decide(_ condition: Condition) -> Decision.Outcome {
            let place = Place(file: "", line: 1, column: 1)
            let tunnel = TunnelPolicy(
              name: "t", provider: .command(CommandProviderConfiguration(up: ["u"], down: ["d"])),
              onDemand: OnDemand(rules: [Rule(match: condition, action: action, location: place)]), location: place)
            return Evaluator(networks: []).decide(tunnel, on: NetworkSnapshot(primary: "e", links: [link])).outcome
          }
          #expect(decide(condition) == decide(read), "\(condition)\n\(text)")
        }
      }
    }
  }

  @Test("a policy as it is printed")
  func golden() throws {
    let place = Place(file: "", line: 1, column: 1)
    let home = Condition.all([.ssid([ssid("Home"), ssid("no")]), .gatewayMAC([try #require(MACAddress("02:00:5e:10:00:01"))])])
    let tunnel = PrintableTunnel(
      name: "corp", about: "Company network: all of it", precedence: .enterprise, provider: .wireGuard(config: "corp.conf"),
      onDemand: OnDemand(rules: [
        Rule(name: "at home", match: .all([.network(["home"])]), action: .disconnect, location: place),
        Rule(match: .all([.interface([.wifi]), .not(.all([.ssid([ssid("Home")])]))]), action: .connect, location: place),
        Rule(
          action: .evaluateConnection,
          connections: [
            ConnectionRule(
              domains: [.within(domain("corp.example"))], action: .connectIfNeeded, servers: [try #require(IPAddress("10.0.0.53"))],
              probe: Probe(url: "https://intranet.corp.example/"), location: place)
          ], location: place),
      ]), routes: RoutePolicy(include: [.everything(.v4), .everything(.v6)]), mtu: .overhead(80))
    let text = PolicyPrinter.yaml(networks: [NamedNetwork(name: "home", condition: home, location: place)], tunnels: [tunnel])
    #expect(
      text == """
        version: 1
        networks:
          home: { ssid: [Home, "no"], gateway-mac: "02:00:5e:10:00:01" }
        tunnels:
          corp:
            description: "Company network: all of it"
            class: enterprise
            provider:
              wireguard: { config: corp.conf }
            on-demand:
              rules:
                - name: at home
                  match: { network: home }
                  action: disconnect
                - match:
                    interface: wifi
                    not: { ssid: Home }
                  action: connect
                - action: evaluate-connection
                  connections:
                    - domains: [corp.example]
                      action: connect-if-needed
                      dns-servers: [10.0.0.53]
                      probe: https://intranet.corp.example/
            routes: { include: [default] }
            overhead: 80

        """)
    #expect(!load(text).hasErrors)
  }
}
