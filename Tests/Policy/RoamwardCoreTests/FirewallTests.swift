import KernelModel
import NetworkTypes
import RoamwardCore
import TestKit
import Testing

@Suite struct FirewallTests {
  func prefix(_ text: String) throws -> IPPrefix { try #require(IPPrefix(text)) }

  func setup(
    _ name: String = "corp", include: [String] = ["0.0.0.0/0", "::/0"], exclude: [String] = [], lan: LANPolicy = .allow,
    level: TunnelMachine.Level = .full, isGuarding: Bool = true
  ) -> TunnelSetup {
    var policy = Sample.tunnel(name, rules: [Sample.rule(.always, .connect)])
    policy.routes = RoutePolicy(
      include: PrefixList(include.compactMap { IPPrefix($0) }), exclude: PrefixList(exclude.compactMap { IPPrefix($0) }), lan: lan)
    return TunnelSetup(policy: policy, level: level, slot: 500, link: name, device: .foreign, isGuarding: isGuarding)
  }

  func table(_ tunnels: TunnelSetup..., on network: NetworkSnapshot = Sample.network(Sample.wifi("Cafe"))) -> FirewallTable? {
    FirewallTable(of: tunnels, on: UnderlayFit(network))
  }

  @Test("without a guard and without a full tunnel there is no table") func open() {
    #expect(table() == nil)
    #expect(table(setup(include: ["10.0.0.0/8"], isGuarding: false)) == nil)
  }

  @Test("a full tunnel without kill switch only keeps strangers from its address") func full() throws {
    let found = try #require(table(setup(isGuarding: false)))
    #expect(found.guards.isEmpty && !found.transaction.contains("chain output"))
    #expect(found.transaction.contains("chain prerouting"))
  }

  @Test("connections that arrive by a network's link pass where every kill switch says so, and leave everything else as it is")
  func arrivals() throws {
    func setup(_ name: String = "corp", _ answers: Bool = true, isGuarding: Bool = false) -> TunnelSetup {
      var setup = self.setup(name, isGuarding: isGuarding)
      setup.policy.routes?.answersByArrival = answers
      return setup
    }
    let open = try #require(table(setup()))
    #expect(open.arrivals == ["wlan0"] && open.isOpen && !open.transaction.contains("chain output"))
    #expect(
      open.transaction.contains("ct direction reply ct mark & 0xff800000 == 0x52000000 meta mark set meta mark & 0x7fffff | 0x52000000"))
    let guarded = try #require(table(setup(isGuarding: true)))
    let without = try #require(table(self.setup()))
    #expect(guarded.transaction.split(separator: "\n").filter { !$0.contains("ct mark") }.count > 10)
    #expect(without.arrivals == [] && !without.transaction.contains("ct mark"))
    // One kill switch that does not say so, or no network: none pass.
    #expect(table(setup(isGuarding: true), setup("lab", false, isGuarding: true))?.arrivals == [])
    #expect(table(setup(), setup("lab", false, isGuarding: true))?.arrivals == [])
    #expect(table(setup(isGuarding: true), on: NetworkSnapshot())?.arrivals == [])
    // A provider's rest of the mark, and that of a tunnel through another one, are not touched.
    #expect(Ownership.mark & ~Ownership.wayMask == 0)
  }

  @Test("its address is protected before its peer answers, unless something else may have it") func early() throws {
    let full = try #require(table(setup(isGuarding: false)))
    let early = try #require(table(setup(level: .link, isGuarding: false)))
    #expect(early.digest == full.digest)
    #expect(table(setup(level: .device, isGuarding: false)) == nil)
    // Another tunnel of the same provider has the same address; it does not take everything.
    let other = setup("lab", include: ["10.0.0.0/8"], isGuarding: false)
    #expect(table(setup(level: .link, isGuarding: false), other) == nil)
    var fit = UnderlayFit(Sample.network(Sample.wifi("Cafe")))
    fit.attachedPrefixes.append(try prefix("10.77.0.0/24"))
    #expect(FirewallTable(of: [setup(level: .link, isGuarding: false)], on: fit) == nil)
    #expect(FirewallTable(of: [setup(isGuarding: false)], on: fit) != nil)
    // With a kill switch it would be a way into the tunnel.
    let guarded = try #require(table(setup("lab", include: ["10.0.0.0/8"]), setup(level: .link, isGuarding: false)))
    #expect(!guarded.transaction.contains("\"corp\""))
  }

  @Test("a table is the first step, unless it is the first table and only protects addresses: that is made before the routes")
  func order() throws {
    func places(_ tunnel: TunnelSetup, after firewall: ObservedFirewall) -> (link: Int, firewall: Int, route: Int)? {
      var observed = ObservedState()
      observed.firewall = firewall
      var tunnel = tunnel
      let configuration = Sample.wireGuard()
      tunnel.device = .wireGuard(
        WireGuardDevice(
          engine: .userspace, privateKey: configuration.privateKey, publicKey: configuration.publicKey, peers: configuration.peers))
      let steps = Plan(from: observed, to: DesiredState(of: [tunnel], on: UnderlayFit(Sample.network(Sample.wifi("Cafe"))))).steps
      guard let link = steps.lastIndex(where: { $0.stage == .links }), let table = steps.firstIndex(where: { $0.stage == .firewall }),
        let route = steps.firstIndex(where: { $0.stage == .routes })
      else { return nil }
      return (link, table, route)
    }
    let open = try #require(places(setup(isGuarding: false), after: .absent))
    #expect(open.link < open.firewall && open.firewall < open.route)
    let guarding = try #require(places(setup(), after: .absent))
    #expect(guarding.firewall == 0 && guarding.link < guarding.route)
    for isGuarding in [true, false] {
      let table = ObservedFirewall.table(digest: "", isIntact: true, isGuarding: isGuarding)
      #expect(try #require(places(setup(isGuarding: false), after: table)).firewall == 0)
    }
  }

  @Test("a guard stands whether its tunnel is up or not; only the way into it comes and goes") func levels() throws {
    let up = try #require(table(setup()))
    let down = try #require(table(setup(level: .nothing)))
    #expect(up.transaction.contains("oifname { \"corp\" } accept") && !down.transaction.contains("oifname { \"corp\" }"))
    #expect(down.guardsAll && down.transaction.contains("counter reject"))
    #expect(up.digest != down.digest)
  }

  @Test("neighbours are private prefixes that the machine is attached to, and of a usual size, and nothing that the tunnel names")
  func neighbours() throws {
    func allowed(_ address: String, include: [String] = ["0.0.0.0/0"], lan: LANPolicy = .allow) throws -> [String] {
      let network = Sample.network(Sample.wifi("Home", address: address))
      return try #require(table(setup(include: include, lan: lan), on: network)).neighbours.map(\.description)
    }
    #expect(try allowed("192.168.7.20/24") == ["192.168.7.0/24"])
    #expect(try allowed("192.168.7.20/24", lan: .block) == [])
    // TunnelCrack: a public prefix claimed as local.
    #expect(try allowed("198.51.100.20/24") == [])
    // Claimed to be the whole company.
    #expect(try allowed("10.0.0.20/8", include: ["10.0.0.0/8"]) == [])
    #expect(try allowed("10.1.2.20/24", include: ["10.0.0.0/8"]) == [])
    // No local network is so wide, or so narrow.
    for address in ["10.1.2.20/8", "10.1.2.20/15", "10.1.2.20/31", "fd00::1/32", "fd00::1/65"] { #expect(try allowed(address) == []) }
  }

  @Test("a DHCP server is asked by broadcast and as a neighbour, whatever the prefix; what is nearly everything is no neighbourhood")
  func leases() throws {
    func asked(_ address: String) throws -> Bool {
      let found = try #require(table(setup(), on: Sample.network(Sample.wifi("Cafe", address: address))))
      return found.transaction.contains("ip daddr { \(try prefix(address)), 255.255.255.255/32 } udp sport 68 udp dport 67 accept")
    }
    #expect(try asked("198.51.100.20/24") && asked("10.1.2.20/8") && !asked("64.0.0.1/2"))
  }

  @Test("what one tunnel excludes stays guarded where another one guards it") func exclusions() throws {
    let both = try #require(table(setup("a", include: ["10.0.0.0/8"], exclude: ["10.9.0.0/16"]), setup("b", include: ["0.0.0.0/0"])))
    #expect(!both.transaction.contains("ip daddr { 10.9.0.0/16 } accept"))
    let one = try #require(table(setup("a", include: ["10.0.0.0/8"], exclude: ["10.9.0.0/16"])))
    #expect(one.transaction.contains("ip daddr { 10.9.0.0/16 } accept") && !one.guardsAll)
  }

  @Test("two tunnels with one address, as one provider gives them: it is inside of both") func sharedAddress() throws {
    let both = try #require(table(setup("a"), setup("b")))
    let alone = try #require(table(setup("a")))
    for (table, links) in [(both, "{ \"lo\", \"a\", \"b\" }"), (alone, "{ \"lo\", \"a\" }")] {
      let rules = (table.transaction + table.neighbourTransaction).split(separator: "\n").filter { $0.contains("10.77.0.2") }
      #expect(
        rules.map { $0.drop { $0 == " " } } == [
          "oifname != \(links) ip saddr { 10.77.0.2 } counter drop", "iifname != \(links) ip daddr { 10.77.0.2 } counter drop",
          "iifname != \(links) arp daddr ip { 10.77.0.2 } counter drop",
        ])
    }
  }

  @Test("a portal's window is for everybody, or for one control group and the resolvers; what is forwarded has no program") func portal()
    throws
  {
    func rules(_ portal: PortalWindow, in chain: String) throws -> [String] {
      let found = try #require(FirewallTable(of: [setup()], on: UnderlayFit(Sample.network(Sample.wifi("Cafe"))), portal: portal))
      let text = try #require(found.transaction.components(between: "chain \(chain) {", and: "  }\n"))
      return text.split(separator: "\n").map { String($0.drop { $0 == " " }) }.filter {
        $0.contains("dport 53 accept") || $0.contains("80, 443")
      }
    }
    let (dns, web) = ("meta l4proto { tcp, udp } th dport 53 accept", "tcp dport { 80, 443 } accept")
    #expect(try rules(PortalWindow(), in: "output") == [dns, web] && rules(PortalWindow(), in: "forward") == [dns, web])
    let browser = try #require(ControlGroup("/user.slice/portal.scope"))
    let resolver = try #require(ControlGroup("/system.slice/systemd-resolved.service", mount: "unified"))
    let ours = try #require(ControlGroup("/system.slice/roamwardd.service", mount: "unified"))
    let window = PortalWindow(programs: browser, resolvers: [resolver, ours])
    let own = "socket cgroupv2 level 2 \"user.slice/portal.scope\" "
    #expect(
      try rules(window, in: "output") == [
        own + dns, own + web, "socket cgroupv2 level 2 \"unified/system.slice/systemd-resolved.service\" " + dns,
        "socket cgroupv2 level 2 \"unified/system.slice/roamwardd.service\" " + dns,
      ])
    #expect(try rules(window, in: "forward") == [])
    // For a sign-in: to its web servers and to the network's name servers alone, also at the last check.
    let site = GuardedEndpoint(address: Sample.address("203.0.113.90"), port: 8443)
    let signIn = PortalWindow(programs: browser, resolvers: [resolver], sites: [site])
    var fit = UnderlayFit(Sample.network(Sample.wifi("Cafe")))
    func lines() throws -> [String] {
      let table = try #require(FirewallTable(of: [setup()], on: fit, portal: signIn))
      return table.transaction.split(separator: "\n").map { String($0.drop { $0 == " " }) }
    }
    fit.nameServers = [Sample.address("198.51.100.1")]
    let (page, names) = ("ip daddr 203.0.113.90 tcp dport 8443 accept", "ip daddr 198.51.100.1 \(dns)")
    let open = try lines()
    #expect(open.filter { $0.contains("8443") || $0.contains("198.51.100.1 meta") }.count == 5)
    #expect([own + names, own + page, page, names].allSatisfy(open.contains))
    #expect(!open.contains(dns) && !open.contains(own + dns) && !open.contains { $0.contains("80, 443") })
    // A local resolver with unknown servers may ask every server.
    fit.nameServers = [Sample.address("127.0.0.53")]
    let local = try lines()
    #expect(!local.contains(own + dns) && local.contains { $0.contains("systemd-resolved") && $0.hasSuffix(dns) })
  }

  @Test(
    "no control group is everybody's, leads elsewhere, or breaks out of a rule",
    arguments: ["", "/", "//", "a", "/a/../b", "/a\" accept #", "/a b", "/a\n", "/\u{e9}"])
  func controlGroup(_ name: String) { #expect(ControlGroup(name) == nil) }

  @Test("marked packets of a command's programs pass by their control group, and not of other users") func providers() throws {
    let command = CommandProviderConfiguration(up: ["/u"], down: ["/d"], interface: "tun0")
    var tunnel = setup()
    tunnel.policy.provider = .command(command)
    func table(_ state: ProviderGroupState) throws -> FirewallTable {
      try #require(FirewallTable(of: [tunnel], on: UnderlayFit(Sample.network(Sample.wifi("Cafe")), providers: state)))
    }
    let group = ProviderGroup(number: 4711, level: 3)
    let with = try table(.ready(group))
    var placed = with
    placed.providers[0].path = "../../../proc/self/fd/9"
    #expect(
      placed.transaction.components(between: "chain marked {", and: "  }\n")
        == "\n    socket cgroupv2 level 3 \"../../../proc/self/fd/9\" accept\n    meta skuid != 0 return\n    accept\n")
    // The kernel compares no groups there.
    let leaving = try #require(placed.transaction.components(between: "chain postrouting {", and: "  }\n"))
    #expect(leaving.contains("meta mark & 0xff800000 == 0x52000000 accept") && !leaving.contains("jump"))
    // The same table in each program, another one for another group.
    #expect(placed.digest == with.digest)
    #expect(try table(.ready(ProviderGroup(number: 4712, level: 3))).digest != with.digest)
    #expect(try table(.unexamined).providers == [] && table(.unavailable(reason: "no")).providers == [])
    // Beside it the groups of units.
    tunnel.policy.provider = .service(ServiceProviderConfiguration(.unit("work.service"), interface: "tun0"))
    let unit = ProviderGroup(number: 99, level: 1)
    #expect(try table(.ready(group, units: [unit])).providers == [group, unit])
    #expect(try table(.ready(group, units: [unit])).transaction.contains("socket cgroupv2 level 1 \"number 99\" accept"))
    for foreign in [ServiceProviderConfiguration.Service.unit("work.target"), .profile("Work"), .tailscale(exitNode: nil)] {
      tunnel.policy.provider = .service(ServiceProviderConfiguration(foreign))
      #expect(try table(.ready(group, units: [unit])).providers == [])
    }
    tunnel = setup()
    #expect(try table(.ready(group)).providers == [])
  }

  @Test("a command with a kill switch is refused where sockets cannot be marked, and a full one gets a remark") func unmarked() throws {
    var tunnel = setup()
    tunnel.policy.provider = .command(CommandProviderConfiguration(up: ["/u"], down: ["/d"], interface: "tun0"))
    tunnel.link = "tun0"
    tunnel.policy.killSwitch = .on
    func state(_ providers: ProviderGroupState) -> DesiredState {
      DesiredState(of: [tunnel], on: UnderlayFit(Sample.network(Sample.wifi("Cafe")), providers: providers))
    }
    let refused = state(.unavailable(reason: "no bpf(2)"))
    #expect(refused.refusals.values.map(\.code) == [.markUnavailable] && refused.routes.isEmpty)
    #expect(refused.firewall != .open)
    #expect(state(.unexamined).refusals.isEmpty && state(.ready(ProviderGroup(number: 1, level: 1))).refusals.isEmpty)
    tunnel.policy.killSwitch = .off
    tunnel.policy.includesAllNetworks = false
    tunnel.policy.routes = RoutePolicy(include: [.everything(.v4)])
    tunnel.isGuarding = false
    #expect(state(.unavailable(reason: "no bpf(2)")).remarks.map(\.code) == [.markUnavailable])
    #expect(state(.ready(ProviderGroup(number: 1, level: 1))).remarks.isEmpty)
    tunnel.policy.routes = RoutePolicy(include: [Sample.prefix("10.0.0.0/8")])
    #expect(state(.unavailable(reason: "no bpf(2)")).remarks.isEmpty)
  }

  @Test("the kernel's own datagrams pass, which it says to be of whoever sent what is inside") func kernelTunnel() throws {
    var carried = setup()
    let key = try #require(WireGuardKey(bytes: Array(repeating: 7, count: 32)))
    func marked(_ engine: WireGuardEngine) throws -> Bool {
      carried.device = .wireGuard(WireGuardDevice(engine: engine, privateKey: Sample.secretKey(7), publicKey: key))
      return try #require(table(carried, on: Sample.network(Sample.wifi("Home")))).transaction.contains(
        "meta l4proto udp accept\n    meta skuid")
    }
    #expect(try marked(.kernel))
    #expect(try !marked(.userspace))
    // Without a link there are none.
    carried.level = .nothing
    #expect(try !marked(.kernel))
  }

  @Test("the text, as an administrator reads it") func text() throws {
    let found = try #require(table(setup(exclude: ["203.0.113.0/24"]), on: Sample.network(Sample.wifi("Home", address: "192.168.7.20/24"))))
    #expect(
      found.transaction == """
        table inet roamward
        delete table inet roamward
        table inet roamward {
          comment "roamward \(found.digest)"
          chain marked {
            meta skuid != 0 return
            accept
          }
          chain output {
            type filter hook output priority filter; policy accept;
            oifname "lo" accept
            meta mark & 0xff800000 == 0x52000000 jump marked
            oifname { "corp" } accept
            ip daddr { 192.168.7.0/24, 255.255.255.255/32 } udp sport 68 udp dport 67 accept
            ip6 saddr fe80::/10 ip6 daddr ff02::1:2 udp sport 546 udp dport 547 accept
            icmpv6 type { nd-router-solicit, nd-neighbor-solicit, nd-neighbor-advert } ip6 hoplimit 255 accept
            icmpv6 type { mld-listener-report, mld-listener-done, mld2-listener-report } ip6 hoplimit 1 accept
            ip daddr { 203.0.113.0/24 } accept
            ip daddr { 192.168.7.0/24 } accept
            ip6 daddr { fe80::/10 } accept
            ip daddr { 224.0.0.0/24, 239.255.255.250/32, 255.255.255.255/32 } accept
            ip6 daddr { ff02::/16 } accept
            meta nfproto ipv4 meta l4proto { tcp, udp } th dport 53 counter drop
            meta nfproto ipv4 counter reject with icmpx admin-prohibited
            meta nfproto ipv6 meta l4proto { tcp, udp } th dport 53 counter drop
            meta nfproto ipv6 counter reject with icmpx admin-prohibited
          }
          chain forward {
            type filter hook forward priority filter; policy accept;
            oifname { "corp" } accept
            iifname { "corp" } ct state established,related accept
            ip daddr { 203.0.113.0/24 } accept
            ip daddr { 192.168.7.0/24 } accept
            ip6 daddr { fe80::/10 } accept
            ip daddr { 224.0.0.0/24, 239.255.255.250/32, 255.255.255.255/32 } accept
            ip6 daddr { ff02::/16 } accept
            meta nfproto ipv4 meta l4proto { tcp, udp } th dport 53 counter drop
            meta nfproto ipv4 counter reject with icmpx admin-prohibited
            meta nfproto ipv6 meta l4proto { tcp, udp } th dport 53 counter drop
            meta nfproto ipv6 counter reject with icmpx admin-prohibited
          }
          chain input {
            type filter hook input priority filter; policy accept;
            iifname "lo" accept
            iifname { "corp" } accept
            ct state established,related accept
            udp sport 67 udp dport 68 accept
            ip6 saddr fe80::/10 udp sport 547 udp dport 546 accept
            icmpv6 type { nd-router-advert, nd-neighbor-solicit, nd-neighbor-advert } ip6 hoplimit 255 accept
            icmpv6 type mld-listener-query ip6 hoplimit 1 accept
            ip saddr { 203.0.113.0/24 } accept
            ip saddr { 192.168.7.0/24 } accept
            ip6 saddr { fe80::/10 } accept
            drop
          }
          chain postrouting {
            type filter hook postrouting priority filter; policy accept;
            oifname "lo" accept
            meta mark & 0xff800000 == 0x52000000 jump marked
            oifname != { "lo", "corp" } ip saddr { 10.77.0.2 } counter drop
            oifname { "corp" } accept
            iifname { "corp" } ct state established,related accept
            ip daddr { 192.168.7.0/24, 255.255.255.255/32 } udp sport 68 udp dport 67 accept
            ip6 saddr fe80::/10 ip6 daddr ff02::1:2 udp sport 546 udp dport 547 accept
            icmpv6 type { nd-router-solicit, nd-neighbor-solicit, nd-neighbor-advert } ip6 hoplimit 255 accept
            icmpv6 type { mld-listener-report, mld-listener-done, mld2-listener-report } ip6 hoplimit 1 accept
            ip daddr { 203.0.113.0/24 } accept
            ip daddr { 192.168.7.0/24 } accept
            ip6 daddr { fe80::/10 } accept
            ip daddr { 224.0.0.0/24, 239.255.255.250/32, 255.255.255.255/32 } accept
            ip6 daddr { ff02::/16 } accept
            meta nfproto ipv4 meta l4proto { tcp, udp } th dport 53 counter drop
            meta nfproto ipv4 counter drop
            meta nfproto ipv6 meta l4proto { tcp, udp } th dport 53 counter drop
            meta nfproto ipv6 counter drop
          }
          chain prerouting {
            type filter hook prerouting priority raw; policy accept;
            iifname != { "lo", "corp" } ip daddr { 10.77.0.2 } counter drop
          }
        }

        """)
  }
}

extension String {
  func components(between start: String, and end: String) -> String? {
    guard let from = firstRange(of: start)?.upperBound, let to = self[from...].firstRange(of: end)?.lowerBound else { return nil }
    return String(self[from..<to])
  }
}
