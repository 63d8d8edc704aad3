import KernelModel
import NetworkTypes
import RoamwardCore
import Simulation
import TestKit
import Testing

/// `names: capture` as plans: the redirection to our own name server, beside any DNS backend.
@Suite("Captured DNS questions, planned") struct NameCapturePlanTests {
  private static let resolved = ResolverFacts(target: "/run/systemd/resolve/stub-resolv.conf", resolved: .value(true))

  private static func facts(_ facts: ResolverFacts = resolved, _ nameServer: Answer<Bool> = .value(true)) -> ResolverFacts {
    var facts = facts
    facts.nameServer = nameServer
    return facts
  }

  private func dns(_ names: NameSource = .capture, whenDown: NamesWhenDown = .refuse) -> DNSPolicy {
    DNSPolicy(
      servers: [Sample.address("10.0.0.53")], matchDomains: [Sample.pattern("corp.example")], whenDown: whenDown, names: names)
  }

  private func setup(_ dns: DNSPolicy, level: TunnelMachine.Level = .full, isGuarding: Bool = false) -> TunnelSetup {
    let configuration = Sample.wireGuard()
    let device = WireGuardDevice(
      engine: .kernel, privateKey: configuration.privateKey, publicKey: configuration.publicKey, peers: configuration.peers)
    var setup = TunnelSetup(
      policy: Sample.tunnel("corp", rules: [], routes: RoutePolicy(include: [Sample.prefix("10.0.0.0/16")]), dns: dns), level: level,
      slot: 0,
      link: "corp", device: .wireGuard(device), isGuarding: isGuarding)
    setup.refusesNames = dns.refusesWhenDown && level == .nothing
    return setup
  }

  private static let bridge = LinkFacts(
    name: "docker0", type: .known(.bridge),
    addresses: ["172.17.0.1/16", "fe80::1/64", "fd00:17::1/64", "fd00:17::2/64"].compactMap { InterfaceAddress($0) })

  private func desired(
    _ setup: TunnelSetup, _ facts: ResolverFacts = facts(), others: OtherVPNs = OtherVPNs(), bridge: Bool = false
  ) -> DesiredState {
    var cafe = Sample.network(Sample.wifi("Cafe", servers: ["198.51.100.1"]))
    if bridge { cafe.links.append(Self.bridge) }
    let choice = ResolverChoice(facts, file: .untouchable(reason: "a link"))
    return DesiredState(of: [setup], on: UnderlayFit(cafe, others: others, resolver: choice))
  }

  private func state(_ facts: ResolverFacts = facts()) -> SimulatedState {
    var state = SimulatedState()
    state.keepResolver(ObservedResolver(facts: facts), file: .untouchable(reason: "a link"))
    return state
  }

  private func lines(_ plan: Plan) -> [String] {
    plan.steps.filter { $0.isOfResolver || $0.description.contains("roamward-names") }.map(\.description)
  }

  @Test("with systemd-resolved the name server runs beside it, before questions are redirected, and ends after it")
  func resolved() {
    var state = state()
    let wanted = desired(setup(dns(whenDown: .ask)))
    let plan = Plan(from: state.observed, to: wanted)
    #expect(
      lines(plan) == [
        "roamward-names at 127.82.0.53: corp.example 10.0.0.53; . 198.51.100.1; captured: the server that was asked",
        "resolvectl: dns corp 10.0.0.53; domain corp ~corp.example; default-route corp no; dnssec corp no",
        "nft table inet roamward-names: DNS (port 53) of this host goes to roamward-names, except private addresses inside corp",
      ])
    #expect(lines(plan.undo).first == "nft delete table inet roamward-names")
    #expect(wanted.notes.isEmpty && wanted.resolvConf == nil)
    state.apply(plan.steps)
    #expect(Plan(from: state.observed, to: wanted).isEmpty)
    let end = Plan(from: state.observed, to: desired(setup(dns(.system, whenDown: .ask), level: .nothing)))
    let own = lines(end).filter { $0.contains("roamward-names") }
    #expect(own == ["nft delete table inet roamward-names", "roamward-names: end"])
    #expect(end.steps.first == .removeNameCapture)
  }

  @Test("while the tunnel is down, its names are captured to be refused, and not without `when-down: refuse`") func down() {
    let refusing = desired(setup(dns(), level: .nothing))
    #expect(refusing.nameCapture != nil && refusing.nameServer?.refused == [Sample.domain("corp.example")])
    #expect(refusing.nameServer?.shares.isEmpty == true && refusing.resolvedLinks[Ownership.refusalLink] != nil)
    #expect(desired(setup(dns(whenDown: .ask), level: .nothing)).nameServer == nil)
    #expect(desired(setup(dns(.system))).nameServer == nil)
  }

  @Test("names whose look-ups start a tunnel are captured too, beside those of systemd-resolved's link") func watched() {
    var down = setup(dns(whenDown: .ask), level: .nothing)
    let entry = NameWatch.Entry(domains: [Sample.domain("corp.example")], fate: .always)
    down.watch = NameWatch(tunnel: "corp", servers: [Sample.address("10.0.0.53")], entries: [entry])
    let wanted = desired(down)
    #expect(wanted.nameCapture != nil && wanted.nameServer?.watches.map(\.tunnel) == ["corp"])
    #expect(wanted.nameServer?.listensAt == NameServerSettings.addressOnLink)
    #expect(wanted.resolvedLinks[Ownership.refusalLink]?.namesOwnServer == true)
    var up = setup(dns(whenDown: .ask))
    up.watch = down.watch
    let connected = desired(up)
    #expect(connected.nameCapture != nil && connected.nameServer?.shares.map(\.tunnel) == ["corp"])
    #expect(connected.nameServer?.blocked == [Sample.prefix("10.0.0.0/16")])
  }

  @Test("the table: exempt are the loopback, our marks, other VPNs, name servers inside tunnels and in containers") func table() throws {
    func link(_ name: String, _ kind: String, _ index: UInt32) -> Link {
      Link(index: Sample.index(index), name: name, kind: kind, hardwareType: 65534, flags: 0x10041)
    }
    func rule(_ priority: UInt32, table: UInt32, mark: UInt32, mask: UInt32 = .max, not: Bool = false) -> RoutingRule {
      RoutingRule(family: .v4, priority: priority, table: table, mark: mark, mask: mask, isInverted: not, routeProtocol: 0)
    }
    let others = OtherVPNs(
      in: KernelState(
        links: [link("tailscale0", "tun", 8), link("wg0", "wireguard", 9)],
        rules: [
          rule(5210, table: 254, mark: 0x80000, mask: 0xff0000), rule(32765, table: 51820, mark: 51820, not: true),
        ]))
    let capture = try #require(desired(setup(dns()), others: others, bridge: true).nameCapture)
    #expect(
      capture.transaction == """
        table inet roamward-names
        delete table inet roamward-names
        table inet roamward-names {
          comment "roamward \(capture.digest)"
          chain output {
            type nat hook output priority -100; policy accept;
            oifname "lo" return
            meta mark & 0xff000000 == 0x52000000 return
            meta mark & 0xff000000 == 0x53000000 return
            meta mark 0xca6c return
            meta mark & 0xff0000 == 0x80000 return
            oifname { "corp", "tailscale0", "wg0" } ip daddr { 10.0.0.0/8, 100.64.0.0/10, 172.16.0.0/12, 192.168.0.0/16 } return
            oifname { "corp", "tailscale0", "wg0" } ip6 daddr fc00::/7 return
            ip daddr { 172.17.0.0/16 } return
            ip6 daddr { fd00:17::/64 } return
            meta nfproto ipv4 meta l4proto { tcp, udp } th dport 53 dnat ip to 127.82.0.53:20953
            meta nfproto ipv6 meta l4proto { tcp, udp } th dport 53 dnat ip6 to [::1]:20953
          }
          chain prerouting {
            type nat hook prerouting priority -100; policy accept;
            fib daddr type local return
            ip daddr { 172.17.0.0/16 } return
            ip6 daddr { fd00:17::/64 } return
            iifname "docker0" meta nfproto ipv4 meta l4proto { tcp, udp } th dport 53 dnat ip to 172.17.0.1:20953
            iifname "docker0" meta nfproto ipv6 meta l4proto { tcp, udp } th dport 53 dnat ip6 to [fd00:17::1]:20953
          }
          chain postrouting {
            type filter hook postrouting priority filter; policy accept;
            oifname != "lo" ip daddr 127.82.0.53 counter drop
            oifname != "lo" ip6 daddr ::1 counter drop
          }
        }

        """)
    // DNS over TLS (853) and over HTTPS (443) are in no rule.
    #expect(!capture.transaction.contains("853") && !capture.transaction.contains("443"))
  }

  @Test("a table that another program changed is repaired, and a wanted change is none") func repairs() throws {
    var state = state()
    let wanted = desired(setup(dns()))
    state.apply(Plan(from: state.observed, to: wanted).steps)
    var applied = AppliedState(state.observed)
    applied.follow(state.observed, towards: wanted)
    let capture = try #require(wanted.nameCapture)
    var changed = state.observed
    changed.nameCapture = .table(digest: capture.digest, isIntact: false, isGuarding: false)
    for found in [changed.nameCapture, .absent] {
      changed.nameCapture = found
      applied.follow(changed, towards: wanted)
      let plan = Plan(from: changed, to: wanted)
      #expect(plan.steps == [.setNameCapture(capture)])
      #expect(applied.repair(by: .setNameCapture(capture)) == .nameCapture)
      #expect(plan.discrepancies(in: changed).map(\.area) == [.firewall])
    }
    let other = try #require(desired(setup(dns()), bridge: true).nameCapture)
    #expect(applied.repair(by: .setNameCapture(other)) == nil)
  }

  @Test("without our name server nothing is captured, and that is told; while it restarts, the table stays; a refusal is told")
  func without() {
    let missing = desired(setup(dns()), Self.facts(Self.resolved, .unavailable(reason: "port 53 is taken")))
    #expect(missing.nameServer == nil && missing.nameCapture == nil && !missing.keepsNameCapture)
    #expect(
      missing.notes.map(\.description).contains { $0.contains("`names: capture` is not possible") && $0.hasSuffix("port 53 is taken") })
    var returning = Self.facts(Self.resolved, .unavailable(reason: "roamward-names has ended"))
    returning.isNameServerReturning = true
    var observed = state().observed
    observed.nameCapture = .table(digest: "1", isIntact: true, isGuarding: false)
    #expect(Plan(from: observed, to: missing).steps.contains(.removeNameCapture))
    #expect(!Plan(from: observed, to: desired(setup(dns()), returning)).steps.contains(.removeNameCapture))
    let wanted = desired(setup(dns()))
    observed.nameCapture = .refused(digest: wanted.nameCapture?.digest ?? "", reason: "no nat")
    let plan = Plan(from: observed, to: wanted)
    #expect(!plan.steps.contains { if case .setNameCapture = $0 { true } else { false } })
    #expect(plan.conflicts.map(\.description) == ["`names: capture` captures no questions: no nat"])
  }

  @Test("11: a kill switch lets captured questions pass, and answers to guests; not without capture") func killSwitch() throws {
    var guarding = setup(dns(), isGuarding: true)
    guarding.policy.routes = RoutePolicy(include: [.everything(.v4), .everything(.v6)])
    let rules = [
      "ip daddr 127.82.0.53 meta l4proto { tcp, udp } th dport 20953 accept",
      "ip6 daddr ::1 meta l4proto { tcp, udp } th dport 20953 accept",
      "iifname { \"docker0\" } meta l4proto { tcp, udp } th dport 20953 accept",
      "oifname { \"docker0\" } meta l4proto { tcp, udp } th sport 20953 accept",
    ]
    guard case .table(let table) = desired(guarding, bridge: true).firewall else { throw NoTable() }
    for rule in rules { #expect(table.transaction.contains(rule), "\(rule)") }
    guarding.policy.dns = dns(.system)
    guard case .table(let other) = desired(guarding, bridge: true).firewall else { throw NoTable() }
    #expect(!other.transaction.contains("20953"))
  }

  @Test("the fate of a name that a program asks another server for") func fates() {
    let network = Sample.network(Sample.wifi("Cafe", servers: ["198.51.100.1"]))
    let wanted = desired(setup(dns()))
    let captured = wanted.capturedFate(of: Sample.domain("wiki.corp.example"), on: network)
    #expect(captured?.askees.flatMap(\.servers) == [Sample.address("10.0.0.53")])
    #expect(wanted.capturedFate(of: Sample.domain("www.example"), on: network) == nil)
    #expect(desired(setup(dns(), level: .nothing)).capturedFate(of: Sample.domain("corp.example"), on: network)?.refusal != nil)
    // Of a tunnel for a part and one for everything that answer every name, that for everything does, as in the system's resolver.
    var (home, vpn) = (setup(dns()), setup(dns()))
    home.policy.dns?.matchDomains = []
    home.slot = 500
    vpn.policy.name = "vpn"
    vpn.policy.dns = DNSPolicy(servers: [Sample.address("10.1.0.53")], names: .capture)
    vpn.policy.routes = RoutePolicy(include: [.everything(.v4), .everything(.v6)])
    (vpn.slot, vpn.link) = (750, "vpn")
    let underlay = UnderlayFit(network, resolver: ResolverChoice(Self.facts(), file: .untouchable(reason: "a link")))
    let both = DesiredState(of: [home, vpn], on: underlay)
    #expect(both.capturedFate(of: Sample.domain("www.example"), on: network)?.askees.flatMap(\.servers) == [Sample.address("10.1.0.53")])
    // The system's resolver is still systemd-resolved.
    let fate = wanted.fate(of: Sample.domain("wiki.corp.example"), on: network, by: ResolverChoice(Self.facts(), file: .absent))
    #expect(fate.askees.map(\.link) == ["corp"])
  }
}

private struct NoTable: Error {}
