import Glibc
import KernelModel
import KernelNetwork
import NetworkTypes
import RoamwardCore
import TestSupport
import Testing

/// The commands that `plan` prints beside its steps, typed after the steps were taken.
@Suite("Printed undo", .needsNamespaces)
struct PrintedUndoTests {
  /// Whether the undo of a step is a command that gives everything back; exhaustive, so that a new step has to say so.
  private static func isTyped(_ undo: Step) -> Bool {
    switch undo {
    case .setMTU, .addAddress, .removeAddress, .deleteLink, .addRoute, .removeRoute, .addRule, .removeRule, .removeFirewall,
      .removeNameCapture, .revertLinkResolver, .removeRecord:
      true
    // Told as prose: the agent alone has what stood there.
    case .restoreResolvConf, .stopNameServer, .removeProxies: false
    case .addWireGuardLink, .addTUNLink, .addXFRMLink, .addDummyLink, .setAlias, .configureWireGuard, .renewSessions, .setUp,
      .replaceFirewall, .writeResolvConf, .setLinkResolver, .setRecord, .setNameServer, .setNameCapture,
      .setProxies:
      // They undo nothing.
      false
    }
  }

  private static func prefix(_ text: String) throws -> IPPrefix { try #require(IPPrefix(text)) }

  private static func address(_ text: String) throws -> InterfaceAddress { try #require(InterfaceAddress(text)) }

  /// Everything that the steps could change, in an order of its own.
  private func state() throws -> [String] {
    let text = try shell(
      """
      ip -details -oneline link show | sed 's/^[0-9]*: //; s/link-netnsid [0-9]*//'
      ip -oneline address show | sed 's/^[0-9]*: //'
      for family in 4 6; do
        ip -$family rule show | sed "s/^/$family rule /"
        ip -$family route show table all | sed "s/^/$family route /"
      done
      nft list ruleset
      """)
    return text.split(separator: "\n").map(String.init).sorted()
  }

  private func expectState(_ wanted: [String], after step: Step) throws {
    var found = try state()
    // The kernel makes the local route of an IPv6 address in work of its own, which a busy machine does later.
    for _ in 0..<250 where found != wanted {
      usleep(20_000)
      found = try state()
    }
    let (missing, extra) = (wanted.filter { !found.contains($0) }, found.filter { !wanted.contains($0) })
    #expect(found == wanted, "\(step): missing \(missing), extra \(extra)")
  }

  /// Loopback and one end of a pair. An address stays there: with the last one, the kernel removes a link's routes.
  private func attach() throws {
    try shell(
      """
      ip link set lo up; ip link add lan0 type veth peer name far0
      ip link set lan0 addrgenmode none; ip link set far0 addrgenmode none; ip link set far0 up; ip link set lan0 up
      ip address add 192.0.2.23/24 dev lan0
      # The kernel reports a carrier up to a second later.
      for link in lan0 far0; do until ip -oneline link show "$link" | grep -q 'LOWER_UP.*state UP'; do sleep 0.02; done; done
      """)
  }

  /// A dummy link, if the kernel has such links.
  private static func dummies() -> [Step] {
    (try? shell("ip link add made9 type dummy && ip link del made9")) == nil ? [] : [.addDummyLink("made0")]
  }

  private static func routes() throws -> [Route] {
    var routes: [Route] = []
    for table in [21001, Route.mainTable] {
      for metric in [UInt32(0), 7] {
        routes += [
          Route(to: try prefix("10.20.0.0/16"), on: "lan0", table: table, metric: metric),
          Route(to: .everything(.v4), on: "lan0", table: table, metric: metric),
          Route(to: try prefix("10.30.0.0/16"), via: IPAddress("10.9.0.1"), on: "lan0", table: table, metric: metric),
          Route(to: try prefix("2001:db8:1::/48"), on: "lan0", table: table, metric: metric == 0 ? 1024 : metric),
          Route(to: .everything(.v6), on: "lan0", table: table, metric: metric == 0 ? 1024 : metric),
          Route(to: try prefix("2001:db8:3::/48"), via: IPAddress("2001:db8::1"), on: "lan0", table: table, metric: 1024),
        ]
      }
      for kind in [Route.Kind.unreachable, .throw, .prohibit, .blackhole] {
        routes.append(Route(to: try prefix("10.9\(kind.rawValue).0.0/16"), kind: kind, table: table))
        routes.append(Route(to: try prefix("2001:db8:\(kind.rawValue)0::/48"), kind: kind, table: table, metric: 1024))
      }
    }
    return routes
  }

  private static func rules() -> [RoutingRule] {
    [IPAddress.Family.v4, .v6].flatMap { family -> [RoutingRule] in
      [
        RoutingRule(
          family: family, priority: 21001, table: 21001, mark: Ownership.mark, mask: Ownership.markMask, isInverted: true),
        RoutingRule(family: family, priority: 21002, table: 21002, mark: Ownership.mark, mask: Ownership.markMask),
        RoutingRule(family: family, priority: 21003, table: 21003),
      ]
    }
  }

  @Test("each step alone: its undo, typed, gives back the same") func eachStep() throws {
    try inNamespaces {
      try attach()
      let applier = try KernelApplier()
      func apply(_ steps: [Step]) {
        let results = applier.apply(steps)
        #expect(results.allSatisfy { $0.outcome == .done }, "\(results)")
      }
      // Gateways need them.
      apply([
        .addRoute(Route(to: try Self.prefix("10.9.0.1/32"), on: "lan0")),
        .addRoute(Route(to: try Self.prefix("2001:db8::1/128"), on: "lan0", metric: 1024)),
      ])
      let addresses = try ["10.9.0.2/24", "10.8.0.2/32", "2001:db8:9::2/64", "2001:db8:8::2/128"].map { try Self.address($0) }
      let steps: [Step] =
        [.setMTU(link: "lan0", mtu: 1380, was: 1500), .addTUNLink("made1", user: "root")] + Self.dummies()
        + addresses.map { .addAddress($0, link: "lan0") } + (try Self.routes()).map { .addRoute($0) } + Self.rules().map { .addRule($0) }
      for step in steps {
        let before = try state()
        apply([step])
        let during = try state()
        let undo = try #require(step.undo, "\(step)")
        #expect(during != before && undo.isCommand && Self.isTyped(undo), "\(step)")
        try shell("\(undo)")
        try expectState(before, after: undo)
        // And the step itself is what its words say.
        try shell("\(step)")
        try expectState(during, after: step)
        apply([undo])
        try expectState(before, after: undo)
      }
    }
  }

  @Test("in the order of the plan's undo they leave nothing") func wholePlan() throws {
    try inNamespaces {
      try attach()
      let before = try state()
      let firewall = FirewallTable(
        guards: [.init(tunnel: "corp", prefixes: [.everything(.v4)])],
        insides: [.init(link: "lan0", addresses: [try #require(IPAddress("10.9.0.2"))])])
      let capture = NameCapture(
        guests: [.init(link: "lan0", addresses: [try #require(IPAddress("10.9.0.1"))], prefixes: [.everything(.v4)])], tunnelLinks: ["lan0"]
      )
      let own: [Step] =
        [
          .addTUNLink("made0", user: "root"), .setAlias(link: "made0", alias: "roamward:corp"),
          .setMTU(link: "made0", mtu: 1380, was: 1500),
        ]
        + [.addAddress(try Self.address("10.9.0.2/24"), link: "made0"), .addAddress(try Self.address("2001:db8:9::2/64"), link: "made0")]
        + [.setUp(link: "made0"), .setMTU(link: "lan0", mtu: 1380, was: 1500), .addAddress(try Self.address("10.7.0.2/24"), link: "lan0")]
        + [.addRoute(Route(to: try Self.prefix("10.9.0.0/24"), on: "made0"))]
        + [.addRoute(Route(to: try Self.prefix("10.31.0.0/16"), via: IPAddress("10.9.0.1"), on: "made0", table: 21001))]
        + Self.rules().map { .addRule($0) }
      #expect(try KernelApplier().apply(own).allSatisfy { $0.outcome == .done })
      for text in [firewall.transaction, firewall.neighbourTransaction, capture.transaction] {
        try shell("nft -f - <<'END'\n\(text)\nEND")
      }
      #expect(try state().contains("table arp roamward {"))
      for step in Plan(steps: own + [.replaceFirewall(firewall), .setNameCapture(capture)]).undo.steps {
        #expect(step.isCommand && Self.isTyped(step), "\(step)")
        try shell("\(step)")
      }
      try expectState(before, after: .removeFirewall)
      // A firewall without neighbours has no table for ARP.
      try shell("nft -f - <<'END'\n\(FirewallTable(guards: firewall.guards).transaction)\nEND\n\(Step.removeFirewall)")
      try expectState(before, after: .removeFirewall)
    }
  }
}
