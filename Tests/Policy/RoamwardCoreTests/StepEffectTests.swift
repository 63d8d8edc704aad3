import KernelModel
import NetworkTypes
import RoamwardCore
import Simulation
import TestKit
import Testing

/// Each kind of step is planned, and has an effect wherever the agent, a preview or a machine in memory follows steps.
@Suite struct StepEffectTests {
  /// Desired states, one after the other: their plans have steps of every kind.
  private static var states: [DesiredState] {
    func device(port: UInt16) -> WireGuardDevice {
      WireGuardDevice(
        engine: .kernel, privateKey: Sample.secretKey(1), publicKey: Sample.key(2), listenPort: port,
        peers: [WireGuardPeer(publicKey: Sample.key(3), allowedIPs: [Sample.prefix("10.0.0.0/8")])])
    }
    func rule(_ family: IPAddress.Family) -> RoutingRule { RoutingRule(family: family, priority: 21_500, table: 21_500) }
    func guarded(_ prefix: String) -> DesiredFirewall {
      .table(FirewallTable(guards: [.init(tunnel: "corp", prefixes: [Sample.prefix(prefix)])]))
    }
    let servers = ResolvConf(nameServers: [Sample.address("10.0.0.53")])
    var up = DesiredState(
      links: [
        DesiredLink(
          name: "corp", tunnel: "corp", device: .wireGuard(device(port: 51_820)), mtu: 1380, addresses: [Sample.own("10.77.0.2/32")]),
        DesiredLink(
          name: "plain", tunnel: "plain", device: .tun(user: "roamward-provider"), addresses: [Sample.own("10.78.0.2/32")]),
        DesiredLink(name: "office", tunnel: "office", device: .xfrm(identifier: 0x5200_0001)),
        DesiredLink(name: "names", tunnel: "names", device: .dummy),
      ],
      routes: [
        Route(to: Sample.prefix("10.0.0.0/8"), on: "corp", table: 21_500),
        Route(to: Sample.prefix("2001:db8::/32"), on: "corp", table: 21_500),
      ],
      rules: [rule(.v4), rule(.v6)], resolvConf: servers)
    up.firewall = guarded("10.0.0.0/8")
    up.resolvedLinks = ["corp": LinkResolver(servers: servers.nameServers, domains: [.root], isDefaultRoute: true)]
    up.record = ResolverRecord(servers, program: .openresolv)
    up.nameServer = NameServerSettings(network: [Sample.address("192.0.2.1")])
    up.nameServer?.capture = NameCapture(tunnelLinks: ["corp"])
    up.proxies = ProxyPublication(.direct, for: [.chromium])

    // Every object that is replaced or removed alone.
    var changed = up
    changed.links[0].device = .wireGuard(device(port: 51_821))
    changed.links[0].renewsSessions = true
    changed.links[0].mtu = 1400
    changed.links[1].addresses = [Sample.own("10.78.0.3/32")]
    changed.links.removeLast()
    changed.routes[1].kind = .unreachable
    changed.routes[1].link = nil
    changed.rules.removeLast()
    changed.firewall = guarded("10.0.0.0/16")
    changed.resolvConf?.searchDomains = [Sample.domain("corp.example")]
    changed.resolvedLinks = [:]
    changed.nameServer?.capture = nil
    return [up, changed, DesiredState()]
  }

  private static var machine: SimulatedState {
    var machine = SimulatedState()
    machine.keepResolver(ObservedResolver(facts: ResolverFacts(resolved: .value(true))), file: machine.observed.resolvConf)
    return machine
  }

  /// Whether the step is a repair where another program has reverted it. Name servers have a backoff of their own, and of what is removed
  /// as a whole nothing is left to change.
  private static func isRepairable(_ step: Step) -> Bool {
    switch step {
    case .renewSessions, .deleteLink, .removeFirewall, .removeNameCapture, .setProxies, .removeProxies: false
    default: !step.isOfResolver
    }
  }

  @Test("each kind of step is planned: it follows a change, is a repair afterwards, and changes the machine; so does its inverse")
  func kinds() {
    var machine = Self.machine
    var applied = AppliedState(machine.observed)
    var planned: [Step] = []
    for wanted in Self.states {
      applied.follow(machine.observed, towards: wanted)
      let steps = Plan(from: machine.observed, to: wanted).steps
      var preview = machine.observed
      for step in steps {
        #expect(applied.repair(by: step) == nil, "\(step)")
        let before = machine.observed
        machine.apply([step])
        applied.take(step)
        preview.take(step)
        #expect((applied.repair(by: step) != nil) == Self.isRepairable(step), "\(step)")
        #expect(machine.observed != before, "\(step)")
        guard let undo = step.undo else { continue }
        var undone = machine
        undone.apply([undo])
        #expect(undone.observed != machine.observed, "\(undo)")
      }
      // New sessions are asked for once.
      var settled = wanted
      for place in settled.links.indices { settled.links[place].renewsSessions = false }
      #expect(Plan(from: machine.observed, to: settled).steps == [])
      #expect(Plan(from: preview, to: settled).steps.filter(\.traits.takesAway) == [])
      machine.answer(on: "corp", at: 5)
      planned += steps
    }
    #expect(machine.observed == Self.machine.observed)
    for sample in Sample.steps { #expect(planned.contains { $0.isOfKind(of: sample) }, "nothing plans this: \(sample)") }
    for step in planned { #expect(Sample.steps.contains { $0.isOfKind(of: step) }, "there is no sample of this: \(step)") }
  }

  @Test("the inverses of the steps of a plan, last one first, leave the machine as it was") func inverses() throws {
    var machine = Self.machine
    let plan = Plan(from: machine.observed, to: try #require(Self.states.first))
    machine.apply(plan.steps)
    #expect(machine.observed != Self.machine.observed)
    machine.apply(plan.undo.steps)
    #expect(machine.observed == Self.machine.observed)
  }
}
