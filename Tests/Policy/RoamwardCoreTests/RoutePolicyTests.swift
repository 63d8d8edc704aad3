import KernelModel
import NetworkTypes
import RoamwardCore
import TestKit
import Testing

/// The destinations inside and outside, in the table of one tunnel.
@Suite struct RoutePolicyTests {
  func setup(_ routes: RoutePolicy, addresses: [String] = ["10.77.0.2/32"], allowed: [String] = ["10.0.0.0/8"], isGuarding: Bool = false)
    -> TunnelSetup
  {
    let tunnel = Sample.tunnel(rules: [], wireGuard: Sample.wireGuard(allowed: allowed, addresses: addresses), routes: routes)
    guard case .wireGuard(let provider) = tunnel.provider, let configuration = provider.configuration
    else { preconditionFailure("a WireGuard tunnel is meant") }
    let device = WireGuardDevice(
      engine: .kernel, privateKey: configuration.privateKey, publicKey: configuration.publicKey,
      peers: configuration.peers)
    return TunnelSetup(policy: tunnel, level: .full, slot: 500, link: "corp", device: .wireGuard(device), isGuarding: isGuarding)
  }

  func attached(_ addresses: String...) -> NetworkSnapshot {
    var link = Sample.wifi("Cafe")
    link.addresses = addresses.map(Sample.own)
    return Sample.network(link)
  }

  /// The table's routes, without their table and protocol.
  func routes(_ setup: TunnelSetup, on snapshot: NetworkSnapshot, strictReturn: Bool = false, others: OtherVPNs = OtherVPNs()) -> [String] {
    DesiredState(of: [setup], on: UnderlayFit(snapshot, isReversePathStrict: strictReturn, others: others)).routes.map { route in
      var words = route.description.split(separator: " ").map(String.init)
      for key in ["table", "proto"] { if let i = words.firstIndex(of: key) { words.removeSubrange(i...i + 1) } }
      return words.joined(separator: " ")
    }
  }

  let everything: PrefixList = [.everything(.v4), .everything(.v6)]
  let both = ["10.77.0.2/32", "2001:db8:77::2/128"]

  @Test("a spoofed local network pulls no traffic out, with enforce or without it (TunnelCrack's LocalNet)", arguments: [false, true])
  func localNet(isEnforced: Bool) {
    let table = routes(
      setup(RoutePolicy(include: everything, isEnforced: isEnforced), addresses: both),
      on: attached("192.168.7.20/24", "198.51.100.9/24", "10.0.0.9/8", "192.168.9.1/32", "2001:db8:5::9/64", "fd00:1::9/64"))
    let outside = table.filter { $0.hasPrefix("throw") }.map { $0.split(separator: " ")[1] }
    // Prefixes stay outside that nobody can claim from others, and that have a local network's size.
    #expect(outside == ["192.168.7.0/24", "fd00:1::/64", "fe80::/10"])
  }

  @Test("a prefix that the tunnel names is not believed to be the local network, and what the policy excludes stays outside")
  func named() {
    let policy = RoutePolicy(include: [Sample.prefix("10.0.0.0/8")], exclude: [Sample.prefix("10.99.0.0/16")], isEnforced: true)
    #expect(
      routes(setup(policy), on: attached("10.1.2.20/24")) == [
        "10.0.0.0/8 dev corp", "unreachable 10.0.0.0/8 metric 4294967295", "throw 10.99.0.0/16",
      ])
    #expect(
      routes(setup(RoutePolicy(include: policy.include, onOverlap: .preferLocal)), on: attached("10.1.2.20/24")) == [
        "10.0.0.0/8 dev corp", "throw 10.1.2.0/24",
      ])
    #expect(routes(setup(RoutePolicy(include: policy.include)), on: attached("10.1.2.20/24")) == ["10.0.0.0/8 dev corp"])
  }

  @Test("enforced, the last word is that there is no way: nothing follows from the main table when the link is gone")
  func lastWord() {
    let table = routes(setup(RoutePolicy(include: everything, isEnforced: true), addresses: both), on: attached())
    #expect(
      table == [
        "default dev corp", "unreachable default metric 4294967295", "default dev corp metric 1024",
        "unreachable default metric 4294967295", "throw fe80::/10 metric 1024",
      ])
  }

  @Test(
    "everything of one family means everything of both, where the tunnel has no address of the other",
    arguments: [
      ["0.0.0.0/0"], ["0.0.0.0/1", "128.0.0.0/1"],
    ])
  func parity(include: [String]) {
    let state = DesiredState(of: [setup(RoutePolicy(include: PrefixList(include.map(Sample.prefix))))], on: UnderlayFit(attached()))
    #expect(state.routes.contains { $0.kind == .unreachable && $0.destination == .everything(.v6) })
    #expect(state.rules.map(\.family) == [.v4, .v6])
    #expect(
      state.notes.map(\.description) == [
        "corp: IPv6 is unreachable while the tunnel is up, because it takes all of IPv4 and has no IPv6 address (exclude ::/0 to leave IPv6 outside)"
      ])
    // By the provider's own configuration too; and it is guarded.
    let own = setup(RoutePolicy(), allowed: include, isGuarding: true)
    #expect(DesiredState(of: [own], on: UnderlayFit(attached())).routes.contains { $0.destination == .everything(.v6) })
    #expect(FirewallTable(of: [own], on: UnderlayFit(attached()))?.guardsAll(.v6) == true)
  }

  @Test("no parity where the other family is spoken of, or is carried, or where only a part is taken")
  func noParity() {
    func v6(_ setup: TunnelSetup) -> [String] { routes(setup, on: attached()).filter { $0.contains(":") || $0.hasPrefix("unreachable") } }
    #expect(v6(setup(RoutePolicy(include: [Sample.prefix("10.0.0.0/8")]))) == [])
    #expect(v6(setup(RoutePolicy(include: [.everything(.v4)]), addresses: both)) == [])
    let excluded = setup(RoutePolicy(include: [.everything(.v4)], exclude: [.everything(.v6)]))
    #expect(routes(excluded, on: attached()).contains("throw default metric 1024"))
    #expect(DesiredState(of: [excluded], on: UnderlayFit(attached())).notes.map(\.description) == [])
  }

  @Test("a tunnel that refuses an overlap gets no link, and says why; its kill switch stands") func refuses() {
    var tunnel = setup(RoutePolicy(include: [Sample.prefix("192.168.7.0/24")], onOverlap: .refuse), isGuarding: true)
    let home = UnderlayFit(attached("192.168.7.20/24"))
    let state = DesiredState(of: [tunnel], on: home)
    let reason = "this machine is attached to 192.168.7.0/24, which the tunnel includes, and on-overlap is refuse"
    #expect(
      state.links.isEmpty && state.routes.isEmpty && state.rules.isEmpty && state.refusals.mapValues(\.description) == ["corp": reason])
    #expect(Plan(from: ObservedState(), to: state).obstacles == ["corp": TunnelFailure(.overlapRefused, reason)])
    #expect(FirewallTable(of: [tunnel], on: home)?.guards.count == 1)
    #expect(!DesiredState(of: [tunnel], on: UnderlayFit(attached("192.168.8.20/24"))).links.isEmpty)
    // A network that claims more than that is one too; everything is never attached.
    #expect(DesiredState(of: [tunnel], on: UnderlayFit(attached("192.168.0.20/16"))).links.isEmpty)
    tunnel.policy.routes = RoutePolicy(include: everything, onOverlap: .refuse)
    #expect(!DesiredState(of: [tunnel], on: home).links.isEmpty)
  }

  @Test("refused is any overlap with a named prefix: an attached one inside it too, but none that is excluded or of this machine alone")
  func refusesInside() {
    var tunnel = setup(
      RoutePolicy(include: PrefixList(["10.77.0.0/16", "0.0.0.0/0"].map(Sample.prefix)), onOverlap: .refuse), isGuarding: true)
    let inside = UnderlayFit(attached("10.77.3.20/24"))
    let state = DesiredState(of: [tunnel], on: inside)
    #expect(state.links.isEmpty && state.rules.isEmpty)
    #expect(
      state.refusals.mapValues(\.description) == [
        "corp": "this machine is attached to 10.77.3.0/24, which the tunnel includes in 10.77.0.0/16, and on-overlap is refuse"
      ])
    #expect(FirewallTable(of: [tunnel], on: inside)?.guards.count == 1)
    #expect(!DesiredState(of: [tunnel], on: UnderlayFit(attached("10.78.3.20/24"))).links.isEmpty)
    // By the provider's own configuration too.
    let own = setup(RoutePolicy(onOverlap: .refuse), allowed: ["10.77.0.0/16"])
    #expect(DesiredState(of: [own], on: inside).links.isEmpty)
    var bridge = inside
    bridge.ownPrefixes = [Sample.prefix("10.77.3.0/24")]
    #expect(!DesiredState(of: [tunnel], on: bridge).links.isEmpty)
    tunnel.policy.routes?.exclude = [Sample.prefix("10.77.0.0/20")]
    #expect(!DesiredState(of: [tunnel], on: inside).links.isEmpty)
  }

  @Test("neighbours are reached on the networks that are named for it, and nowhere else") func lanNetworks() {
    var tunnel = setup(RoutePolicy(include: everything, lanNetworks: ["home"]), isGuarding: true)
    let here = attached("192.168.7.20/24")
    #expect(!routes(tunnel, on: here).contains("throw 192.168.7.0/24"))
    #expect(FirewallTable(of: [tunnel], on: UnderlayFit(here))?.allowsLAN == false)
    tunnel.isOnLANNetwork = true
    #expect(routes(tunnel, on: here).contains("throw 192.168.7.0/24"))
    #expect(FirewallTable(of: [tunnel], on: UnderlayFit(here))?.neighbours == [Sample.prefix("192.168.7.0/24")])
    let evaluator = Evaluator(networks: [NamedNetwork(name: "home", condition: .ssid([Sample.ssid("Home")]), location: Sample.place())])
    #expect(evaluator.isOn(anyOf: ["home"], Sample.network(Sample.wifi("Home"))))
    #expect(!evaluator.isOn(anyOf: ["home"], Sample.network(Sample.wifi("Cafe"))) && !evaluator.isOn(anyOf: ["home"], NetworkSnapshot()))
    var unknown = Sample.wifi("Home")
    unknown.ssid = .unknown(reason: "the radio does not say")
    #expect(!evaluator.isOn(anyOf: ["home"], Sample.network(unknown)))
  }

  @Test("enforced where return paths are checked strictly, nothing but the tunnel's own packets goes to the gateway outside") func gateway()
    throws
  {
    let tunnel = setup(RoutePolicy(include: everything, isEnforced: true), addresses: both)
    let strict = UnderlayFit(attached(), isReversePathStrict: true)
    #expect(routes(tunnel, on: attached(), strictReturn: true).contains("throw 203.0.113.10/32"))
    let table = try #require(FirewallTable(of: [tunnel], on: strict))
    #expect(table.gateways == [Sample.address("203.0.113.10")])
    #expect(table.transaction.contains("ip daddr { 203.0.113.10 } counter reject"))
    #expect(try #require(FirewallTable(of: [tunnel], on: UnderlayFit(attached()))).gateways == [])
  }

  @Test(
    "the MTU follows the link below, and leaves IPv6 its 1280",
    arguments: [(1500, 1420), (1492, 1412), (9000, 8920), (1360, 1280), (1300, 1280), (576, 1280)] as [(UInt32, UInt32)])
  func mtu(below: UInt32, expected: UInt32) {
    var link = Sample.wifi("Cafe")
    link.mtu = below
    let fit = UnderlayFit(Sample.network(link))
    #expect(DesiredState(of: [setup(RoutePolicy(include: everything))], on: fit).links.map(\.mtu) == [expected])
    var fixed = setup(RoutePolicy(include: everything))
    fixed.policy.mtu = .overhead(100)
    #expect(DesiredState(of: [fixed], on: fit).links.map(\.mtu) == [max(1280, below > 1380 ? below - 100 : 1280)])
    fixed.policy.mtu = .fixed(1300)
    #expect(DesiredState(of: [fixed], on: fit).links.map(\.mtu) == [1300])
  }

  // MARK: What others claim

  func kernel(_ routes: [Route], rules: [RoutingRule] = []) -> KernelState { KernelState(routes: routes, rules: rules) }

  func claims(_ routes: [Route], rules: [RoutingRule] = [], policy: RoutePolicy, on snapshot: NetworkSnapshot? = nil) -> [String] {
    routeClaims(on: [setup(policy)], in: kernel(routes, rules: rules), UnderlayFit(snapshot ?? attached("192.168.7.20/24"))).map(
      \.description)
  }

  let pushed = Route(to: Sample.prefix("10.1.0.0/16"), via: Sample.address("192.168.7.66"), on: "wlan0", routeProtocol: 16)
  let lan = Route(to: Sample.prefix("192.168.7.0/24"), on: "wlan0", routeProtocol: 2)

  @Test("a route that DHCP pushes comes to nothing, and that is said (TunnelVision)") func tunnelVision() {
    let all = routeClaims(
      on: [setup(RoutePolicy(include: [.everything(.v4)]))], in: kernel([pushed, lan]), UnderlayFit(attached("192.168.7.20/24")))
    #expect(
      all.map(\.description) == [
        "corp: 10.1.0.0/16 via 192.168.7.66 dev wlan0 (DHCP): goes inside, because corp's table comes before the main table (it includes 0.0.0.0/0)",
        "corp: 192.168.7.0/24 dev wlan0 (attached): goes outside, because this machine is attached to it, and lan is allow",
      ])
    #expect(all.map(\.isNews) == [true, false])
  }

  @Test("what goes outside says why: excluded, or by a rule before ours; and what is attached and public stays inside") func outside() {
    let cafe = attached("198.51.100.9/24")
    let onLink = Route(to: Sample.prefix("198.51.100.0/24"), on: "wlan0", routeProtocol: 2)
    #expect(
      claims([onLink], policy: RoutePolicy(include: [.everything(.v4)]), on: cafe) == [
        "corp: 198.51.100.0/24 dev wlan0 (attached): goes inside, because it is public, and any network can claim it"
      ])
    #expect(
      claims([pushed], policy: RoutePolicy(include: [.everything(.v4)], exclude: [Sample.prefix("10.0.0.0/8")])) == [
        "corp: 10.1.0.0/16 via 192.168.7.66 dev wlan0 (DHCP): goes outside, because corp excludes 10.0.0.0/8"
      ])
    var suppressing = RoutingRule(family: .v4, priority: 105, table: 254, routeProtocol: 0)
    suppressing.suppressedLength = 0
    #expect(
      claims(
        [], rules: [suppressing, RoutingRule(family: .v4, priority: 0, table: 255, routeProtocol: 2)],
        policy: RoutePolicy(include: [.everything(.v4)])) == [
          "corp: every route of the main table but the default one, by rule 105: goes outside, because that rule looks up the main table before corp's"
        ])
  }

  @Test("of a router's routes the first are told, and soon") func many() {
    let routes = (0..<100_000).map { i in
      Route(to: IPPrefix.host(IPAddress(v4: 0x0a00_0000 + UInt32(i))), via: Sample.address("192.168.7.66"), on: "wlan0", routeProtocol: 186)
    }
    #expect(claims(routes, policy: RoutePolicy(include: [.everything(.v4)])).count == 20)
  }
}
