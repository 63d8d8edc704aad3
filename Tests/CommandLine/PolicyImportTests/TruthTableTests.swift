import NetworkTypes
import RoamwardCore
import Testing

@testable import PolicyImport

/// Rule lists that are in use, on networks as they are met: action and number of the rule that decides.
@Suite struct TruthTableTests {
  private static func rule(_ action: P, _ more: KeyValuePairs<String, P> = [:]) -> P {
    let base: P = ["Action": action]
    return base.with(more)
  }

  private static let names: P = [["Domains": ["a.example"], "DomainAction": "ConnectIfNeeded"]]

  static let lists: [(id: String, rules: [P], wanted: [String])] = [
    ("A", [rule("Connect")], ["C1", "C1", "C1", "C1", "C1", "C1", "C1"]),
    (
      "C",
      [
        rule("Disconnect", ["InterfaceTypeMatch": "WiFi", "SSIDMatch": ["Home"]]),
        rule("Connect", ["InterfaceTypeMatch": "WiFi", "URLStringProbe": "https://open.example/"]),
        rule("Disconnect", ["InterfaceTypeMatch": "Cellular", "URLStringProbe": "https://open.example/"]), rule("Disconnect"),
      ], ["D1", "C2", "D4", "D3", "D4", "C2", "D4"]
    ),
    (
      "E",
      [
        rule("Disconnect", ["InterfaceTypeMatch": "WiFi", "SSIDMatch": ["Home"]]), rule("Connect", ["InterfaceTypeMatch": "WiFi"]),
        rule("Connect", ["InterfaceTypeMatch": "Cellular"]),
      ], ["D1", "C2", "C2", "C3", "-", "C2", "-"]
    ),
    (
      "G",
      [
        rule("Connect", ["InterfaceTypeMatch": "Ethernet"]), rule("Connect", ["InterfaceTypeMatch": "WiFi", "SSIDMatch": ["Cafe"]]),
        rule("Ignore"),
      ], ["I3", "C2", "C2", "I3", "C1", "I3", "I3"]
    ),
    (
      "K",
      [
        rule("EvaluateConnection", ["ActionParameters": names]), rule("Disconnect", ["InterfaceTypeMatch": "Cellular"]), rule("Disconnect"),
      ],
      ["E1", "E1", "E1", "E1", "E1", "E1", "E1"]
    ),
    (
      "M",
      [
        rule("Disconnect", ["InterfaceTypeMatch": "WiFi", "SSIDMatch": ["Home"]]), rule("Connect"),
        rule("Connect", ["InterfaceTypeMatch": "Cellular"]), rule("Connect", ["InterfaceTypeMatch": "Ethernet"]),
        rule("Connect", ["InterfaceTypeMatch": "WiFi"]), rule("Ignore"),
      ], ["D1", "C2", "C2", "C2", "C2", "C2", "C2"]
    ),
    (
      "N", [rule("Disconnect", ["SSIDMatch": ["Home"]]), rule("EvaluateConnection", ["ActionParameters": names]), rule("Ignore")],
      ["D1", "E2", "E2", "E2", "E2", "E2", "E2"]
    ),
    (
      "O",
      [
        rule("Disconnect", ["InterfaceTypeMatch": "WiFi", "SSIDMatch": ["Home"]]), rule("Disconnect", ["InterfaceTypeMatch": "Cellular"]),
        rule("Connect", ["InterfaceTypeMatch": "WiFi"]), rule("Ignore"),
      ], ["D1", "C3", "C3", "D2", "I4", "C3", "I4"]
    ),
    (
      "Q",
      [
        rule("Disconnect", ["DNSServerAddressMatch": ["10.0.0.*"], "URLStringProbe": "https://internal.example/"]),
        rule("Disconnect", ["DNSDomainMatch": ["*.corp.example.com"], "URLStringProbe": "https://internal.example/"]), rule("Connect"),
      ], ["C3", "C3", "C3", "C3", "C3", "D1", "C3"]
    ),
    ("R", [rule("Disconnect", ["SSIDMatch": ["Home"]]), rule("Connect")], ["D1", "C2", "C2", "C2", "C2", "C2", "C2"]),
  ]

  /// Home, café, café behind a portal, cellular, cable, the company, a medium that Apple has no word for.
  static let networks: [NetworkSnapshot] = [
    network(.wifi, ssid: "Home", answered: ["open", "internal"]), network(.wifi, ssid: "Cafe", answered: ["open"]),
    network(.wifi, ssid: "Cafe"),
    network(.cellular, answered: ["open"]), network(.ethernet, domain: "office.example", answered: ["open"]),
    network(.wifi, ssid: "Corp", domain: "corp.example.com", servers: ["10.0.0.53", "10.0.0.54"], answered: ["open", "internal"]),
    network(.bluetooth, answered: ["open"]),
  ]

  private static func network(
    _ type: InterfaceType, ssid: String? = nil, domain: String? = nil, servers: [String] = ["192.0.2.53"], answered: [String] = []
  ) -> NetworkSnapshot {
    var link = LinkFacts(name: "link0", type: .known(type), ssid: .known(ssid.flatMap { SSID($0) }))
    link.dnsServers = .known(servers.compactMap { IPAddress($0) })
    link.searchDomains = .known(domain.flatMap { DomainName($0) }.map { [$0] } ?? [])
    let probes = answered.map { ("https://\($0).example/", Fact<Bool>.known(true)) }
    return NetworkSnapshot(primary: "link0", links: [link], probes: Dictionary(uniqueKeysWithValues: probes))
  }

  @Test("imported rules decide as the originals do", arguments: lists)
  func decisions(id: String, rules: [P], wanted: [String]) throws {
    let list = P.value(Property(.array(rules.map(\.property))))
    let tunnel = try importing(profile(on(list))).tunnel()
    var enabled = tunnel
    enabled.isEnabled = true
    let found = Self.networks.map { network in
      let decision = Evaluator(networks: []).decide(enabled, on: network)
      let letter: [Decision.Outcome: String] = [.connect: "C", .disconnect: "D", .ignore: "I", .evaluateConnection: "E", .pending: "P"]
      return decision.rule.map { "\(letter[decision.outcome] ?? "?")\($0.index)" } ?? "-"
    }
    #expect(found == wanted, "\(id)")
  }
}
