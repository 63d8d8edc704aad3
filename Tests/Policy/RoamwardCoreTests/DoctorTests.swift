import Doctor
import HostFindings
import KernelModel
import NetworkTypes
import RoamwardCore
import TestKit
import Testing

@Suite("The doctor")
struct DoctorTests {
  /// A host on which nothing is wrong, for a tunnel that asks for everything.
  static var well: HostCondition {
    var host = HostCondition()
    host.agent = .runs
    host.enabledUnits = ["roamwardd.service", "roamward-lock.service"]
    host.clock = 1_763_700_000
    return host
  }

  static var policies: PolicySet {
    var corp = Sample.tunnel(
      rules: [Sample.rule(.always, .connect)],
      wireGuard: Sample.wireGuard(allowed: ["0.0.0.0/0"], addresses: ["10.77.0.2/32", "2001:db8::2/128"]),
      dns: DNSPolicy(servers: [Sample.address("10.77.0.1")]))
    corp.killSwitch = .always
    return PolicySet(tunnels: [corp])
  }

  struct Ill: Sendable, CustomTestStringConvertible {
    let check: String
    let severity: HostFinding.Severity
    /// A word of the cure.
    let cure: String
    let spoil: @Sendable (inout HostCondition) -> Void
    var spoilPolicy: @Sendable (inout TunnelPolicy) -> Void = { _ in }
    var testDescription: String { check }
  }

  static let ills = [
    Ill(check: "wireguard", severity: .problem, cure: "") { $0.kernel.wireGuardAbsence = "no WireGuard; cure: apt install" },
    Ill(check: "tun", severity: .problem, cure: "modprobe tun") {
      $0.kernel.isWireGuardUserspace = true
      $0.kernel.tunAbsence = "No such file or directory"
    },
    Ill(check: "engine-user", severity: .risk, cure: "systemd-sysusers") {
      $0.kernel.isWireGuardUserspace = true
      $0.kernel.missingUsers = ["roamward-wireguard"]
    },
    Ill(check: "engine-user", severity: .risk, cure: "systemd-sysusers") {
      $0.kernel.missingUsers = ["roamward-probe"]
    } spoilPolicy: {
      $0.onDemand.rules = [Sample.rule(.internet(true), .connect)]
    },
    Ill(check: "engine-user", severity: .risk, cure: "systemd-sysusers") {
      $0.kernel.missingUsers = ["roamward-names"]
    } spoilPolicy: {
      var dns = $0.dns ?? DNSPolicy()
      dns.names = .capture
      $0.dns = dns
    },
    Ill(check: "probe-helper", severity: .problem, cure: "install roamward-probe") {
      $0.kernel.probeAbsence = "roamward-probe is not installed"
    } spoilPolicy: {
      $0.onDemand.rules = [Sample.rule(.internet(true), .connect)]
    },
    Ill(check: "nftables", severity: .problem, cure: "nf_tables") { $0.kernel.nftablesAbsence = "Operation not supported" },
    Ill(check: "mark", severity: .risk, cure: "openvpn: mark 1375731712") {
      $0.kernel.markAbsence = "load the program that marks sockets: Operation not permitted"
    } spoilPolicy: {
      $0.provider = .command(CommandProviderConfiguration(up: ["/u"], down: ["/d"], interface: "tun0"))
      $0.routes = RoutePolicy(include: [.everything(.v4)])
      $0.killSwitch = .off
    },
    Ill(check: "mark", severity: .problem, cure: "cannot be brought up: the kill switch would block") {
      $0.kernel.markAbsence = "load the program that marks sockets: Operation not permitted"
    } spoilPolicy: {
      $0.provider = .command(CommandProviderConfiguration(up: ["/u"], down: ["/d"], interface: "tun0"))
      $0.killSwitch = .always
    },
    Ill(check: "mark", severity: .problem, cure: "cannot be brought up: the kill switch would block") {
      $0.kernel.markAbsence = "load the program that marks sockets: Operation not permitted"
    } spoilPolicy: {
      $0.provider = .service(ServiceProviderConfiguration(.unit("work.service"), interface: "tun0"))
      $0.killSwitch = .always
    },
    Ill(check: "ipv6", severity: .risk, cure: "disable_ipv6=0") { $0.kernel.isIPv6Disabled = true },
    Ill(check: "rp-filter", severity: .risk, cure: "net.ipv4.conf.wlan0.rp_filter=2") { $0.kernel.strictLinks = ["wlan0"] },
    Ill(check: "networkd-rules", severity: .risk, cure: "ManageForeignRoutingPolicyRules=no") { $0.networkd = NetworkdCondition() },
    Ill(check: "same-tunnel", severity: .problem, cure: "systemctl disable --now wg-quick@corp.service") {
      $0.otherTunnels = [OtherTunnel(owner: .unit("wg-quick@corp.service"), publicKey: Sample.key(2), file: "/etc/wireguard/corp.conf")]
    },
    Ill(check: "same-tunnel", severity: .problem, cure: "nmcli connection modify \"The office\" connection.autoconnect no") {
      $0.otherTunnels = [OtherTunnel(owner: .connection("The office"), publicKey: Sample.key(2), file: "office.nmconnection")]
    },
    Ill(check: "resolv-conf", severity: .problem, cure: "chattr -i") { $0.resolvConf = .file(isImmutable: true) },
    Ill(check: "containers", severity: .risk, cure: "DNSStubListenerExtra=172.17.0.1") {
      $0.containers = [
        ContainerResolvers(program: .docker, count: 2, servers: [Sample.address("192.0.2.1")], host: Sample.address("172.17.0.1"))
      ]
    },
    Ill(check: "flush-ruleset", severity: .risk, cure: "delete table") { $0.flushesRuleset = "/etc/nftables.conf" },
    Ill(check: "other-firewall", severity: .risk, cure: "Mullvad's kill switch is on") {
      $0.closedTables = [ClosedTable(name: "inet mullvad", chain: "output")]
    },
    Ill(check: "other-firewall", severity: .risk, cure: "nft insert rule inet filter out meta mark and 0xff000000 == 0x52000000 accept") {
      $0.closedTables = [ClosedTable(name: "inet filter", chain: "out")]
    },
    Ill(check: "withheld", severity: .risk, cure: "rebind-allowed: [home.example]") {
      $0.withheld = [WithheldCondition(text: "3 answers", cure: "`rebind-allowed: [home.example]`")]
    },
    Ill(check: "shared-addresses", severity: .hint, cure: "name prefixes") {
      $0.sharedAddresses = ["corp: 203.0.113.7 of a.example: b.example has it"]
    } spoilPolicy: {
      $0.routes = RoutePolicy()
      $0.routes?.includeDomains = [Sample.domain("a.example")]
      $0.dns?.names = .capture
    },
    Ill(check: "own-resolvers", severity: .risk, cure: "DNS over HTTPS") {
      $0.ownResolvers = ["firefox (process 812) is connected to 9.9.9.9, port 443"]
    } spoilPolicy: {
      $0.routes = RoutePolicy()
      $0.routes?.includeDomains = [Sample.domain("a.example")]
      $0.dns?.names = .capture
    },
    Ill(check: "policies", severity: .problem, cure: "roamward check") { $0.policyErrors = 2 },
    Ill(check: "agent", severity: .problem, cure: "systemctl enable --now roamwardd") { $0.agent = .absent(reason: "nobody listens") },
    Ill(check: "agent", severity: .problem, cure: "systemctl restart roamwardd") { $0.agent = .silent(reason: "no answer") },
    Ill(check: "unit", severity: .risk, cure: "systemctl enable roamwardd") { $0.enabledUnits.remove("roamwardd.service") },
    Ill(check: "lock", severity: .risk, cure: "systemctl enable roamward-lock") { $0.enabledUnits.remove("roamward-lock.service") },
    Ill(check: "programs", severity: .problem, cure: "install it") { $0.missingPrograms = ["vpn": ["openvpn"]] },
    Ill(check: "provider-users", severity: .problem, cure: "useradd --system roamward-provider") {
      $0.missingUsers = ["plain": "roamward-provider"]
    },
    Ill(check: "services", severity: .problem, cure: "NetworkManager is not running") {
      $0.missingServices = ["office": "NetworkManager is not running"]
    },
    Ill(check: "foreign", severity: .hint, cure: "NetworkManager sets the addresses, routes and name servers of Work by itself") { _ in
    } spoilPolicy: {
      $0 = TunnelPolicy(name: $0.name, provider: .service(ServiceProviderConfiguration(.profile("Work"))), location: $0.location)
    },
    Ill(check: "clock", severity: .problem, cure: "timesyncd") { $0.clock = 86_400 },
    Ill(check: "tunnels", severity: .problem, cure: "connecting; the last attempt failed: the peer did not answer") {
      $0.tunnels = [TunnelCondition(name: "corp", state: "connecting", age: 2, failure: "the peer did not answer within 15 s")]
    },
    Ill(check: "certificates", severity: .risk, cure: "corp: the certificate laptop ends on") {
      $0.tunnels = [TunnelCondition(name: "corp", state: "connected", age: 22, expiring: ["the certificate laptop ends on 2027-01-01"])]
    },
    Ill(check: "tunnels", severity: .problem, cure: "has been reasserting for 22 s") {
      $0.tunnels = [TunnelCondition(name: "corp", state: "reasserting", age: 22)]
    },
    Ill(
      check: "not-acted-on", severity: .risk,
      cure: "rule 1 \"names\" (10-test.yaml:1): `evaluate-connection` does not arm the tunnel: it includes"
    ) { _ in
    } spoilPolicy: {
      $0.onDemand.rules = [Rule(name: "names", action: .evaluateConnection, location: Sample.place())]
    },
    Ill(check: "not-acted-on", severity: .risk, cure: "`proxy` is not acted on") { _ in
    } spoilPolicy: {
      $0.proxy = ProxyPolicy(http: "http://10.0.0.80:3128")
    },
    Ill(check: "not-acted-on", severity: .risk, cure: "`idle` is not acted on") { _ in
    } spoilPolicy: {
      $0.onDemand.timing.idle = .seconds(600)
    },
    Ill(check: "own-servers", severity: .hint, cure: "names: capture") { _ in
    } spoilPolicy: {
      $0.dns?.matchDomains = [Sample.pattern("corp.example")]
    },
    Ill(check: "browsers", severity: .risk, cure: "{\"DnsOverHttpsMode\": \"off\"} to /etc/opt/chrome/policies/managed/dns.json") {
      $0.browsers = [BrowserCondition(program: .chrome, mode: .on(except: []))]
    } spoilPolicy: {
      $0.captureNames()
    },
    Ill(check: "browsers", severity: .hint, cure: "{\"DnsOverHttpsMode\": \"off\"} to /etc/chromium/policies/managed/dns.json") {
      $0.nameServers = [Sample.address("8.8.8.8")]
      $0.browsers = [BrowserCondition(program: .chromium, mode: .automatic)]
    } spoilPolicy: {
      $0.captureNames()
    },
    Ill(check: "browsers", severity: .risk, cure: "\"ExcludedDomains\": [\"corp.example\"]") {
      $0.browsers = [BrowserCondition(program: .firefox, mode: .on(except: [Sample.domain("lab.example")]))]
    } spoilPolicy: {
      $0.captureNames()
    },
    Ill(check: "guards", severity: .hint, cure: "--link") { $0.guards = [GuardCondition(name: "a (guard 1)", hasLink: false, age: 3)] },
    Ill(check: "guards", severity: .problem, cure: "roamward release") {
      $0.guards = [GuardCondition(name: "a (guard 1)", hasLink: false, age: 3, isHeld: true)]
    },
    Ill(check: "guards", severity: .problem, cure: "a (guard 1) has no link for 40 s") {
      $0.guards = [
        GuardCondition(name: "a (guard 1)", hasLink: false, age: 40), GuardCondition(name: "b (guard 2)", hasLink: true, age: 40),
      ]
    },
  ]

  @Test("finds nothing on a host where all is well") func healthy() {
    let diagnosis = Diagnosis(of: Self.well, with: Self.policies)
    #expect(diagnosis.findings == [] && !diagnosis.hasProblems)
    #expect(diagnosis.passed.count == HostCheck.all.count)
    #expect(diagnosis.summary == "no problems found (\(HostCheck.all.count) checks passed)")
  }

  @Test("finds each thing that is wrong, alone, and says what to do", arguments: ills) func ill(_ ill: Ill) throws {
    var host = Self.well
    ill.spoil(&host)
    var policies = Self.policies
    ill.spoilPolicy(&policies.tunnels[0])
    let diagnosis = Diagnosis(of: host, with: policies)
    let finding = try #require(diagnosis.findings.first)
    #expect(diagnosis.findings.count == 1 && finding.check == ill.check && finding.severity == ill.severity, "\(diagnosis.findings)")
    #expect(((finding.cure ?? "") + finding.message).contains(ill.cure), "\(finding)")
    #expect(diagnosis.hasProblems == (ill.severity == .problem))
  }

  @Test("browsers that ask the system's resolver are no finding: by policy, by their own rules, or by the canary domain") func browsers() {
    var policies = Self.policies
    policies.tunnels[0].captureNames()
    func checks(_ browsers: [BrowserCondition], servers: [String] = []) -> [String] {
      var host = Self.well
      host.browsers = browsers
      host.nameServers = servers.map(Sample.address)
      return Diagnosis(of: host, with: policies).findings.map(\.check)
    }
    let all = BrowserCondition.Program.allCases
    #expect(checks(all.map { BrowserCondition(program: $0, mode: .off) }, servers: ["8.8.8.8"]) == [])
    #expect(checks(all.map { BrowserCondition(program: $0, mode: .automatic) }, servers: ["127.0.0.53"]) == [])
    #expect(checks([BrowserCondition(program: .firefox, mode: .on(except: [Sample.domain("example")]))]) == [])
    policies.tunnels[0].dns?.names = .system
    #expect(checks([BrowserCondition(program: .firefox, mode: .automatic)]) == ["own-servers", "browsers"])
    #expect(checks([BrowserCondition(program: .firefox, mode: .automatic)], servers: ["127.82.0.53"]) == ["own-servers"])
    policies.tunnels[0].dns?.matchDomains = []
    #expect(checks([BrowserCondition(program: .firefox, mode: .on(except: []))]) == [])
  }

  @Test("a tunnel that look-ups start depends on their names, whatever names its servers resolve", arguments: [true, false])
  func startingNames(isSplit: Bool) throws {
    var policies = Self.policies
    let connections = [
      ConnectionRule(domains: [Sample.pattern("public.lab.example")], action: .neverConnect, location: Sample.place()),
      ConnectionRule(domains: [Sample.pattern("lab.example")], action: .connectIfNeeded, location: Sample.place()),
    ]
    policies.tunnels[0].onDemand.rules = [Rule(action: .evaluateConnection, connections: connections, location: Sample.place())]
    policies.tunnels[0].killSwitch = .off
    if isSplit { policies.tunnels[0].dns?.matchDomains = [Sample.pattern("corp.example")] }
    func findings(excluding domains: [String]) -> [HostFinding] {
      var host = Self.well
      host.browsers = [BrowserCondition(program: .firefox, mode: .on(except: domains.map(Sample.domain)))]
      return Diagnosis(of: host, with: policies).findings.filter { ["own-servers", "browsers"].contains($0.check) }
    }
    let all = isSplit ? ["corp.example", "lab.example"] : ["lab.example"]
    #expect(findings(excluding: all).map(\.check) == ["own-servers"])
    let own = try #require(findings(excluding: all).first)
    #expect(own.message.hasSuffix(isSplit ? "outside of the tunnel, and do not start it" : "do not start it by look-ups"), "\(own)")
    #expect(own.cure == "add `names: capture` to its `dns:`")
    let browser = try #require(findings(excluding: Array(all.dropLast())).first { $0.check == "browsers" })
    #expect(browser.severity == .risk && browser.message.hasSuffix("so the names of corp go to its own server, and do not start corp"))
    #expect(browser.cure?.contains("[\(all.map { "\"\($0)\"" }.joined(separator: ", "))]") == true, "\(browser)")
    policies.tunnels[0].dns?.names = .capture
    #expect(findings(excluding: all).isEmpty)
    let everything = ConnectionRule(domains: [.any], action: .connectAlways, location: Sample.place())
    policies.tunnels[0].onDemand.rules[0].connections.append(everything)
    #expect(findings(excluding: all).last?.cure?.contains("\"Enabled\": false") == true)
    policies.tunnels[0].dns = DNSPolicy()
    policies.tunnels[0].onDemand.rules[0].connections = connections
    #expect(findings(excluding: all).first?.cure == "give it name servers, and add `names: capture` to its `dns:`")
    policies.tunnels[0].onDemand.isEnabled = false
    #expect(findings(excluding: []).isEmpty)
  }

  @Test("a tunnel on its way is not said to be up, and is no problem before its time", arguments: ["connecting", "reasserting"])
  func tunnelOnItsWay(state: String) {
    var host = Self.well
    host.tunnels = [TunnelCondition(name: "corp", state: state, age: 5)]
    let diagnosis = Diagnosis(of: host, with: Self.policies)
    #expect(diagnosis.findings.map(\.check) == ["tunnels"] && diagnosis.findings.first?.severity == .hint, "\(diagnosis.findings)")
    #expect(!diagnosis.hasProblems && diagnosis.passed.count == HostCheck.all.count - 1)
    #expect(diagnosis.summary == "1 hint; \(HostCheck.all.count - 1) of \(HostCheck.all.count) checks passed")
  }

  @Test("a peer that is silent is a problem at once") func silentPeer() {
    var host = Self.well
    host.kernel.strictLinks = ["wlan0"]
    host.tunnels = [TunnelCondition(name: "corp", state: "reasserting", age: 1, peerSilence: 22)]
    let diagnosis = Diagnosis(of: host, with: Self.policies)
    let words = "corp is reasserting: the peer has not answered for 22 s, though data was sent to it"
    #expect(diagnosis.findings.first?.message == words && diagnosis.hasProblems)
    #expect(diagnosis.summary == "1 problem, 1 risk; \(HostCheck.all.count - 2) of \(HostCheck.all.count) checks passed")
  }

  @Test("each cause of a failure has a cure of its own") func cures() {
    for code in ReasonCode.failures {
      var host = Self.well
      host.tunnels = [TunnelCondition(name: "corp", state: "connecting", age: 5, failure: "because", failureCode: code)]
      let findings = Diagnosis(of: host, with: Self.policies).findings
      #expect(findings.map(\.cure) == [code.cure] && findings[0].message.hasSuffix("because"), "\(code.rawValue)")
    }
    let cures = ReasonCode.failures.compactMap(\.cure)
    #expect(cures.count > 20 && Set(cures).count == cures.count)
  }

  @Test("a tunnel that is down or up, and one without a network are well") func tunnelsThatAreWell() {
    var host = Self.well
    host.tunnels = [
      TunnelCondition(name: "corp", state: "connected", age: 500),
      TunnelCondition(name: "corp", state: "disconnected", age: 500, failure: "an old one"),
    ]
    #expect(Diagnosis(of: host, with: Self.policies).findings == [])
    host.tunnels = [TunnelCondition(name: "corp", state: "reasserting", age: 500)]
    host.isOnline = false
    #expect(Diagnosis(of: host, with: Self.policies).findings == [])
  }

  @Test("what an ordinary user may not look at is told once, and is neither a problem nor passed") func needsRoot() {
    var host = Self.well
    host.unseen = ["nftables", "mark"]
    let diagnosis = Diagnosis(of: host, with: Self.policies)
    #expect(diagnosis.findings.map(\.message) == ["2 checks need root: nftables and mark"] && !diagnosis.hasProblems)
    #expect(diagnosis.findings.first?.cure == "sudo roamward doctor" && diagnosis.unseen == ["nftables", "mark"])
    #expect(diagnosis.summary == "1 hint; \(HostCheck.all.count - 2) of \(HostCheck.all.count) checks passed, 2 need root")
    host.unread = ["/etc/roamward/policies/corp.conf"]
    host.unseen = []
    #expect(
      Diagnosis(of: host, with: Self.policies).findings.map(\.message) == [
        "/etc/roamward/policies/corp.conf cannot be looked at as this user: run with sudo"
      ])
  }

  @Test("a check that a tunnel's file decides is not passed while that is unread", arguments: ills) func unreadFile(_ ill: Ill) {
    var host = Self.well
    ill.spoil(&host)
    host.unseen = HostCheck.ofTunnelFiles
    var policies = Self.policies
    ill.spoilPolicy(&policies.tunnels[0])
    guard case .wireGuard(var provider) = policies.tunnels[0].provider else { return }
    provider.configuration = nil
    policies.tunnels[0].provider = .wireGuard(provider)
    let diagnosis = Diagnosis(of: host, with: policies)
    #expect(
      diagnosis.findings.contains { $0.check == ill.check } || diagnosis.unseen.contains(ill.check), "\(diagnosis.passed)")
  }

  @Test("has an ill host for every check") func complete() {
    #expect(Set(HostCheck.all.map(\.name)) == Set(Self.ills.map(\.check)))
  }

  @Test("says nothing of what no policy needs") func needless() {
    var host = Self.well
    for ill in Self.ills where !["policies", "programs", "provider-users", "services", "agent", "guards"].contains(ill.check) {
      ill.spoil(&host)
    }
    #expect(Diagnosis(of: host, with: PolicySet()).findings == [])
  }

  @Test("tells the worst first, and each foreseen note once") func order() {
    var host = Self.well
    host.kernel.strictLinks = ["eth0"]
    host.policyErrors = 1
    let diagnosis = Diagnosis(of: host, with: Self.policies, forecasts: ["corp": ["a note; cure: sleep"], "lab": ["a note; cure: sleep"]])
    #expect(diagnosis.findings.map(\.check) == ["policies", "rp-filter", "forecast"])
    #expect(diagnosis.findings.last?.message == "a note" && diagnosis.findings.last?.cure == "sleep")
  }

  @Test(
    "containers that ask the machine itself, their own network or the tunnel's server are well",
    arguments: ["172.17.0.1", "127.0.0.11", "10.77.0.1"])
  func containers(server: String) {
    var host = Self.well
    host.containers = [
      ContainerResolvers(program: .podman, count: 1, servers: [Sample.address(server)], host: Sample.address("172.17.0.1"))
    ]
    #expect(Diagnosis(of: host, with: Self.policies).findings == [])
  }

  @Test("reads networkd's configuration as networkd does: the last word counts, in its section alone") func networkd() {
    let found = NetworkdCondition(configuration: [
      "[Network]\nManageForeignRoutes=no\n# ManageForeignRoutingPolicyRules=no\n[DHCPv4]\nManageForeignRoutingPolicyRules=no\n",
      "[Network]\n ManageForeignRoutes = yes \n",
    ])
    #expect(found == NetworkdCondition(removesForeignRules: true, removesForeignRoutes: true))
    let quiet = NetworkdCondition(configuration: ["[Network]\nManageForeignRoutes=off\nManageForeignRoutingPolicyRules=False"])
    #expect(quiet == NetworkdCondition(removesForeignRules: false, removesForeignRoutes: false))
  }
}

extension TunnelPolicy {
  /// Used for names of its own alone, which are captured.
  fileprivate mutating func captureNames() {
    dns?.matchDomains = [Sample.pattern("corp.example")]
    dns?.names = .capture
  }
}
