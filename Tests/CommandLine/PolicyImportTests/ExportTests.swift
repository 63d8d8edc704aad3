import NetworkTypes
import RoamwardCore
import SeededRandom
import Testing

@testable import PolicyImport

@Suite struct ExportTests {
  @Test("2,000 lists of rules come back as they were, through both forms") func identity() throws {
    var random = SplitMix64(seed: 7)
    for _ in 0..<2_000 {
      let rules = (0..<Int.random(in: 0...6, using: &random)).map { _ in Generated.rule(&random) }
      let idle: Duration? = Bool.random(using: &random) ? .seconds(Int.random(in: 1...9999, using: &random)) : nil
      let tunnel = Generated.tunnel(rules, idle: idle, isOn: Bool.random(using: &random))
      for form in [AppleForm.mobileconfig, .declaration] {
        let export = exportProfile(tunnel, networks: [], form: form)
        #expect(export.isWhole, "\(export.problems)")
        let result = try importProfile(Array(export.text.utf8), file: "x", options: ImportOptions())
        let back = try result.tunnel()
        #expect(back.onDemand.rules.map(Generated.bare) == rules, "\(export.text)\n\(result.report.text)")
        #expect(back.onDemand.timing.idle == idle && back.onDemand.isEnabled == (tunnel.onDemand.isEnabled) && back.name == "corp")
      }
    }
  }

  static let inexpressible: [(Condition, String)] = [
    (.not(.ssid([])), "`not`"), (.subnet([]), "`subnet`"), (.time(TimeWindow()), "`time`"), (.interface([.bluetooth]), "bluetooth"),
    (.probe(Probe(url: "https://a.example/", status: 204)), "probe's status"), (.dnsServer([], .any), "`any`"), (.power([.ac]), "`power`"),
    (.captivePortal(true), "`captive-portal`"), (.all([.ssid([]), .ssid([])]), "SSIDMatch would stand twice"),
  ]

  @Test("what cannot be said is an error that names rule and place, and is left out whole", arguments: inexpressible)
  func losses(condition: Condition, words: String) throws {
    let place = Place(file: "10-corp.yaml", line: 12, column: 9)
    var tunnel = Generated.tunnel([
      Rule(match: .all([condition]), action: .disconnect, location: place), Rule(action: .connect, location: place),
    ])
    tunnel.onDemand.isEnabled = true
    let (rules, problems) = exportRules(of: tunnel, networks: [])
    #expect(problems.map(\.rule) == [1] && problems.first?.text.hasPrefix("10-corp.yaml:12:9: error: rule 1: ") == true)
    #expect(problems.first?.message.contains(words) == true, "\(problems)")
    #expect(rules.items?.count == 1)
  }

  @Test("`on-unknown` is a loss too") func onUnknown() {
    let tunnel = Generated.tunnel([Rule(action: .connect, onUnknown: .match, location: nowhere)])
    #expect(!exportProfile(tunnel, networks: [], form: .mobileconfig).isWhole)
  }

  @Test("alternatives become rules in a row, and named networks are written out") func alternatives() throws {
    let home = NamedNetwork(
      name: "home", condition: .all([.any([.all([.ssid([try #require(SSID("Home"))])]), .all([.interface([.ethernet])])])]),
      location: nowhere)
    let tunnel = Generated.tunnel([
      Rule(match: .all([.network(["home"])]), action: .disconnect, location: nowhere),
      Rule(match: .all([.interface([.wifi, .cellular])]), action: .connect, location: nowhere),
    ])
    let (rules, problems) = exportRules(of: tunnel, networks: [home])
    #expect(
      rules.items?.map { $0["SSIDMatch"] != nil ? "ssid" : $0["InterfaceTypeMatch"]?.text } == ["ssid", "Ethernet", "WiFi", "Cellular"])
    #expect(problems.count == 2 && !problems.contains(where: \.isLoss))
  }
}

/// Rules that both languages can say.
enum Generated {
  static func rule(_ random: inout SplitMix64) -> Rule {
    var criteria: [Condition] = []
    if chance(&random) { criteria.append(.interface([pick([.ethernet, .wifi, .cellular], &random)])) }
    if chance(&random) {
      criteria.append(
        .ssid(
          some(
            ["Home", "Café & Bar", "<a>", "no", "null", "0123", "hex:zz", " x ", "a\"b", "日本", "\u{202e}x"].compactMap {
              SSID(bytes: Array($0.utf8))
            }, &random)))
    }
    if chance(&random) { criteria.append(.dnsDomain(DomainList(domains(&random)))) }
    if chance(&random) {
      criteria.append(
        .dnsServer(some(["10.0.0.53", "17.*", "10.1.*", "10.1.2.*", "2001:db8::53"].compactMap { DNSServerPattern($0) }, &random), .each))
    }
    if chance(&random) { criteria.append(.probe(probe(&random))) }
    var rule = Rule(match: .all(criteria), action: pick(Action.allCases, &random), location: nowhere)
    if rule.action == .evaluateConnection {
      rule.connections = (0..<Int.random(in: 1...3, using: &random)).map { _ in connection(&random) }
    }
    return rule
  }

  static func tunnel(_ rules: [Rule], idle: Duration? = nil, isOn: Bool = true) -> TunnelPolicy {
    TunnelPolicy(
      name: "corp", provider: .command(CommandProviderConfiguration(up: ["/u"], down: ["/d"])),
      onDemand: OnDemand(isEnabled: isOn, rules: rules, timing: Timing(idle: idle)), location: nowhere)
  }

  /// Without its places.
  static func bare(_ rule: Rule) -> Rule {
    var rule = rule
    rule.location = nowhere
    for i in rule.connections.indices { rule.connections[i].location = nowhere }
    return rule
  }

  private static func connection(_ random: inout SplitMix64) -> ConnectionRule {
    var rule = ConnectionRule(
      domains: DomainList(domains(&random)), action: pick(ConnectionRule.Action.allCases, &random), location: nowhere)
    if rule.action == .connectIfNeeded {
      if chance(&random) { rule.servers = some(["10.0.0.53", "2001:db8::53"].compactMap { IPAddress($0) }, &random) }
      if chance(&random) { rule.probe = probe(&random) }
    }
    return rule
  }

  private static func domains(_ random: inout SplitMix64) -> [DomainPattern] {
    some(["*", "corp.example", "a.b.example", "lan", "xn--caf-dma.example"].compactMap { DomainPattern($0) }, &random)
  }

  private static func probe(_ random: inout SplitMix64) -> Probe {
    Probe(url: pick(["https://beacon.corp.example/", "http://192.0.2.1:8080/a?b=c&d=e", "https://[2001:db8::1]/"], &random))
  }

  private static func chance(_ random: inout SplitMix64) -> Bool { Int.random(in: 0..<3, using: &random) == 0 }

  private static func pick<T>(_ items: [T], _ random: inout SplitMix64) -> T { items[Int.random(in: items.indices, using: &random)] }

  private static func some<T>(_ items: [T], _ random: inout SplitMix64) -> [T] {
    (0..<Int.random(in: 1...3, using: &random)).map { _ in pick(items, &random) }
  }
}
