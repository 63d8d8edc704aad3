import NetworkTypes
import RoamwardCore
import Testing

@testable import PolicySource

/// Rule sets of public profiles, in this language; `p` is a probe of the public internet, `internal` one of the company's.
private let rules: [(name: String, yaml: String)] = [
  ("A", "- action: connect"),
  (
    "C",
    """
    - { match: { interface: wifi, ssid: Home }, action: disconnect }
    - { match: { interface: wifi, probe: "http://p.example/" }, action: connect }
    - { match: { interface: cellular, probe: "http://p.example/" }, action: disconnect }
    - { action: disconnect }
    """
  ),
  (
    "E",
    """
    - { match: { interface: wifi, ssid: Home }, action: disconnect }
    - { match: { interface: wifi }, action: connect }
    - { match: { interface: cellular }, action: connect }
    """
  ),
  (
    "G",
    """
    - { match: { interface: ethernet }, action: connect }
    - { match: { interface: wifi, ssid: Cafe }, action: connect }
    - { action: ignore }
    """
  ),
  (
    "K",
    """
    - { action: evaluate-connection, connections: [ { domains: [youtube.com], action: connect-if-needed } ] }
    - { match: { interface: cellular }, action: disconnect }
    - { action: disconnect }
    """
  ),
  (
    "M",
    """
    - { match: { interface: wifi, ssid: Home }, action: disconnect }
    - { action: connect }
    - { match: { interface: cellular }, action: connect }
    - { match: { interface: ethernet }, action: connect }
    - { match: { interface: wifi }, action: connect }
    - { action: ignore }
    """
  ),
  (
    "N",
    """
    - { match: { interface: wifi, ssid: Home }, action: disconnect }
    - { action: evaluate-connection, connections: [ { domains: ["*.google.com"], action: connect-if-needed } ] }
    - { action: ignore }
    """
  ),
  (
    "O",
    """
    - { match: { interface: wifi, ssid: Home }, action: disconnect }
    - { match: { interface: cellular }, action: disconnect }
    - { match: { interface: wifi }, action: connect }
    - { action: ignore }
    """
  ),
  (
    "Q",
    """
    - { match: { dns-server: 10.0.0.*, probe: "https://internal.example/" }, action: disconnect }
    - { match: { dns-domain: "*.corp.example.com", probe: "https://internal.example/" }, action: disconnect }
    - { action: connect }
    """
  ),
  (
    "R",
    """
    - { match: { ssid: Home }, action: disconnect }
    - { action: connect }
    """
  ),
]

private let allAnswer = "probes: { \"http://p.example/\": ok, \"https://internal.example/\": ok }"

private let situations: [(name: String, yaml: String)] = [
  ("S1", "links: { w: { type: wifi, ssid: Home, dns-servers: 192.168.7.1 } }\n\(allAnswer)"),
  ("S2", "links: { w: { type: wifi, ssid: Cafe, dns-servers: 192.0.2.1 } }\nprobes: { \"http://p.example/\": ok }"),
  ("S3", "links: { w: { type: wifi, ssid: Cafe, dns-servers: 192.0.2.1 } }\ncaptive-portal: true"),
  ("S4", "links: { c: { type: cellular } }\nprobes: { \"http://p.example/\": ok }"),
  ("S5", "links: { e: { type: ethernet, search-domains: office.example } }\nprobes: { \"http://p.example/\": ok }"),
  ("S6", "links: { w: { type: wifi, ssid: Corp, search-domains: corp.example.com, dns-servers: [10.0.0.53, 10.0.0.54] } }\n\(allAnswer)"),
  ("S8", "links: { b: { type: bluetooth } }\nprobes: { \"http://p.example/\": ok }"),
]

/// Action and rule, counted from 1; `-` where no rule matches.
private let table: [(set: String, cells: String)] = [
  ("A", "C1 C1 C1 C1 C1 C1 C1"), ("C", "D1 C2 D4 D3 D4 C2 D4"), ("E", "D1 C2 C2 C3 - C2 -"), ("G", "I3 C2 C2 I3 C1 I3 I3"),
  ("K", "E1 E1 E1 E1 E1 E1 E1"), ("M", "D1 C2 C2 C2 C2 C2 C2"), ("N", "D1 E2 E2 E2 E2 E2 E2"), ("O", "D1 C3 C3 D2 I4 C3 I4"),
  ("Q", "C3 C3 C3 C3 C3 D1 C3"), ("R", "D1 C2 C2 C2 C2 C2 C2"),
]

@Suite struct TruthTableTests {
  private func tunnel(_ rules: String) throws -> TunnelPolicy {
    let list = rules.split(separator: "\n").map { "      \($0)\n" }.joined()
    let loaded = load("version: 1\ntunnels:\n  t:\n    provider: { command: { up: /u, down: /d } }\n    on-demand:\n     rules:\n" + list)
    #expect(!loaded.hasErrors, "\(loaded.report)")
    return try #require(loaded.policies.tunnels.first)
  }

  private func snapshot(_ text: String) throws -> NetworkSnapshot {
    try #require(readSnapshot(text: Array("version: 1\n\(text)\n".utf8), file: "s").snapshot)
  }

  private func cell(_ decision: Decision) -> String {
    guard let rule = decision.rule else { return "-" }
    return decision.outcome.rawValue.prefix(1).uppercased() + String(rule.index)
  }

  @Test("the truth table of public profiles", arguments: table)
  func publicProfiles(set: String, cells: String) throws {
    let tunnel = try tunnel(try #require(rules.first { $0.name == set }).yaml)
    let found = try situations.map { cell(Evaluator(networks: []).decide(tunnel, on: try snapshot($0.yaml))) }
    #expect(found.joined(separator: " ") == cells)
  }

  @Test("without a network no rule is looked at")
  func offline() throws {
    for set in rules { #expect(cell(Evaluator(networks: []).decide(try tunnel(set.yaml), on: NetworkSnapshot())) == "-") }
  }

  @Test(
    "a probe that is not decided keeps the decision pending, and only where the rule's other keys hold",
    arguments: [("C", "S2", "P2"), ("C", "S4", "P3"), ("C", "S1", "D1"), ("C", "S5", "D4"), ("Q", "S6", "P1"), ("Q", "S2", "C3")])
  func undecided(set: String, situation: String, expected: String) throws {
    let tunnel = try tunnel(try #require(rules.first { $0.name == set }).yaml)
    var snapshot = try snapshot(try #require(situations.first { $0.name == situation }).yaml)
    snapshot.probes = [:]
    snapshot.otherProbes = .unknown(reason: "in flight")
    #expect(cell(Evaluator(networks: []).decide(tunnel, on: snapshot)) == expected)
    // When the waiting is over, ignorance connects and never disconnects.
    let late = cell(Evaluator(networks: []).decide(tunnel, on: snapshot, patience: .isOver))
    #expect(late == ["P2": "C2", "P3": "D4", "P1": "C3"][expected] ?? expected)
  }

  @Test(
    "domains by whole labels",
    arguments: [
      ("www.example.com", "example.com", true), ("example.com", "*.example.com", true), ("notexample.com", "example.com", false),
      ("intranet", "intranet", true), ("nas.lan", "lan", true), ("foo.com", "m", false), ("WWW.Example.COM.", "example.com", true),
      ("anything.at.all", "*", true), ("example.com", "www.example.com", false), ("mydomain-example.com", "example.com", false),
    ])
  func domains(host: String, pattern: String, matches: Bool) throws {
    let tunnel = try tunnel("- { action: evaluate-connection, connections: [ { domains: \"\(pattern)\", action: connect-always } ] }")
    let connections = tunnel.onDemand.rules[0].connections
    #expect((connections.first(for: domain(host)) != nil) == matches)
    let network = try snapshot("links: { e: { search-domains: \"\(host)\" } }")
    let byNetwork = try self.tunnel("- { match: { dns-domain: \"\(pattern)\" }, action: connect }")
    #expect((cell(Evaluator(networks: []).decide(byNetwork, on: network)) == "C1") == matches)
  }

  @Test("exceptions come first")
  func order() throws {
    let tunnel = try tunnel(
      "- { action: evaluate-connection, connections: [ { domains: a.b.example, action: never-connect }, { domains: b.example, action: connect-if-needed } ] }"
    )
    let connections = tunnel.onDemand.rules[0].connections
    #expect(connections.first(for: domain("x.a.b.example"))?.action == .neverConnect)
    #expect(connections.first(for: domain("c.b.example"))?.action == .connectIfNeeded && connections.first(for: domain("d.example")) == nil)
  }

  @Test(
    "each key holds, does not, and is unknown",
    arguments: [
      ("gateway-mac: 02:00:5e:10:00:01", "gateway-mac=02:00:5e:10:00:01", "gateway-mac=02:00:5e:10:00:02", "gateway-mac"),
      ("bssid: 02:00:5e:10:00:01", "bssid=02:00:5e:10:00:01", "bssid=", "bssid"),
      ("wifi-security: [wpa2, wpa3]", "wifi-security=wpa3", "wifi-security=", "wifi-security"),
      ("ssid-glob: \"C?fe*\"", "ssid=Cafe 2", "ssid=Coffee", "ssid"), ("ssid-glob: \"*\"", "ssid=x", "ssid=", "ssid"),
      ("metered: true", "metered=true", "metered=false", "metered"), ("metered: false", "metered=no", "metered=yes", "metered"),
      ("captive-portal: true", "captive-portal=true", "captive-portal=false", "captive-portal"),
      ("internet: false", "internet=false", "internet=true", "internet"), ("power: battery", "power=battery", "power=ac", "power"),
      ("time: { days: [mon-fri], from: \"08:00\", to: \"18:00\" }", "time=fri 17:59", "time=fri 18:00", "time"),
      ("time: { days: [fri], from: \"22:00\", to: \"06:00\" }", "time=sat 05:59", "time=fri 05:59", "time"),
      ("time: { days: [sun], to: \"24:00\" }", "time=sun 23:59", "time=mon 00:00", "time"),
    ])
  func threeValued(match: String, yes: String, no: String, key: String) throws {
    let tunnel = try tunnel("- { match: { \(match) }, action: connect }")
    let negated = try self.tunnel("- { match: { not: { \(match) } }, action: connect }")
    for (setting, plain, inverse) in [(yes, "C1", "-"), (no, "-", "C1"), ("\(key)=unknown()", "P1", "P1")] {
      var snapshot = try snapshot("links: { e: {} }")
      #expect(applySetting(setting, to: &snapshot) == nil)
      #expect(cell(Evaluator(networks: []).decide(tunnel, on: snapshot)) == plain, "\(setting)")
      #expect(cell(Evaluator(networks: []).decide(negated, on: snapshot)) == inverse, "\(setting)")
    }
  }
}
