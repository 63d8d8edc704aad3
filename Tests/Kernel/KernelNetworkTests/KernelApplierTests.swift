import Glibc
import KernelModel
import KernelNetwork
import NetworkTypes
import RoamwardCore
import TestSupport
import Testing

@Suite("Changing the kernel", .needsNamespaces)
struct KernelApplierTests {
  private static let rule = RoutingRule(
    family: .v4, priority: 21001, table: 21001, mark: Ownership.mark, mask: Ownership.markMask, isInverted: true)
  private static let rule6 = RoutingRule(
    family: .v6, priority: 21001, table: 21001, mark: Ownership.mark, mask: Ownership.markMask, isInverted: true)

  /// One step of each kind that needs no WireGuard.
  private static func steps() throws -> [Step] {
    [
      .setAlias(link: "lan0", alias: "roamward:corp"),
      .setMTU(link: "lan0", mtu: 1380, was: 1500),
      .addAddress(try #require(InterfaceAddress("10.9.0.2/24")), link: "lan0"),
      .addAddress(try #require(InterfaceAddress("2001:db8::2/64")), link: "lan0"),
      .setUp(link: "lan0"),
      .addRoute(Route(to: try #require(IPPrefix("10.20.0.0/16")), on: "lan0", table: 21001)),
      // Addresses make no route to the gateway.
      .addRoute(Route(to: try #require(IPPrefix("10.9.0.0/24")), on: "lan0", table: Route.mainTable)),
      .addRoute(Route(to: try #require(IPPrefix("10.30.0.0/16")), via: IPAddress("10.9.0.1"), on: "lan0", table: 21001, metric: 7)),
      .addRoute(Route(to: .everything(.v6), on: "lan0", table: 21001, metric: 1024)),
      .addRoute(Route(to: try #require(IPPrefix("2001:db8:1::/48")), kind: .unreachable, table: 21001, metric: 1024)),
      .addRoute(Route(to: try #require(IPPrefix("10.99.0.0/16")), kind: .throw, table: 21001)),
      .addRoute(Route(to: try #require(IPPrefix("10.98.0.0/16")), kind: .prohibit, table: 21001)),
      .addRule(rule), .addRule(rule6),
    ]
  }

  @Test("each kind of step takes effect, a second time it is so already, and its undo removes it, twice")
  func everyKind() throws {
    try inNamespaces {
      try shell("ip link add lan0 type veth peer name far0; ip link set far0 up")
      let steps = try Self.steps()
      let applier = try KernelApplier()
      let first = applier.apply(steps)
      #expect(first.map(\.step) == steps)
      #expect(first.allSatisfy { $0.outcome == .done }, "\(first.compactMap(\.error))")

      let reader = try KernelReader()
      let state = try reader.read()
      let lan = try #require(state.link(named: "lan0"))
      #expect(lan.alias == "roamward:corp" && lan.mtu == 1380 && lan.isUp)
      let addresses = Set(state.addresses.filter { $0.link == "lan0" }.map(\.address.description))
      #expect(addresses.isSuperset(of: ["10.9.0.2/24", "2001:db8::2/64"]))
      let wanted = Set(steps.compactMap { if case .addRoute(let route) = $0 { route } else { nil } })
      #expect(Set(state.routes.filter { $0.routeProtocol == Ownership.routeProtocol }) == wanted)
      #expect(Set(state.rules.filter { $0.routeProtocol == 82 }) == [Self.rule, Self.rule6])

      let second = applier.apply(steps)
      #expect(second.allSatisfy { $0.error == nil }, "\(second.compactMap(\.error))")
      #expect(second.dropFirst(5).allSatisfy { $0.outcome == .alreadySo })
      #expect(second[2].outcome == .alreadySo && second[3].outcome == .alreadySo)

      let undo = Plan(steps: steps).undo.steps
      #expect(applier.apply(undo).allSatisfy { $0.outcome == .done })
      let after = try reader.read(extraTables: [21001])
      #expect(!after.routes.contains { $0.routeProtocol == 82 } && !after.rules.contains { $0.routeProtocol == 82 })
      #expect(applier.apply(undo.dropLast()).allSatisfy { $0.outcome == .alreadySo })

      #expect(applier.apply([.deleteLink("lan0", .kernel)]).map(\.outcome) == [.done])
      #expect(applier.apply([.deleteLink("lan0", .kernel)]).map(\.outcome) == [.alreadySo])
      #expect(applier.apply(undo.filter { if case .setMTU = $0 { false } else { true } }).allSatisfy { $0.outcome == .alreadySo })
    }
  }

  @Test("what is in the way and is not what was asked for is a failure, with the kernel's words")
  func refusals() throws {
    try inNamespaces {
      try shell("ip link add lan0 type veth peer name far0; ip link set far0 up; ip link set lan0 up")
      try shell("ip route add blackhole 10.20.0.0/16 table 21001")
      let applier = try KernelApplier()
      let prefix = try #require(IPPrefix("10.20.0.0/16"))
      let results = applier.apply([
        .addRoute(Route(to: prefix, on: "lan0", table: 21001)),
        .addRoute(Route(to: prefix, on: "gone0", table: 21001)),
        .addRoute(Route(to: try #require(IPPrefix("10.50.0.0/16")), via: IPAddress("192.0.2.77"), on: "lan0", table: 21001)),
        .setMTU(link: "lan0", mtu: 1, was: 1500),
        .writeResolvConf(ResolvConf()),
        .addWireGuardLink("corp", .userspace),
        .addAddress(try #require(InterfaceAddress("10.9.0.2/24")), link: "lan0"),
      ])
      #expect(results.map { $0.error?.code } == [EEXIST, ENODEV, ENETUNREACH, EINVAL, ENOTSUP, ENOTSUP, nil])
      #expect(results[2].error?.kernelText == "Nexthop has invalid gateway")
      #expect(results[3].error?.kernelText == "mtu less than device minimum")
      #expect(results[1].error?.description.contains("no link is named gone0") == true)
      #expect(results[4].error?.description.contains("not a step for the kernel") == true)
      #expect(results[0].error?.what == "ip route add 10.20.0.0/16 dev lan0 table 21001 proto 82")
    }
  }

  @Test("a route is replaced within one batch: the old one leaves, the new one comes")
  func replacement() throws {
    try inNamespaces {
      try shell("ip link add lan0 type veth peer name far0; ip link set far0 up; ip link set lan0 up")
      let applier = try KernelApplier()
      let prefix = try #require(IPPrefix("10.20.0.0/16"))
      let old = Route(to: prefix, kind: .throw, table: 21001)
      let new = Route(to: prefix, on: "lan0", table: 21001)
      #expect(applier.apply([.addRoute(old), .removeRoute(old), .addRoute(new)]).allSatisfy { $0.outcome == .done })
      #expect(try KernelReader().readRoutes(table: 21001) == [new])
    }
  }

  @Test("ten thousand routes with three bad ones among them: all but these arrive, and each of these is reported")
  func manyRoutes() throws {
    try inNamespaces {
      try shell("ip link add lan0 type veth peer name far0; ip link set far0 up; ip link set lan0 up")
      var steps = routeSteps(10_000)
      let bad = [10, 5_555, 9_999]
      for place in bad {
        let route = Route(to: .host(IPAddress(v4: UInt32(place))), via: IPAddress("192.0.2.9"), on: "lan0", table: 21001)
        steps[place] = .addRoute(route)
      }
      let results = try KernelApplier().apply(steps)
      #expect(results.enumerated().filter { $0.element.error != nil }.map(\.offset) == bad)
      #expect(bad.allSatisfy { results[$0].error?.code == ENETUNREACH && results[$0].error?.kernelText != nil })
      #expect(try KernelReader().readRoutes(table: 21001).count == 9_997)
    }
  }

  @Test("removals, replacements and routes over gateways keep their place among many routes")
  func order() throws {
    try inNamespaces {
      try shell("ip link add lan0 type veth peer name far0; ip link set far0 up; ip link set lan0 up")
      let prefix = try #require(IPPrefix("10.200.0.0/16"))
      let old = Route(to: prefix, kind: .throw, table: 21001)
      let new = Route(to: prefix, on: "lan0", table: 21001)
      // The kernel accepts the gateway only if the route to it is there.
      let near = Route(to: .host(IPAddress(v4: 0xc000_0201)), on: "lan0", table: Route.mainTable)
      let far = Route(to: try #require(IPPrefix("10.201.0.0/16")), via: IPAddress("192.0.2.1"), on: "lan0", table: 21001)
      let many = routeSteps(10_000)
      let steps = [.addRoute(old)] + many[..<5_000] + [.addRoute(near), .addRoute(far), .removeRoute(old), .addRoute(new)] + many[5_000...]
      let results = try KernelApplier().apply(steps)
      #expect(results.failures == [])
      #expect(results.map(\.step) == steps)
      let routes = try KernelReader().readRoutes(table: 21001)
      #expect(routes.count == 10_002 && routes.contains(new) && routes.contains(far))
    }
  }

  @Test("ten thousand refusals fit the receive buffer")
  func manyRefusals() throws {
    try inNamespaces {
      try shell("ip link add lan0 type veth peer name far0; ip link set far0 up; ip link set lan0 up")
      let steps = routeSteps(10_000)
      let applier = try KernelApplier()
      #expect(applier.apply(steps).allSatisfy { $0.outcome == .done })
      #expect(applier.apply(steps).allSatisfy { $0.outcome == .alreadySo })
    }
  }
}

func routeSteps(_ count: Int) -> [Step] {
  (0..<count).map { .addRoute(Route(to: .host(IPAddress(v4: 0x0a00_0000 + UInt32($0))), on: "lan0", table: 21001)) }
}
