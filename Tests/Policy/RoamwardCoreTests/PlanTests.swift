import KernelModel
import NetworkTypes
import RoamwardCore
import Simulation
import TestKit
import Testing

/// Plans are compared as the text that an administrator reads.
@Suite struct PlanTests {
  let cafe = Sample.network(Sample.wifi("Cafe", domains: ["cafe.example"]))

  func setup(
    _ tunnel: TunnelPolicy, level: TunnelMachine.Level = .full, slot: UInt32 = 500, endpoint: String = "203.0.113.10:51820"
  ) -> TunnelSetup {
    guard case .wireGuard(let provider) = tunnel.provider, let configuration = provider.configuration
    else { preconditionFailure("a WireGuard tunnel is meant") }
    let device = WireGuardDevice(
      engine: .kernel, privateKey: configuration.privateKey, publicKey: configuration.publicKey,
      peers: configuration.peers)
    return TunnelSetup(policy: tunnel, level: level, slot: slot, link: tunnel.name, device: .wireGuard(device))
  }

  func desired(_ setups: [TunnelSetup], on snapshot: NetworkSnapshot? = nil) -> DesiredState {
    DesiredState(of: setups, on: UnderlayFit(snapshot ?? cafe))
  }

  func lines(_ plan: Plan) -> [String] { plan.steps.map(\.description) }

  @Test("a split tunnel, from nothing") func splitTunnel() {
    let tunnel = Sample.tunnel(
      rules: [], routes: RoutePolicy(include: [Sample.prefix("10.0.0.0/8")], exclude: [Sample.prefix("10.99.0.0/16")]),
      dns: DNSPolicy(servers: [Sample.address("10.0.0.53")], searchDomains: [Sample.domain("corp.example")]))
    let plan = Plan(from: ObservedState(), to: desired([setup(tunnel)]))
    #expect(
      lines(plan) == [
        "ip link add dev corp type wireguard", "ip link set dev corp alias roamward:corp",
        "wg set corp private-key (hidden) fwmark 0x52000000 peer (hidden) endpoint 203.0.113.10:51820 allowed-ips 10.0.0.0/8",
        "ip link set dev corp mtu 1420", "ip address add 10.77.0.2/32 dev corp noprefixroute", "ip link set dev corp up",
        "ip route add 10.0.0.0/8 dev corp table 21500 proto 82", "ip route add throw 10.99.0.0/16 table 21500 proto 82 scope link",
        "ip rule add priority 21500 not fwmark 0x52000000/0xff000000 lookup 21500 protocol 82",
        "resolv.conf: nameserver 10.0.0.53, search corp.example, search cafe.example",
      ])
  }

  @Test("before the peer answers there is a link and no route into it") func linkLevel() {
    let plan = Plan(from: ObservedState(), to: desired([setup(Sample.tunnel(rules: []), level: .link)]))
    #expect(lines(plan).last == "ip link set dev corp up")
    #expect(!lines(plan).contains { $0.contains(" route ") || $0.contains(" rule ") || $0.contains("resolv.conf") })
  }

  @Test("a full tunnel: attached networks stay outside, and a family without an address is unreachable rather than outside")
  func fullTunnel() {
    let everything = [IPPrefix.everything(.v4), .everything(.v6)]
    let tunnel = Sample.tunnel(rules: [], routes: RoutePolicy(include: PrefixList(everything)))
    let state = desired([setup(tunnel)], on: Sample.network(Sample.wifi("Cafe", address: "192.168.7.23/24")))
    #expect(
      state.routes.map(\.description) == [
        "default dev corp table 21500 proto 82", "throw 192.168.7.0/24 table 21500 proto 82",
        "unreachable default table 21500 proto 82 metric 1024", "throw fe80::/10 table 21500 proto 82 metric 1024",
      ])
    #expect(state.rules.map(\.family) == [.v4, .v6])
    #expect(state.notes.isEmpty)
  }

  @Test("once applied, nothing is left to do: the plan verifies itself") func converges() {
    for routes in [nil, RoutePolicy(include: [.everything(.v4), .everything(.v6)], exclude: [Sample.prefix("192.0.2.128/25")])] {
      let wanted = desired([setup(Sample.tunnel(rules: [], routes: routes, dns: DNSPolicy(servers: [Sample.address("10.0.0.53")])))])
      var machine = SimulatedState()
      machine.apply(Plan(from: machine.observed, to: wanted).steps)
      #expect(Plan(from: machine.observed, to: wanted).isEmpty)
      machine.apply(Plan(from: machine.observed, to: DesiredState()).steps)
      #expect(machine.observed == SimulatedState().observed)
    }
  }

  @Test("the undo of a plan, applied after it, leaves the machine as it was") func undo() {
    let wanted = desired([setup(Sample.tunnel(rules: [], dns: DNSPolicy(servers: [Sample.address("10.0.0.53")])))])
    var machine = SimulatedState()
    let plan = Plan(from: machine.observed, to: wanted)
    machine.apply(plan.steps)
    machine.apply(plan.undo.steps)
    #expect(machine.observed == SimulatedState().observed)
  }

  @Test("many routes: what is missing is added, what is not wanted goes, and nothing else, as sets say it", arguments: 0..<40)
  func manyRoutes(seed: Int) {
    // A linear congruential generator (Knuth's MMIX).
    var state = UInt64(seed)
    func random(_ limit: UInt64) -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return (state >> 33) % limit
    }
    func some(_ count: UInt64) -> [Route] {
      (0..<random(count)).map { _ in
        let isV6 = random(3) == 0
        let address =
          isV6 ? IPAddress(family: .v6, high: 0x2001_0db8 << 32 | random(40), low: 0) : IPAddress(v4: 10 << 24 | UInt32(random(60)) << 8)
        let prefix = IPPrefix(address, length: isV6 ? 64 : 24) ?? .host(address)
        let isThrow = random(5) == 0
        // A route that leads nowhere has no link.
        return Route(
          to: prefix, kind: isThrow ? .throw : .unicast, on: isThrow ? nil : random(2) == 0 ? "a" : "b", table: 21_000 + UInt32(random(2)))
      }
    }
    var (present, wanted) = (some(200), some(200))
    // Mostly equal lists in the kernel's order too, as the planner mostly finds them.
    if seed % 2 == 1 {
      wanted.sort { ($0.table, $0.destination) < ($1.table, $1.destination) }
      present = wanted.filter { _ in random(10) > 0 } + some(1 + random(20))
      if seed % 4 == 1 { present.sort { ($0.table, $0.destination) < ($1.table, $1.destination) } }
    }
    let links = ["a", "b"].enumerated().map { Link(index: Sample.index(UInt32($0.offset) + 1), name: $0.element, kind: "veth", flags: 1) }
    let desired = DesiredState(links: links.map { DesiredLink(name: $0.name, tunnel: $0.name, device: .foreign) }, routes: wanted)
    let steps = Plan(from: ObservedState(kernel: KernelState(links: links, routes: present)), to: desired).steps
    let added = Set(steps.compactMap { if case .addRoute(let route) = $0 { route } else { nil } })
    let removed = Set(steps.compactMap { if case .removeRoute(let route) = $0 { route } else { nil } })
    #expect(added.symmetricDifference(Set(wanted).subtracting(present)) == [])
    #expect(removed.symmetricDifference(Set(present).subtracting(wanted)) == [])
  }

  @Test("another's objects are never touched") func foreign() {
    let foreign = KernelState(
      links: [Link(index: Sample.index(9), name: "wg9", kind: "wireguard", flags: 1)],
      routes: [
        Route(to: .everything(.v4), on: "wg9", table: 51_820, routeProtocol: 4),
        Route(to: Sample.prefix("10.9.0.0/16"), on: "wg9", table: 21_500, routeProtocol: 3),
      ],
      rules: [
        RoutingRule(family: .v4, priority: 21_500, table: 51_820, routeProtocol: 0),
        RoutingRule(family: .v4, priority: 5210, table: 254, routeProtocol: 82),
      ])
    #expect(Plan(from: ObservedState(kernel: foreign), to: DesiredState()).isEmpty)
  }

  @Test("a link of the wanted name that is somebody else's is a conflict, and stays") func conflict() {
    let foreign = KernelState(links: [Link(index: Sample.index(9), name: "corp", kind: "wireguard", flags: 1)])
    let plan = Plan(from: ObservedState(kernel: foreign), to: desired([setup(Sample.tunnel(rules: []))]))
    #expect(
      plan.conflicts.map(\.description) == [
        "corp: a link named corp exists already and is not Roamward's; rename the tunnel or remove the link"
      ])
    #expect(!lines(plan).contains { $0.contains("dev corp") && $0.hasPrefix("ip link") })
    #expect(!lines(plan).contains { $0.contains("ip route") && $0.contains("dev corp") })
  }

  @Test("a link that a dead agent was still making is taken away") func unfinished() {
    let left = KernelState(links: [Link(index: Sample.index(9), name: "corp", kind: "wireguard")])
    let plan = Plan(from: ObservedState(kernel: left, unfinishedLinks: ["corp"]), to: DesiredState())
    #expect(lines(plan) == ["ip link del dev corp"])
  }

  @Test("moving to a network that the tunnel would swallow swaps one route, and nothing else") func roaming() {
    let tunnel = Sample.tunnel(rules: [], routes: RoutePolicy(include: [Sample.prefix("192.0.2.0/24")], onOverlap: .preferLocal))
    var machine = SimulatedState()
    let elsewhere = Sample.network(Sample.wired())
    let words = "192.0.2.0/24 stays outside, because this machine is attached to it, and on-overlap is prefer-local"
    #expect(desired([setup(tunnel)], on: cafe).notes.map(\.description) == ["corp: \(words)"])
    machine.apply(Plan(from: machine.observed, to: desired([setup(tunnel)], on: elsewhere)).steps)
    let plan = Plan(from: machine.observed, to: desired([setup(tunnel)], on: cafe))
    #expect(
      lines(plan) == [
        "ip route del 192.0.2.0/24 dev corp table 21500 proto 82", "ip route add throw 192.0.2.0/24 table 21500 proto 82 scope link",
      ])
  }

  @Test("enterprise before personal, in rules and in name servers") func precedence() {
    let corp = Sample.tunnel(rules: [], dns: DNSPolicy(servers: [Sample.address("10.0.0.53")]), precedence: .enterprise)
    let home = Sample.tunnel("home", rules: [], dns: DNSPolicy(servers: [Sample.address("10.1.0.53")]))
    let state = desired([setup(home, slot: 500), setup(corp, slot: 0)])
    #expect(state.rules.map(\.priority) == [21_000, 21_500])
    #expect(state.resolvConf?.nameServers == [Sample.address("10.0.0.53")])
    #expect(state.notes.map(\.description) == ["home: its name servers are not used, because resolv.conf serves another tunnel already"])
  }

  @Test("split DNS is said to be impossible, not dropped in silence") func splitDNS() {
    let dns = DNSPolicy(servers: [Sample.address("10.0.0.53")], matchDomains: [Sample.pattern("corp.example")])
    let state = desired([setup(Sample.tunnel(rules: [], dns: dns))])
    #expect(
      state.notes.map(\.description) == [
        "corp: split DNS is not possible with resolv.conf, so its servers answer for all names, not for corp.example alone;"
          + " cure: apt install systemd-resolved"
      ])
  }

  @Test("where return paths are checked strictly, the gateway's address stays outside a tunnel that would take it") func strictReversePath()
  {
    let tunnel = Sample.tunnel(rules: [], routes: RoutePolicy(include: [.everything(.v4), .everything(.v6)]))
    let state = DesiredState(of: [setup(tunnel)], on: UnderlayFit(cafe, isReversePathStrict: true))
    #expect(state.routes.map(\.description).contains("throw 203.0.113.10/32 table 21500 proto 82"))
    #expect(state.notes.count == 1)
    let split = DesiredState(of: [setup(Sample.tunnel(rules: []))], on: UnderlayFit(cafe, isReversePathStrict: true))
    #expect(!split.routes.contains { $0.kind == .throw } && split.notes.isEmpty)
  }

  @Test("no key is ever in a plan's text") func secrets() {
    let plan = Plan(from: ObservedState(), to: desired([setup(Sample.tunnel(rules: []))]))
    let text = "\(plan) \(String(reflecting: plan)) \(lines(plan))"
    #expect(!text.contains("[1, 1, 1") && !text.contains("bytes"))
  }

  @Test("any plan from any routes to any others is what sets say, and leads there") func anyRoutes() {
    var random = SystemRandomNumberGenerator()
    for _ in 0..<500 {
      func routes() -> [Route] {
        (0..<Int.random(in: 0...12, using: &random)).map { _ in
          let kind: Route.Kind = Bool.random(using: &random) ? .throw : .unicast
          let prefix = IPPrefix(
            IPAddress(v4: UInt32.random(in: 0...3, using: &random) << 30), length: Int.random(in: 0...2, using: &random))
          return Route(
            to: prefix ?? .everything(.v4), kind: kind, on: kind == .unicast ? "corp" : nil,
            table: UInt32.random(in: 21_000...21_001, using: &random),
            metric: UInt32.random(in: 0...1, using: &random))
        }
      }
      // The kernel has no two of one prefix and metric in a table; who asks for two asks in vain.
      func unique(_ routes: [Route]) -> [Route] {
        var seen = Set<String>()
        return routes.filter { seen.insert("\($0.destination) \($0.table) \($0.metric)").inserted }
      }
      let (present, wanted) = (unique(routes()), unique(routes()).shuffled(using: &random))
      let desired = DesiredState(links: [DesiredLink(name: "corp", tunnel: "corp", device: .foreign)], routes: wanted)
      let link = Link(index: Sample.index(3), name: "corp")
      let steps = Plan(from: ObservedState(kernel: KernelState(links: [link], routes: present)), to: desired).steps
      let removed = steps.compactMap { if case .removeRoute(let route) = $0 { route } else { nil } }
      let added = steps.compactMap { if case .addRoute(let route) = $0 { route } else { nil } }
      #expect(Set(removed) == Set(present).subtracting(wanted) && removed.count == Set(removed).count)
      #expect(Set(added) == Set(wanted).subtracting(present) && added.count == Set(added).count)
    }
  }
}
