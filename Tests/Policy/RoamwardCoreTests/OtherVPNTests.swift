import KernelModel
import NetworkTypes
import RoamwardCore
import TestKit
import Testing

/// The state that other VPNs leave in the kernel, from their sources, manuals and dumps; the rules as `ip rule` shows them.
@Suite struct OtherVPNTests {
  func rule(_ priority: UInt32, table: UInt32, mark: UInt32 = 0, mask: UInt32 = .max, not: Bool = false, suppress: UInt8? = nil)
    -> RoutingRule
  {
    var rule = RoutingRule(
      family: .v4, priority: priority, table: table, mark: mark, mask: mark == 0 ? 0 : mask, isInverted: not, routeProtocol: 0)
    rule.suppressedLength = suppress
    return rule
  }

  func route(_ prefix: String, dev link: String, table: UInt32 = 254) -> Route {
    Route(to: Sample.prefix(prefix), on: link, table: table, routeProtocol: 3)
  }

  func link(_ name: String, _ kind: String = "wireguard", index: UInt32 = 9) -> Link {
    Link(index: Sample.index(index), name: name, kind: kind, hardwareType: 65534, flags: 0x10041)
  }

  let base = [
    RoutingRule(family: .v4, priority: 0, table: 255, routeProtocol: 2),
    RoutingRule(family: .v4, priority: 32766, table: 254, routeProtocol: 2),
    RoutingRule(family: .v4, priority: 32767, table: 253, routeProtocol: 2),
  ]

  var tailscale: [RoutingRule] {
    [
      rule(5210, table: 254, mark: 0x80000, mask: 0xff0000), rule(5230, table: 253, mark: 0x80000, mask: 0xff0000), rule(5270, table: 52),
    ]
  }

  @Test("a machine without one has none") func none() {
    let others = OtherVPNs(in: KernelState(links: [link("eth0", "veth")], routes: [route("192.0.2.0/24", dev: "eth0")], rules: base))
    #expect(others == OtherVPNs())
    let ours = RoutingRule(family: .v4, priority: 21_500, table: 21_500, mark: Ownership.mark, mask: Ownership.markMask, isInverted: true)
    #expect(OtherVPNs(in: KernelState(rules: base + [ours])) == OtherVPNs())
  }

  @Test("Tailscale: by its mark, table and link; its own packets are looked after by its own rules") func tailscaleRules() throws {
    let kernel = KernelState(
      links: [link("tailscale0", "tun")],
      routes: [route("100.64.0.0/10", dev: "tailscale0", table: 52), route("100.100.100.100/32", dev: "tailscale0", table: 52)],
      rules: base + tailscale)
    let others = OtherVPNs(in: kernel)
    #expect(others.all.map(\.description) == ["Tailscale (tailscale0) routes 100.64.0.0/10, 100.100.100.100/32 by rule 5270; not touched"])
    #expect(others.unservedMarks.isEmpty && others.mainPrefixes.isEmpty && others.takenSlots.isEmpty && others.collisions.isEmpty)
    #expect(OtherVPNs.tables(of: kernel.rules) == [52])
  }

  @Test("wg-quick's full tunnel: its own packets are to go by the main table") func wgQuick() {
    let kernel = KernelState(
      links: [link("wg0")], routes: [route("0.0.0.0/0", dev: "wg0", table: 51820)],
      rules: base + [rule(32764, table: 254, suppress: 0), rule(32765, table: 51820, mark: 51820, not: true)])
    let others = OtherVPNs(in: kernel)
    #expect(others.all.map(\.description) == ["wg-quick (wg0) routes everything (IPv4) by rule 32765; not touched"])
    #expect(others.unservedMarks == [FirewallMark(51820)])
  }

  @Test("NetBird, Mullvad, NordVPN and WARP by their numbers; others by the way they do it") func products() {
    let known: [(String, UInt32, UInt32)] = [
      ("NetBird", 0x1bd00, 7120), ("Mullvad", 0x6d6f_6c65, 0x6d6f_6c65), ("NordVPN", 0xe1f1, 205), ("Cloudflare WARP", 0x100cf, 65743),
      ("another VPN", 0x1234, 1000),
    ]
    for (name, mark, table) in known {
      let others = OtherVPNs(in: KernelState(rules: base + [rule(110, table: table, mark: mark, not: true)]))
      #expect(others.all.map(\.name) == [name])
      #expect(others.unservedMarks == [FirewallMark(mark)])
      #expect(OtherVPNs.tables(of: others.all[0].rules) == [table])
    }
    let sing = OtherVPNs(in: KernelState(rules: base + [rule(9000, table: 254, suppress: 0), rule(9001, table: 2022)]))
    #expect(sing.all.map(\.name) == ["sing-box"] && sing.all[0].rules.map(\.priority) == [9000, 9001])
  }

  @Test("tables of nftables that drop what leaves, from the kernel's list: Mullvad's while its kill switch is on") func closedTables() {
    let listing = """
      table inet mullvad {
      \tchain prerouting {
      \t\ttype filter hook prerouting priority -199; policy accept;
      \t}
      \tchain output {
      \t\ttype filter hook output priority 0; policy drop;
      \t}
      \tchain forward {
      \t\ttype filter hook forward priority 0; policy drop;
      \t}
      }
      table ip filter {
      \tchain ts-input {
      \t}
      \tchain OUTPUT {
      \t\ttype filter hook output priority 0; policy accept;
      \t}
      }
      """
    #expect(ClosedTable.all(in: listing) == [ClosedTable(name: "inet mullvad", chain: "output")])
    #expect(ClosedTable.all(in: listing).first?.product == "Mullvad")
    #expect(ClosedTable.all(in: "table\nchain\ntype\n\n}") == [])
  }

  @Test(
    "a split tunnel of somebody else routes by the main table, and stays reachable past a full tunnel of ours, but not past an enforced one"
  )
  func split() {
    let kernel = KernelState(
      links: [link("wg0")], routes: [route("10.5.0.0/16", dev: "wg0"), route("64.0.0.0/2", dev: "wg0")], rules: base)
    let others = OtherVPNs(in: kernel)
    #expect(others.all.map(\.description) == ["another VPN (wg0) routes 10.5.0.0/16, 64.0.0.0/2 in the main table; not touched"])
    // A prefix that is so wide is a piece of everything.
    #expect(others.mainPrefixes == [Sample.prefix("10.5.0.0/16")])
    func thrown(_ policy: RoutePolicy, isGuarding: Bool = false) -> Bool {
      var setup = RoutePolicyTests().setup(policy, isGuarding: isGuarding)
      setup.link = "corp"
      let state = DesiredState(of: [setup], on: UnderlayFit(NetworkSnapshot(), others: others))
      return state.routes.contains { $0.kind == .throw && $0.destination == Sample.prefix("10.5.0.0/16") }
    }
    #expect(thrown(RoutePolicy(include: [.everything(.v4)])))
    #expect(!thrown(RoutePolicy(include: [.everything(.v4)], isEnforced: true)))
    #expect(!thrown(RoutePolicy(include: [.everything(.v4)]), isGuarding: true))
    // The policy names it.
    #expect(!thrown(RoutePolicy(include: [.everything(.v4), Sample.prefix("10.5.0.0/16")])))
    // A tunnel that a policy of ours started.
    #expect(OtherVPNs(in: kernel, ownLinks: ["wg0"]) == OtherVPNs())
  }

  @Test("other VPNs' own packets get a rule before ours, unless a tunnel keeps everything inside") func marks() {
    let kernel = KernelState(rules: base + [rule(32765, table: 51820, mark: 51820, not: true)])
    func rules(_ policy: RoutePolicy, isGuarding: Bool = false) -> [String] {
      let setup = RoutePolicyTests().setup(policy, isGuarding: isGuarding)
      return DesiredState(of: [setup], on: UnderlayFit(NetworkSnapshot(), others: OtherVPNs(in: kernel))).rules.map(\.description)
    }
    let full = RoutePolicy(include: [Sample.prefix("10.0.0.0/8")])
    let ours = "priority 21500 not fwmark 0x52000000/0xff000000 lookup 21500 protocol 82"
    #expect(rules(full) == [ours, "priority 20900 fwmark 0xca6c/0xffffffff lookup 254 protocol 82"])
    #expect(rules(full, isGuarding: true) == [ours])
    #expect(rules(RoutePolicy(include: full.include, isEnforced: true)) == [ours])
  }

  @Test("numbers that somebody else uses are left to him, and told of") func collisions() {
    let foreign = [
      rule(21_500, table: 254), rule(100, table: 21_501), rule(200, table: 99, mark: 0x5200_0001, mask: .max),
      rule(201, table: 98, mark: 0x80000, mask: 0xff0000),
    ]
    let taken = KernelState(routes: [route("10.0.0.0/8", dev: "eth0", table: 21_002)], rules: base + foreign)
    let others = OtherVPNs(in: taken)
    #expect(others.takenSlots == [500, 501, 2])
    #expect(others.collisions.count == 3)
    #expect(others.collisions.last?.contains("Roamward's own mark") == true)
    #expect(TunnelSetup.freeSlot(for: Sample.tunnel(rules: []), used: others.takenSlots) == 502)
  }
}
