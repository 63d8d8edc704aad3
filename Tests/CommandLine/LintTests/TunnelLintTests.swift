import NetworkTypes
import PolicyLint
import RoamwardCore
import TestKit
import Testing

@Suite struct TunnelLintTests {
  func tunnel(
    _ name: String, include: [String] = [], exclude: [String] = [], servers: [String] = [], domains: [String] = [],
    endpoint: String = "203.0.113.10:51820", precedence: TunnelClass = .personal, rules: [Rule] = []
  ) -> TunnelPolicy {
    Sample.tunnel(
      name, rules: rules, wireGuard: Sample.wireGuard(allowed: [], endpoint: endpoint),
      routes: RoutePolicy(include: PrefixList(include.map(Sample.prefix)), exclude: PrefixList(exclude.map(Sample.prefix))),
      dns: DNSPolicy(servers: servers.map(Sample.address), matchDomains: domains.map(Sample.pattern)), precedence: precedence)
  }

  func kinds(_ tunnels: TunnelPolicy...) -> [LintFinding.Kind] { lint(PolicySet(tunnels: tunnels)).map(\.kind) }

  @Test("questions that are captured only while the tunnel is up") func captured() {
    var corp = tunnel("corp", include: ["10.0.0.0/8"], servers: ["10.0.0.53"], domains: ["corp.example"])
    #expect(kinds(corp) == [])
    corp.dns?.names = .capture
    #expect(kinds(corp) == [.capturedWhileUp])
    corp.dns?.whenDown = .refuse
    #expect(kinds(corp) == [])
    corp.dns?.whenDown = .ask
    corp.dns?.matchDomains = []
    #expect(kinds(corp) == [])
  }

  @Test("files of wg-quick that have all names asked of a tunnel for a part of the addresses") func allNames() {
    var file = Sample.wireGuard(allowed: ["10.77.0.0/16"])
    (file.dnsServers, file.searchDomains) = ([Sample.address("10.77.0.1")], [Sample.domain("corp.example")])
    let corp = Sample.tunnel(rules: [], wireGuard: file)
    #expect(kinds(corp) == [.allNames])
    let finding = lint(PolicySet(tunnels: [corp])).first
    #expect(finding?.help.contains("`dns: { servers: [10.77.0.1], match-domains: [corp.example] }`") == true)
    // The policy says what is meant.
    for domains in [[], ["corp.example"]] {
      let dns = DNSPolicy(servers: file.dnsServers, searchDomains: file.searchDomains, matchDomains: domains.map(Sample.pattern))
      #expect(kinds(Sample.tunnel(rules: [], wireGuard: file, dns: dns)) == [])
    }
    // Without a domain nothing says that a part of the names is meant; a full tunnel means all.
    for (allowed, domains) in [(["10.77.0.0/16"], []), (["0.0.0.0/0"], ["corp.example"]), (["10.0.0.0/8", "::/0"], ["corp.example"])] {
      var other = file
      other.searchDomains = domains.map(Sample.domain)
      other.peers = Sample.wireGuard(allowed: allowed).peers
      #expect(kinds(Sample.tunnel(rules: [], wireGuard: other)).filter { $0 == .allNames } == [])
    }
  }

  @Test("domains of `rebind-allowed` whose answers are never withheld") func rebinding() {
    var corp = tunnel("corp", include: ["10.0.0.0/8"], servers: ["10.0.0.53"], domains: ["corp.example"])
    corp.dns?.rebindAllowed = [Sample.domain("home.example"), Sample.domain("example")]
    #expect(kinds(corp) == [])
    corp.dns?.rebindAllowed = [Sample.domain("home.example"), Sample.domain("lab.corp.example"), Sample.domain("corp.example")]
    #expect(kinds(corp) == [.pointlessRebind, .pointlessRebind])
    corp.dns?.matchDomains = []
    #expect(kinds(corp).count == 3)
  }

  @Test("two tunnels of one class that take the same") func overlaps() {
    let corp = tunnel("corp", include: ["10.0.0.0/8"])
    #expect(kinds(corp, tunnel("lab", include: ["10.0.0.0/8"])) == [.overlappingRoutes])
    #expect(kinds(corp, tunnel("lab", include: ["10.1.0.0/16", "10.2.0.0/16"])) == [.overlappingRoutes])
    #expect(kinds(corp, tunnel("lab", include: ["10.1.0.0/16"], precedence: .enterprise)) == [])
    #expect(kinds(corp, tunnel("lab", include: ["192.0.2.0/24", "2001:db8::/32"])) == [])
    #expect(kinds(corp, tunnel("everything", include: ["0.0.0.0/0", "::/0"])) == [])
    #expect(kinds(tunnel("a", include: ["0.0.0.0/0"]), tunnel("b", include: ["0.0.0.0/0"])) == [.overlappingRoutes])
    // A tunnel for a part wins against one for everything, however that is written.
    #expect(kinds(corp, tunnel("vpn", include: ["0.0.0.0/1", "128.0.0.0/1"])) == [])
    #expect(kinds(corp, tunnel("vpn", include: ["0.0.0.0/0", "10.0.0.0/8"])) == [])
    #expect(kinds(tunnel("a", include: ["0.0.0.0/0"]), tunnel("b", include: ["::/0", "10.0.0.0/8"])) == [.overlappingRoutes])
    #expect(kinds(tunnel("corp", include: ["10.0.0.0/8"], exclude: ["10.1.0.0/16"]), tunnel("lab", include: ["10.1.0.0/16"])) == [])
    #expect(
      lint(PolicySet(tunnels: [corp, tunnel("lab", include: ["10.1.0.0/16"])])).first?.message
        == "`lab` and `corp` (10-test.yaml:1) both take 10.1.0.0/16, `corp` as a part of 10.0.0.0/8")
  }

  @Test("tunnels that the rules never have up on one network are no rivals, for prefixes, domains and endpoints") func together() {
    func pair(_ one: [InterfaceType], _ other: [InterfaceType], else last: Action) -> [LintFinding.Kind] {
      func rules(_ types: [InterfaceType]) -> [Rule] { [Sample.rule(.interface(types), .connect), Sample.rule(.always, last)] }
      return kinds(
        tunnel("cable", include: ["10.0.0.0/8"], servers: ["10.0.0.53"], domains: ["corp.example"], rules: rules(one)),
        tunnel(
          "air", include: ["10.0.0.0/8"], servers: ["10.0.0.53"], domains: ["corp.example", "example"], endpoint: "vpn.corp.example:51820",
          rules: rules(other)))
    }
    let apart = pair([.ethernet], [.wifi], else: .disconnect)
    #expect(!apart.contains(.overlappingRoutes) && !apart.contains(.overlappingDomains))
    for both in [pair([.ethernet], [.wifi, .ethernet], else: .disconnect), pair([.ethernet], [.wifi], else: .ignore)] {
      #expect(both.contains(.overlappingRoutes) && both.contains(.overlappingDomains))
    }
  }

  @Test("settings that no link gets, and a link or a unit of two tunnels") func links() {
    func command(_ name: String, _ provider: ProviderConfiguration) -> TunnelPolicy {
      var tunnel = tunnel(name, include: ["10.\(name.utf8.first ?? 0).0.0/16"], servers: [], domains: [])
      (tunnel.provider, tunnel.dns) = (provider, nil)
      return tunnel
    }
    func program(_ link: String?) -> ProviderConfiguration { .command(CommandProviderConfiguration(up: ["up"], down: [], interface: link)) }
    let unit = ProviderConfiguration.service(ServiceProviderConfiguration(.unit("vpn.service"), interface: "vpn7"))
    #expect(kinds(command("a", program(nil))) == [.unappliedSettings])
    var fetching = command("a", program(nil))
    (fetching.routes, fetching.proxy) = (nil, ProxyPolicy(pac: "http://10.0.0.80/proxy.pac"))
    #expect(kinds(fetching) == [.unappliedSettings])
    #expect(kinds(command("a", program("vpn0"))) == [])
    #expect(kinds(command("a", program("vpn0")), command("b", program("vpn0"))) == [.sharedLink])
    #expect(kinds(command("a", unit), command("b", unit)) == [.sharedLink, .sharedLink])
  }

  @Test("two enterprise tunnels that are wanted on one network; what both take is not contested, because one runs at a time")
  func exclusive() throws {
    let home = Condition.ssid([Sample.ssid("Home")])
    func enterprise(_ name: String, _ rules: [Rule]) -> TunnelPolicy {
      tunnel(name, include: ["10.0.0.0/8"], domains: ["corp.example"], precedence: .enterprise, rules: rules)
    }
    let always = enterprise("a", [Sample.rule(.always, .connect)])
    let abroad = enterprise("b", [Sample.rule(home, .ignore), Sample.rule(.always, .connect)])
    let atHome = enterprise("c", [Sample.rule(home, .connect), Sample.rule(.always, .ignore)])
    #expect(kinds(always, abroad) == [.exclusiveTunnels])
    #expect(kinds(abroad, atHome) == [], "never wanted on the same network")
    #expect(kinds(enterprise("a", []), enterprise("b", [])) == [])
    let finding = try #require(lint(PolicySet(tunnels: [abroad, atHome, always])).first)
    #expect(finding.message.hasPrefix("`a` and `b` (10-test.yaml:1) are both `class: enterprise`"))
    #expect(finding.message.hasSuffix("only `b` runs there, because it comes first"))
  }

  @Test("a kill switch beside `evaluate-connection` that blocks nothing until a look-up starts the tunnel")
  func killSwitchBesideLookUps() throws {
    func rule(_ action: ConnectionRule.Action) -> Rule {
      let names = DomainList([Sample.pattern("corp.example")])
      let entry = ConnectionRule(domains: names, action: action, location: Sample.place())
      return Rule(action: .evaluateConnection, connections: [entry], location: Sample.place())
    }
    func findings(_ killSwitch: KillSwitch, _ rules: [Rule], everything: Bool = false) -> [LintFinding] {
      var corp = tunnel("corp", include: ["10.0.0.0/8"], rules: rules)
      corp.killSwitch = killSwitch
      corp.includesAllNetworks = everything
      return lint(PolicySet(tunnels: [corp])).filter { $0.kind != .namesOutside }
    }
    let all = [rule(.connectIfNeeded)]
    #expect(findings(.off, all) == [] && findings(.on, [Sample.rule(.always, .connect)]) == [])
    let on = try #require(findings(.on, all).first)
    #expect(on.kind.rawValue == "kill-switch-not-started" && on.location == all[0].location)
    #expect(
      on.message == "where rule 1 of `corp` decides, its kill switch blocks nothing until a look-up starts the tunnel")
    #expect(on.help == "use `action: connect`, or `kill-switch: always`")
    #expect(findings(.always, all) == [], "it blocks until a look-up starts the tunnel")
    #expect(findings(.off, all, everything: true).map(\.kind) == [.killSwitchNotStarted])
    // A rule that never decides has no such finding.
    #expect(findings(.on, [Sample.rule(.always, .connect)] + all).map(\.kind) == [.shadowedRule])
    // No look-up is to start it.
    #expect(findings(.on, [rule(.neverConnect)]) == [])
  }

  @Test("names whose look-ups start a tunnel, and which servers outside get all the same") func namesOutside() throws {
    func findings(_ action: ConnectionRule.Action, servers: [String], whenDown: NamesWhenDown = .ask, include: String = "198.51.100.0/24")
      -> [LintFinding]
    {
      let entry = ConnectionRule(domains: [Sample.pattern("corp.example")], action: action, location: Sample.place(7))
      let rules = [
        Sample.rule(.power([.ac]), .ignore), Rule(action: .evaluateConnection, connections: [entry], location: Sample.place(5)),
      ]
      var corp = tunnel("corp", include: [include, "10.0.0.0/8"], rules: rules)
      corp.dns = DNSPolicy(
        servers: servers.map { Sample.address($0) }, matchDomains: [Sample.pattern("corp.example")], whenDown: whenDown)
      return lint(PolicySet(tunnels: [corp]))
    }
    #expect(findings(.connectAlways, servers: ["10.0.0.53"]) == [] && findings(.connectIfNeeded, servers: ["10.0.0.53"]) == [])
    #expect(findings(.connectAlways, servers: [], include: "0.0.0.0/0").filter { $0.kind == .namesOutside } == [])
    let open = try #require(findings(.connectAlways, servers: []).first)
    #expect(open.kind == .namesOutside && open.location.line == 7)
    #expect(
      open.message == "rule 2 of `corp`: the tunnel has no name servers, so once it is up the network's servers are asked for these names")
    let leak = try #require(findings(.connectIfNeeded, servers: ["10.0.0.53"], whenDown: .refuse).first)
    #expect(leak.kind == .leakingRefusal && leak.help == "use `connect-always`, or remove `when-down: refuse`")
    #expect(findings(.connectAlways, servers: ["10.0.0.53"], whenDown: .refuse) == [])
  }

  @Test("two tunnels that answer for the same names") func domains() {
    let corp = tunnel("corp", domains: ["corp.example"])
    #expect(kinds(corp, tunnel("lab", domains: ["corp.example"])) == [.overlappingDomains])
    #expect(kinds(corp, tunnel("lab", domains: ["lab.corp.example"])) == [])
  }

  @Test("what is excluded of nothing, and a server beside the routes") func pointless() {
    #expect(kinds(tunnel("a", include: ["10.0.0.0/8"], exclude: ["192.0.2.0/24"])) == [.pointlessExclusion])
    #expect(kinds(tunnel("a", include: ["10.0.0.0/8"], exclude: ["10.9.0.0/16", "0.0.0.0/0"])) == [])
    #expect(kinds(tunnel("a", include: ["10.0.0.0/8"], servers: ["10.0.0.53", "127.0.0.1"])) == [])
    #expect(kinds(tunnel("a", include: ["10.0.0.0/8"], servers: ["192.0.2.53"])) == [.unroutedServer])
    #expect(kinds(tunnel("a", include: ["10.0.0.0/8"], exclude: ["10.0.0.0/24"], servers: ["10.0.0.53"])) == [.unroutedServer])
  }

  @Test(
    "an endpoint at which no gateway can be",
    arguments: [
      ("0.0.0.0", "no machine has that address"), ("::", "no machine has that address"),
      ("224.0.0.1", "that address is not of one machine, but of many"), ("ff02::1", "that address is not of one machine, but of many"),
      ("255.255.255.255", "that address is not of one machine, but of many"), ("127.0.0.1", nil),
      ("192.0.2.7", "that is an address of this machine"), ("10.7.0.2", "that is the tunnel's own address"), ("203.0.113.10", nil),
    ] as [(String, String?)])
  func unusableEndpoint(address: String, why: String?) {
    let host = address.contains(":") ? "[\(address)]" : address
    var tunnel = tunnel("a", endpoint: "\(host):51820")
    if case .wireGuard(var provider) = tunnel.provider {
      provider.configuration?.addresses = [InterfaceAddress("10.7.0.2/24")].compactMap { $0 }
      tunnel.provider = .wireGuard(provider)
    }
    let findings = lint(PolicySet(tunnels: [tunnel]), ownAddresses: [Sample.address("192.0.2.7")])
    let expected = why.map { "the endpoint \(host):51820 of `a` cannot be its gateway: \($0)" }
    #expect(findings.filter { $0.kind == .unusableEndpoint }.map(\.message) == (expected.map { [$0] } ?? []))
  }

  @Test("a relay on this machine whose packets the tunnel would take or block, unless its server may be excluded")
  func relay() {
    func findings(_ endpoint: String, _ include: [String], exclude: [String] = [], _ killSwitch: KillSwitch = .off) -> [LintFinding] {
      var tunnel = tunnel("a", include: include, exclude: exclude, endpoint: endpoint)
      tunnel.killSwitch = killSwitch
      return lint(PolicySet(tunnels: [tunnel])).filter { $0.kind == .relayedEndpoint }
    }
    let all = ["0.0.0.0/0", "::/0"]
    for endpoint in ["127.0.0.1:51899", "[::1]:51899"] {
      #expect(findings(endpoint, all).first?.message.hasSuffix("whose own packets go into the tunnel that they carry") == true)
      #expect(findings(endpoint, ["0.0.0.0/1", "128.0.0.0/1"]).count == 1)
      #expect(findings(endpoint, ["10.0.0.0/8"]).isEmpty && findings(endpoint, all, exclude: ["203.0.113.10/32"]).isEmpty)
      #expect(findings(endpoint, ["10.0.0.0/8"], .on).first?.message.hasSuffix("are blocked by its kill switch") == true)
      #expect(findings(endpoint, all, exclude: ["192.168.0.0/16"]).first?.help.contains("routes: exclude:") == true)
    }
    #expect(findings("203.0.113.10:51820", all).isEmpty)
  }

  @Test("a WireGuard file without a peer") func noPeer() {
    var tunnel = tunnel("a")
    if case .wireGuard(var provider) = tunnel.provider {
      provider.configuration?.peers = []
      tunnel.provider = .wireGuard(provider)
    }
    #expect(kinds(tunnel) == [.noPeer])
  }

  @Test("a tunnel that is called as another link is")
  func takenNames() {
    for name in ["lo", "eth0", "wlan1", "enp3s0", "wlx001122334455", "docker0", "virbr1", "br0", "bond1", "dummy0", "all", "tunl0"] {
      #expect(kinds(tunnel(name)) == [.takenLinkName], "\(name)")
    }
    for name in ["corp", "home", "ethan", "wg0", "lobby", "enterprise", "wlp", "world", "wwwproxy", "end2end", "office", "tun0"] {
      #expect(kinds(tunnel(name)) == [], "\(name)")
    }
    let command = CommandProviderConfiguration(up: ["/u"], down: ["/d"], interface: "eth0")
    #expect(kinds(TunnelPolicy(name: "vpn", provider: .command(command), location: Sample.place(1))) == [.takenLinkName])
  }

  @Test("a full or blocking tunnel that another service starts has no mark") func unmarkedService() {
    func found(_ program: String, _ include: [String], killSwitch: KillSwitch = .off) -> [LintFinding.Kind] {
      let command = CommandProviderConfiguration(up: [program, "start", "x"], down: ["/d"], interface: "tun9")
      var tunnel = TunnelPolicy(name: "vpn", provider: .command(command), location: Sample.place(1))
      tunnel.routes = RoutePolicy(include: PrefixList(include.map(Sample.prefix)))
      tunnel.killSwitch = killSwitch
      return kinds(tunnel)
    }
    #expect(found("/usr/bin/systemctl", ["0.0.0.0/0"]) == [.unmarkedService])
    #expect(found("nmcli", ["10.0.0.0/8"], killSwitch: .on) == [.unmarkedService])
    #expect(found("/usr/bin/systemctl", ["10.0.0.0/8"]) == [])
    #expect(found("/usr/sbin/openvpn", ["0.0.0.0/0"], killSwitch: .on) == [])
  }

  @Test("an endpoint whose name the tunnel itself would have to look up") func endpoints() {
    #expect(kinds(tunnel("a", domains: ["corp.example"], endpoint: "vpn.corp.example:51820")) == [.endpointInDomains])
    #expect(kinds(tunnel("a", domains: ["corp.example"], endpoint: "vpn.example:51820")) == [])
    #expect(kinds(tunnel("a", domains: ["corp.example"]), tunnel("b", endpoint: "x.corp.example:1")) == [.endpointInDomains])
    #expect(kinds(tunnel("a", include: ["203.0.113.0/24"])) == [])
  }

  @Test(
    "a probe that the tunnel would answer",
    arguments: [
      ("https://beacon.corp.example/", true), ("https://user@beacon.corp.example:8443/x", true), ("http://10.0.0.5/", true),
      ("http://10.9.0.5/", false), ("http://[2001:db8::1]:80/", true), ("https://beacon.example/", false),
    ])
  func probes(url: String, isInside: Bool) {
    let rules = [Sample.rule(.probe(Probe(url: url)), .connect), Sample.rule(.always, .ignore)]
    let corp = tunnel(
      "corp", include: ["10.0.0.0/8", "2001:db8::/32"], exclude: ["10.9.0.0/16"], domains: ["corp.example"], rules: rules)
    #expect(kinds(corp) == (isInside ? [.probeInTunnel] : []))
  }
}
