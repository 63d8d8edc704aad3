import KernelModel
import NetworkTypes
import RoamwardCore
import Testing

@testable import PolicySource

@Suite struct PolicyValueTests {
  @Test("a policy with everything in it becomes these values")
  func everything() throws {
    let loaded = load(Samples.policy, ["/etc/p/trusted.ssids": "# ours\r\nHome\r\n\nhex:00ff\n"])
    #expect(loaded.diagnostics.filter { $0.severity == .error } == [])
    #expect(loaded.dependencies == ["/etc/p/corp.conf", "/etc/p/trusted.ssids"])
    #expect(loaded.files == ["/etc/p/10.yaml"] && loaded.ignored == [])
    let networks = loaded.policies.networks
    #expect(networks.map(\.name) == ["home", "trusted"] && networks[0].location == place(4, 3))
    let home = try #require(IPPrefix("192.168.7.0/24"))
    let gateway = try #require(IPAddress("192.168.7.1"))
    #expect(
      networks[0].condition
        == .all([.any([.all([.ssid([ssid("Home")]), .gateway([gateway])]), .all([.interface([.ethernet]), .subnet([home])])])]))
    #expect(networks[1].condition == .all([.network(["home"])]))

    #expect(loaded.policies.tunnels.map(\.name) == ["corp", "lab"])
    let corp = try #require(loaded.policies.tunnel(named: "corp"))
    #expect(
      corp.about == "Company network" && corp.isEnabled && corp.precedence == .enterprise && corp.mtu == .fixed(1420)
        && corp.location == place(11, 3))
    #expect(corp.onDemand.isEnabled && corp.onDemand.timing.decideWithin == .milliseconds(1500))
    let rules = corp.onDemand.rules
    #expect(rules.map(\.action) == [.disconnect, .connect, .disconnect, .ignore, .ignore])
    #expect(rules.map(\.name) == ["at home", nil, nil, nil, nil] && rules.map(\.onUnknown) == [nil, .noMatch, nil, nil, nil])
    #expect(rules.map(\.location) == [place(20, 11), place(23, 11), place(28, 11), place(30, 11), place(32, 11)])
    #expect(rules[0].match == .all([.network(["home", "trusted"])]))
    let names = [ssid("Home"), ssid("Home 5G"), ssid("no"), ssid("0123"), ssid("hex:00ff")]
    #expect(rules[1].match == .all([.interface([.wifi]), .not(.all([.ssid(names)]))]))
    let servers = try [#require(DNSServerPattern("10.0.0.53")), #require(DNSServerPattern("17.*"))]
    #expect(rules[2].match == .all([.dnsServer(servers, .each), .dnsDomain([.within(domain("corp.example"))])]))
    let list = SSIDFile(path: "/etc/p/trusted.ssids", contents: .entries([ssid("Home"), ssid("hex:00ff")]))
    let ten = try #require(DNSServerPattern("10.0.0.0/8"))
    #expect(rules[3].match == .all([.dnsServer([ten], .any), .ssidFile(list), .interfaceName([Glob("wl*")])]))
    #expect(rules[4].match == .always)
    #expect(corp.routes == RoutePolicy(include: [.everything(.v4), .everything(.v6)], exclude: [try #require(IPPrefix("10.99.0.0/16"))]))
    #expect(
      corp.dns
        == DNSPolicy(
          servers: [try #require(IPAddress("10.0.0.53"))], searchDomains: [domain("corp.example")],
          matchDomains: [.within(domain("corp.example")), .within(domain("10.in-addr.arpa"))]))
    guard case .wireGuard(let provider) = corp.provider else { throw Unexpected() }
    #expect(provider.path == "/etc/p/corp.conf" && provider.configuration?.peers.count == 1)

    let lab = try #require(loaded.policies.tunnel(named: "lab"))
    #expect(!lab.isEnabled && lab.precedence == .personal && lab.routes == nil && lab.dns == nil && lab.mtu == nil && lab.about == nil)
    #expect(
      lab.provider
        == .command(
          CommandProviderConfiguration(
            up: ["/usr/sbin/openvpn", "--config", "lab.ovpn"], down: ["/usr/bin/kill", "the lab"], status: ["/etc/p/bin/status"],
            interface: "tun7",
            timeout: .seconds(120))))
  }

  @Test("JSON is the same schema")
  func json() throws {
    let text = #"""
      {"version":1,
      	"tunnels": {"t": {"provider":{"command":{"up":["/u"],"down":["/d"]}}, "on-demand":{"enabled":true,"rules":[{"match":{"ssid":["A/\/"],"interface":"wifi"},"action":"connect"}]}}}}
      """#
    let loaded = MemoryFiles(["/etc/p/a.json": text]).load()
    #expect(loaded.report == "")
    #expect(loaded.policies.tunnels.first?.onDemand.rules.first?.match == .all([.ssid([ssid("A//")]), .interface([.wifi])]))
  }

  @Test(
    "an empty value is not considered, and says so",
    arguments: [
      ("{ ssid: [] }", Condition.always), ("{ ssid: }", .always), ("{ not: {} }", .always), ("{ not: { ssid: [] } }", .always),
      ("{ any-of: [] }", .always), ("{ dns-server: { any: [] } }", .always), ("{ dns-server: {} }", .always), ("{ network: [] }", .always),
      ("{ ssid-file: ~ }", .always), ("{ interface: wifi, gateway: [] }", .all([.interface([.wifi])])),
      ("{ any-of: [ { ssid: [] }, { interface: wifi } ] }", .all([.any([.always, .all([.interface([.wifi])])])])),
    ])
  func empty(match: String, expected: Condition) {
    let (condition, diagnostics) = condition(match)
    #expect(condition == expected)
    #expect(!diagnostics.isEmpty && diagnostics.allSatisfy { $0.severity == .warning })
  }

  @Test(
    "an empty value under `disconnect` is an error, in the rule and in a network that it names",
    arguments: [
      ("{ ssid: [] }", "`ssid` is empty"), ("{ ssid: ~ }", "`ssid` is empty"), ("{ ssid: }", "`ssid` is empty"),
      ("{ interface: wifi, gateway-mac: [] }", "`gateway-mac` is empty"), ("{ not: {} }", "`not` is empty"),
      ("{ any-of: [] }", "`any-of` is empty"), ("{ dns-server: { any: [] } }", "`any` is empty"),
      ("{ interface: wifi, any-of: [ { ssid: [] }, { ssid: Home } ] }", "`ssid` is empty"), ("{ probe: ~ }", "`probe` is empty"),
    ])
  func emptyDisconnect(match: String, what: String) {
    func errors(_ networks: String, _ match: String, _ action: String) -> [String] {
      let text = """
        version: 1
        networks: { n: \(networks), other: { network: n } }
        tunnels:
          t:
            provider: { command: { up: [/u], down: [/d] } }
            on-demand: { rules: [ { match: \(match), action: \(action) }, { action: ignore } ] }
        """
      return MemoryFiles(["/etc/p/1.yaml": text]).load().diagnostics.filter { $0.severity == .error }.map(\.message)
    }
    #expect(errors("{ ssid: A }", match, "disconnect").contains { $0.hasPrefix("\(what) under `action: disconnect`: it ") })
    #expect(errors(match, "{ network: other }", "disconnect").contains { $0.hasPrefix("\(what) under `action: disconnect`: it ") })
    for action in ["connect", "ignore"] {
      #expect(errors("{ ssid: A }", match, action) == [] && errors(match, "{ network: other }", action) == [])
    }
    #expect(errors(match, "{ ssid: A }", "disconnect") == [])
    #expect(errors("{ ssid: A }", "{}", "disconnect") == [])
  }

  @Test(
    "what means something else than it seems to is told, with what was probably meant",
    arguments: [
      ("ssid: \"!Home\"", "this is the SSID \"!Home\", with its `!`", "not: { ssid: Home }"),
      ("ssid: Corp-*", "`ssid` is no pattern: only the SSID \"Corp-*\" itself matches", "ssid-glob: Corp-*"),
      ("ssid: [Home, \"C*\"]", "`ssid` is no pattern: only the SSID \"C*\" itself matches", "hex:432a"),
      ("interface-name: wlp", "no link is called `wlp`: the kernel's names go on with a number or a place", "write `wlp*`"),
      ("gateway: 192.168.1.0", "192.168.1.0 looks like the address of a network, not of a gateway", "subnet: 192.168.1.0/24"),
      ("gateway: 0.0.0.0", "no gateway has the address 0.0.0.0", "ip route"),
      ("gateway: \"2001:db8:1::\"", "2001:db8:1:: looks like the address of a network, not of a gateway", "subnet: 2001:db8:1::/64"),
      ("subnet: 10.0.0.5/8", "10.0.0.5/8 is read as 10.0.0.0/8: the address has bits beyond the length", "10.0.0.5/32"),
      ("dns-server: { any: 10.0.0.5/8 }", "10.0.0.5/8 is read as 10.0.0.0/8: the address has bits beyond the length", "10.0.0.0/8"),
    ])
  func doubts(match: String, message: String, help: String) {
    let (_, diagnostics) = condition("{ \(match) }")
    #expect(diagnostics.map(\.message) == [message] && diagnostics.allSatisfy { $0.severity == .warning })
    #expect(diagnostics.first?.help?.contains(help) == true, "\(diagnostics)")
  }

  @Test(
    "what is as it seems is not told of",
    arguments: [
      "ssid: Home!", "ssid: \"hex:432a\"", "ssid: hex:21486f6d65", "ssid-glob: Corp-*", "interface-name: wlp3s0",
      "interface-name: [wl*, eth0]",
      "interface-name: br-lan", "gateway: [192.168.1.1, 10.0.1.254, \"fe80::1\"]", "subnet: [10.0.0.0/8, 192.0.2.7, \"2001:db8::/32\"]",
      "dns-server: [17.*, 10.0.0.53]",
    ])
  func noDoubts(match: String) { #expect(condition("{ \(match) }").diagnostics == []) }

  @Test("no match, an empty one and nothing behind the colon hold always", arguments: ["{}", "", "~"])
  func always(match: String) { #expect(condition(match).condition == .always && condition(match).diagnostics.isEmpty) }

  @Test("criteria nest")
  func nesting() {
    let (result, diagnostics) = condition(
      "{ any-of: { not: { any-of: [ { ssid: A }, { not: { ssid: B } } ] } }, interface: [wifi, usb-tether] }")
    #expect(diagnostics.isEmpty)
    let inner = Condition.any([.all([.ssid([ssid("A")])]), .all([.not(.all([.ssid([ssid("B")])]))])])
    #expect(result == .all([.any([.all([.not(.all([inner]))])]), .interface([.wifi, .usbTether])]))
  }

  @Test("durations", arguments: [("500ms", 500), ("10s", 10_000), ("5m", 300_000), ("2h", 7_200_000), ("0s", 0)])
  func durations(text: String, milliseconds: Int) {
    let loaded = load(Self.tunnel("on-demand: { timing: { decide-within: \(text) } }"))
    #expect(loaded.policies.tunnels.first?.onDemand.timing.decideWithin == .milliseconds(milliseconds) && loaded.diagnostics == [])
  }

  @Test("what is no duration", arguments: ["5", "s", "-5s", "+5s", "5 s", "1.5s", "5d", "99999999999h", "9999999999h", "5S", "[5s]"])
  func noDuration(text: String) { #expect(load(Self.tunnel("on-demand: { timing: { decide-within: \(text) } }")).hasErrors) }

  @Test(
    "booleans",
    arguments: [
      ("true", true), ("yes", true), ("on", true), ("On", true), ("\"yes\"", true), ("false", false), ("no", false), ("off", false),
    ])
  func booleans(text: String, value: Bool) { #expect(load(Self.tunnel("enabled: \(text)")).policies.tunnels.first?.isEnabled == value) }

  @Test("servers and search domains that the policy does not mention are the provider's own")
  func ownServers() {
    let loaded = load("version: 1\ntunnels: { t: { provider: { wireguard: { config: ./corp.conf } }, dns: { match-domains: . } } }")
    #expect(
      loaded.policies.tunnels.first?.dns
        == DNSPolicy(servers: [IPAddress("10.77.0.1")!], searchDomains: [domain("corp.example")], matchDomains: [.any]))
    #expect(load(Self.tunnel("dns: { match-domains: corp.example }")).hasErrors)
  }

  @Test("names can be refused where only some are the tunnel's")
  func refusedNames() {
    let loaded = load(Self.tunnel("dns: { servers: 10.0.0.53, match-domains: corp.example, when-down: refuse }"))
    #expect(!loaded.hasErrors && loaded.policies.tunnels.first?.dns?.whenDown == .refuse)
    for domains in ["", "match-domains: [corp.example, .], "] {
      let loaded = load(Self.tunnel("dns: { servers: 10.0.0.53, \(domains)when-down: refuse }"))
      #expect(loaded.diagnostics.contains { $0.message.contains("needs `match-domains`") && $0.help?.contains("kill-switch") == true })
    }
  }

  @Test("domains that may have addresses inside tunnels, and the validation of answers, are read and printed again")
  func rebindAllowed() throws {
    for mode in DNSSECMode.allCases {
      let text = Self.tunnel("dns: { servers: 10.0.0.53, rebind-allowed: [home.example, plex.direct], dnssec: \(mode.rawValue) }")
      let loaded = load(text)
      let dns = try #require(loaded.policies.tunnels.first?.dns)
      #expect(!loaded.hasErrors && dns.dnssec == mode && dns.rebindAllowed.map(\.text) == ["home.example", "plex.direct"])
    }
    #expect(load(Self.tunnel("dns: { servers: 10.0.0.53, rebind-allowed: '*' }")).hasErrors)
    #expect(load(Self.tunnel("dns: { servers: 10.0.0.53, dnssec: downgrade }")).hasErrors)
  }

  @Test("domains of routes are read with and without a star, and say what else goes through the tunnel") func routedDomains() throws {
    let loaded = load(Self.tunnel("routes: { include-domains: [git.corp.example, '*.cdn.example'], exclude-domains: ads.cdn.example }"))
    let tunnel = try #require(loaded.policies.tunnels.first)
    #expect(!loaded.hasErrors && tunnel.routes?.includeDomains.map(\.text) == ["git.corp.example", "cdn.example"])
    #expect(tunnel.routes?.excludeDomains.map(\.text) == ["ads.cdn.example"] && tunnel.routesByName && tunnel.takesPart)
    #expect(tunnel.knownIncludes == [])
    for value in ["'*'", "'*.'", "https://git.corp.example", "10.0.0.0/8", "a..b"] {
      let loaded = load(Self.tunnel("routes: { include-domains: \(value) }"))
      #expect(loaded.hasErrors && loaded.diagnostics.allSatisfy { $0.location.line > 0 }, "\(value)")
    }
  }

  @Test("questions can be captured, where there are servers that answer them; an error names the key's place")
  func capturedNames() {
    let loaded = load(Self.tunnel("dns: { servers: 10.0.0.53, match-domains: corp.example, names: capture }"))
    #expect(!loaded.hasErrors && loaded.policies.tunnels.first?.dns?.names == .capture)
    #expect(load(Self.tunnel("dns: { servers: 10.0.0.53 }")).policies.tunnels.first?.dns?.names == .system)
    let missing = load(Self.tunnel("dns: { names: capture }"))
    #expect(missing.diagnostics.map(\.location) == [place(5, 12)] && missing.hasErrors)
    #expect(missing.diagnostics.first?.message.contains("`names: capture` needs servers") == true)
    #expect(load(Self.tunnel("dns: { servers: 10.0.0.53, names: captured }")).diagnostics.first?.help == "did you mean `capture`?")
  }

  @Test(
    "names of tunnels",
    arguments: [
      ("a", true), ("A-1_b.c", true), (String(repeating: "a", count: 64), true), (String(repeating: "a", count: 65), false),
      ("\"\"", false), ("a b", false), ("../x", false), (".", false), ("..", false), ("-f", false), ("é", false), ("\"a\\nb\"", false),
      ("a/b", false),
    ])
  func names(name: String, isAllowed: Bool) {
    #expect(load("version: 1\ntunnels: { \(name): { provider: { command: { up: [/u], down: [/d] } } } }").hasErrors != isAllowed)
  }

  static func tunnel(_ keys: String) -> String {
    "version: 1\ntunnels:\n  t:\n    provider: { command: { up: [/u], down: [/d] } }\n    \(keys)\n"
  }
}

struct Unexpected: Error {}

private func place(_ line: Int, _ column: Int) -> Place { Place(file: "/etc/p/10.yaml", line: line, column: column) }
// swift-format-ignore: NeverForceUnwrap
func ssid(_ text: String) -> SSID { SSID(text)! }

// swift-format-ignore: NeverForceUnwrap
func domain(_ text: String) -> DomainName { DomainName(text)! }
