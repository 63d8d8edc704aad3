import NetworkTypes
import PolicyLint
import RoamwardCore
import TestKit
import Testing

@Suite struct EvidenceTests {
  static let home = Condition.ssid([Sample.ssid("Home")])
  static let router = Condition.gatewayMAC([MACAddress("02:00:5e:10:00:01")].compactMap { $0 })
  static let virtualRouter = Condition.gatewayMAC([MACAddress("00:00:5e:00:01:0a")].compactMap { $0 })
  static let pinned = Condition.probe(Probe(url: "https://beacon.example/", pins: ["sha256//MTIz"]))
  static let wired = Condition.interface([.ethernet])

  @Test(
    "a tunnel should not go down on what anyone's network can show",
    arguments: [
      ([home], "`ssid`"), ([.all([home, router])], nil), ([pinned], nil), ([.probe(Probe(url: "http://beacon.example/"))], "`probe`"),
      ([wired], "`interface`"), ([.all([wired, .subnet([Sample.prefix("10.0.0.0/8")])])], "`interface`, `subnet`"),
      ([.any([.all([home, router]), .all([home, wired]), .dnsDomain([.any])])], "`dns-domain`"),
      ([.all([home, .not(pinned)])], "`ssid`"), ([.bssid([MACAddress("02:00:5e:10:00:01")].compactMap { $0 })], nil),
      ([.all([.any([router, home]), .captivePortal(false)])], "`ssid`, `captive-portal`"),
      ([.captivePortal(true)], "`captive-portal`"), ([.internet(false)], "`internet`"),
      ([.probe(Probe(url: "https://beacon.example/"))], nil),
      // The address of a virtual router is that of many networks' routers.
      ([virtualRouter], "`gateway-mac`"), ([.all([home, virtualRouter])], "`ssid`, `gateway-mac`"), ([.all([virtualRouter, pinned])], nil),
      // Neither says that the place is a trusted one.
      ([.always], nil), ([.time(TimeWindow(from: 0, to: 60))], nil), ([.not(home)], nil), ([.interface([.cellular])], nil),
      ([.metered(true)], nil),
      // A network that shows this SSID without the router is stopped before.
      ([.all([home, .not(router)]), home], nil),
    ] as [([Condition], String?)])
  func weak(matches: [Condition], facts: String?) {
    var rules = matches.map { Sample.rule($0, .connect) }
    rules[rules.count - 1].action = .disconnect
    let findings = lint(PolicySet(tunnels: [Sample.tunnel(rules: rules)])).filter { $0.kind == .weakEvidence }
    let expected = facts.map { "rule \(rules.count) of `corp` disconnects on weak evidence alone: \($0), which anyone's network can show" }
    #expect(findings.map(\.message) == (expected.map { [$0] } ?? []))
  }

  /// Conditions of each fact, and what a stranger needs to show them. A new fact does not pass before it is here.
  static let kinds: [(facts: Set<FactKind>, condition: Condition, proof: FactProof)] = [
    ([.type], .interface([.wifi]), .forgeable), ([], .interfaceName([Glob("wl*")]), .forgeable), ([.ssid], home, .forgeable),
    ([.ssid], .ssidGlob([Glob("H*")]), .forgeable), ([.bssid], .bssid([MACAddress("02:00:5e:10:00:07")].compactMap { $0 }), .hardToForge),
    ([.wifiSecurity], .wifiSecurity([.wpa2]), .forgeable), ([.gatewayMAC], router, .hardToForge),
    ([.dnsServers], .dnsServer([DNSServerPattern("10.0.0.53")].compactMap { $0 }, .each), .forgeable),
    ([.searchDomains], .dnsDomain([Sample.pattern("corp.example")]), .forgeable), ([], .subnet([Sample.prefix("10.0.0.0/8")]), .forgeable),
    ([], .gateway([Sample.address("10.0.0.1")]), .forgeable), ([], .probe(Probe(url: "http://beacon.example/")), .forgeable),
    ([], .probe(Probe(url: "https://beacon.example/")), .hardToForge), ([], pinned, .hardToForge),
    ([.captivePortal], .captivePortal(true), .forgeable), ([.internet], .internet(false), .forgeable), ([.metered], .metered(true), .none),
    ([.users], .loggedIn(Sample.users("alice")), .none),
    ([.time], .time(TimeWindow(from: 0, to: 60)), .none), ([.power], .power([.battery]), .none),
  ]

  /// Whether a tunnel that goes down on all of these conditions is reported.
  private func isReported(_ conditions: [Condition]) -> Bool {
    let rules = [Sample.rule(conditions.count == 1 ? conditions[0] : .all(conditions), .disconnect), Sample.rule(.always, .connect)]
    return lint(PolicySet(tunnels: [Sample.tunnel(rules: rules)])).contains { $0.kind == .weakEvidence }
  }

  @Test("of all facts, alone and together: weaker evidence never silences the warning, and one that is hard to forge does") func everyFact()
  {
    #expect(Self.kinds.reduce(into: Set()) { $0.formUnion($1.facts) } == Set(FactKind.allCases))
    func check(_ kinds: [(facts: Set<FactKind>, condition: Condition, proof: FactProof)]) {
      let isWeak = kinds.contains { $0.proof == .forgeable } && !kinds.contains { $0.proof == .hardToForge }
      #expect(isReported(kinds.map(\.condition)) == isWeak, "\(kinds.map(\.condition))")
    }
    for (i, first) in Self.kinds.enumerated() {
      check([first])
      for (j, second) in Self.kinds[..<i].enumerated() {
        check([first, second])
        for third in Self.kinds[..<j] { check([third, first, second]) }
      }
    }
  }

  @Test("through a named network, the network is told") func throughNetwork() {
    let network = NamedNetwork(name: "home", condition: .any([.all([Self.home, Self.router]), Self.home]), location: Sample.place(3))
    let findings = lint(
      PolicySet(
        networks: [network],
        tunnels: [Sample.tunnel(rules: [Sample.rule(.network(["home"]), .disconnect), Sample.rule(.always, .connect)])]))
    #expect(
      findings.map(\.message) == [
        "rule 1 of `corp` disconnects on weak evidence alone: `ssid` (network `home`), which anyone's network can show"
      ])
    #expect(findings.first?.related == Sample.place(3))
  }
}
