import KernelModel
import NetworkTypes
import RoamwardCore
import TestKit
import Testing

/// Guards of programs: what their kill switch lets through, and which links are theirs.
@Suite struct ProgramGuardTests {
  private let cafe = UnderlayFit(Sample.network(Sample.wifi("Cafe", gateway: "198.51.100.1", address: "198.51.100.23/24")))

  private func program(
    _ process: Int32 = 4711, endpoints: [String] = [], link: String? = nil, group: UInt64 = 99
  ) throws -> ProgramGuard {
    ProgramGuard(
      process: process, program: "openvpn", since: .distantFuture, endpoints: try endpoints.map { try #require(GuardedEndpoint($0)) },
      link: link, lastLinkBefore: 7, group: ProviderGroup(number: group, level: 4))
  }

  private func link(_ name: String, _ kind: String?, index: UInt32 = 8, alias: String? = nil, master: UInt32? = nil, type: UInt16 = 1)
    -> Link
  {
    Link(
      index: Sample.index(index), name: name, kind: kind, hardwareType: type, master: master.map(Sample.index), alias: alias)
  }

  private func block(_ guards: GuardSetup..., tunnels: [TunnelSetup] = []) -> FirewallTable? {
    FirewallTable(of: tunnels, on: cafe, guards: guards)
  }

  private func chain(_ name: String, of table: FirewallTable) throws -> [String] {
    let text = try #require(table.transaction.components(between: "chain \(name) {", and: "  }\n"))
    return text.split(separator: "\n").map { String($0.drop { $0 == " " }) }
  }

  private func full(_ name: String = "corp", level: TunnelMachine.Level = .full, isGuarding: Bool) -> TunnelSetup {
    var policy = Sample.tunnel(name, rules: [Sample.rule(.always, .connect)])
    policy.routes = RoutePolicy(include: [.everything(.v4), .everything(.v6)])
    return TunnelSetup(policy: policy, level: level, slot: 500, link: name, device: .foreign, isGuarding: isGuarding)
  }

  @Test("without a link, everything is blocked but loopback, what the network needs, and the group's own packets")
  func withoutLink() throws {
    let table = try #require(block(GuardSetup(guarded: program())))
    #expect(table.guardsAll && table.insides.isEmpty && !table.allowsLAN && table.neighbours.isEmpty)
    let output = try chain("output", of: table)
    #expect(
      output.prefix(3) == [
        "type filter hook output priority filter; policy accept;", "oifname \"lo\" accept",
        "meta mark & 0xff800000 == 0x52000000 jump marked",
      ])
    #expect(output.filter { $0.hasSuffix("accept") }.count == 5, "\(output)")
    #expect(
      output.suffix(2) == [
        "meta nfproto ipv6 meta l4proto { tcp, udp } th dport 53 counter drop",
        "meta nfproto ipv6 counter reject with icmpx admin-prohibited",
      ])
    #expect(try chain("input", of: table).last == "drop")
  }

  @Test("the group reaches its endpoints alone, though its programs are root's; without an endpoint, every address")
  func endpoints() throws {
    let one = try #require(block(GuardSetup(guarded: program(endpoints: ["203.0.113.10:1194", "2001:db8::1", "203.0.113.10:1194"]))))
    let group = "socket cgroupv2 level 4 \"number 99\" "
    #expect(
      try chain("marked", of: one) == [
        group + "ip daddr 203.0.113.10 meta l4proto { tcp, udp } th dport 1194 accept", group + "ip6 daddr 2001:db8::1 accept",
        group + "return", "meta skuid != 0 return", "accept",
      ])
    let any = try #require(block(GuardSetup(guarded: program())))
    #expect(try chain("marked", of: any) == [group + "accept", "meta skuid != 0 return", "accept"])
    // The kernel compares no groups there.
    #expect(try chain("postrouting", of: any).contains("meta mark & 0xff800000 == 0x52000000 accept"))
  }

  @Test("a guard of another group is another table; where its folder is found makes no difference") func digest() throws {
    let one = try #require(block(GuardSetup(guarded: program())))
    var placed = one
    placed.guarded[0].group.path = "../../../proc/self/fd/9"
    #expect(placed.digest == one.digest && placed.transaction.contains("level 4 \"../../../proc/self/fd/9\" accept"))
    #expect(try block(GuardSetup(guarded: program(group: 98)))?.digest != one.digest)
  }

  @Test("two guards, and a tunnel beside one: each group has its own endpoints, and packets may take any link that is up")
  func several() throws {
    let guards = [
      GuardSetup(guarded: try program(1, endpoints: ["203.0.113.1"], group: 1), links: ["tun0"]),
      GuardSetup(guarded: try program(2, endpoints: ["203.0.113.2"], group: 2)),
    ]
    let table = try #require(
      block(guards[1], guards[0], tunnels: [full(isGuarding: true), full("lab", level: .nothing, isGuarding: false)]))
    #expect(table.guards.map(\.tunnel) == ["corp", "openvpn (guard 1)", "openvpn (guard 2)"])
    #expect(try chain("output", of: table).contains("oifname { \"corp\", \"tun0\" } accept"))
    #expect(
      try chain("marked", of: table).prefix(4) == [
        "socket cgroupv2 level 4 \"number 1\" ip daddr 203.0.113.1 accept", "socket cgroupv2 level 4 \"number 1\" return",
        "socket cgroupv2 level 4 \"number 2\" ip daddr 203.0.113.2 accept", "socket cgroupv2 level 4 \"number 2\" return",
      ])
    // A tunnel alone lets its neighbours be reached; a guard beside it does not.
    #expect(FirewallTable(of: [full(isGuarding: true)], on: cafe)?.allowsLAN == true && !table.allowsLAN)
  }

  @Test("a named link counts if it is a tunnel; without a name, one that programs carry and that is new")
  func links() throws {
    let named = try program(link: "vpn0"), open = try program()
    for kind in ["tun", "wireguard", "xfrm"] { #expect(named.owns(link("vpn0", kind, index: 3))) }
    for kind in [nil, "veth", "bridge", "dummy", "vlan"] { #expect(!named.owns(link("vpn0", kind)), "\(kind ?? "hardware")") }
    #expect(!named.owns(link("tun0", "tun")))
    #expect(open.owns(link("tun0", "tun")) && open.owns(link("ppp0", nil, type: 512)))
    #expect(!open.owns(link("tun0", "tun", index: 7)), "it was there before")
    #expect(!open.owns(link("wg0", "wireguard")), "the kernel's own packets have no mark")
    #expect(!open.owns(link("vnet0", "tun", master: 3)), "a virtual machine's")
    #expect(!open.owns(link("corp", "tun", alias: "roamward:corp")), "one of ours counts when its tunnel is up")
  }

  @Test("a suspended kill switch suspends guards, a portal window does not") func suspended() throws {
    var machine = KillSwitchMachine()
    machine.programs = [try program()]
    var observed = ObservedState()
    observed.kernel.links = [link("tun0", "tun"), link("eth0", nil, index: 9), link("new", "tun")]
    observed.unfinishedLinks = ["new"]
    #expect(machine.guards(in: observed).map(\.links) == [["tun0"]])
    machine.open(KillSwitchSuspension(since: .distantFuture, lifetime: .resume, isPortal: true))
    #expect(machine.guards(in: observed).count == 1)
    machine.open(KillSwitchSuspension(since: .distantFuture, lifetime: .resume))
    #expect(machine.guards(in: observed).isEmpty && machine.allGuards(in: observed).count == 1)
  }

  @Test("leaving the network prepares no table that opens a guard") func leaving() throws {
    var policy = Sample.tunnel(rules: [Sample.rule(.ssid([Sample.ssid("Home")]), .disconnect), Sample.rule(.always, .connect)])
    policy.killSwitch = .on
    var tunnels = DesiredTunnels(PolicySet(tunnels: [policy]), on: Sample.network(Sample.wifi("Home")))
    tunnels.killSwitch.record(.down, isPending: false, of: policy.name)
    let guarded = [GuardSetup(guarded: try program(), links: ["tun0"])]
    let table = try #require(tunnels.tableOnLeaving(guards: guarded))
    #expect(table.guardsAll && table.insides.map(\.link) == ["tun0"] && table.guarded.count == 1)
  }

  @Test(
    "endpoints are addresses with or without a port",
    arguments: ["192.0.2.1", "192.0.2.1:1194", "2001:db8::1", "[2001:db8::1]:1194"])
  func texts(_ text: String) { #expect(GuardedEndpoint(text)?.description == text) }

  @Test("anything else is no endpoint", arguments: ["", "vpn.example", "192.0.2.1:0", "192.0.2.1:", "[2001:db8::1]", "192.0.2.0/24"])
  func noEndpoints(_ text: String) { #expect(GuardedEndpoint(text) == nil) }
}
