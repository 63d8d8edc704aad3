import AgentCore
import ControlProtocol
import KernelModel
import LinuxPlatform
import NetworkTypes
import RoamwardCore
import SeededRandom
import Simulation
import TestKit
import Testing

/// `plan` and `diff` against the agent: both build what is wanted by `DesiredTunnels`, the one from what the agent tells.
@Suite struct PlanPreviewTests {
  static let networks = [
    Sample.network(Sample.wifi("Home")), Sample.network(Sample.wifi("Cafe", gateway: "198.51.100.1", address: "198.51.100.23/24")),
    Sample.network(Sample.wired()), NetworkSnapshot(),
  ]

  @Test("at rest the plan is empty, under every override and suspension", arguments: 1...40)
  func emptyAtRest(seed: UInt64) throws {
    var life = RandomLife(seed: seed)
    life.agent.start()
    life.agent.machine.run(for: .seconds(30))
    var rests = 0
    for _ in 0..<12 {
      life.act()
      life.agent.machine.run(for: .seconds(100))
      // One that goes on trying is not at rest: nobody answers without a network.
      if life.agent.status.tunnels.contains(where: { $0.state == "connecting" }) { continue }
      rests += 1
      let enterprise = life.agent.machine.policies.tunnels.filter { $0.precedence == .enterprise }.map(\.name)
      let up = life.agent.status.tunnels.filter { $0.state != "disconnected" && enterprise.contains($0.name) }
      #expect(up.count <= 1, "after \(life.acts): \(up)")
      let plan = try life.agent.preview.plan
      #expect(plan.steps == [], "after \(life.acts) with \(life.agent.status.tunnels)")
      guard plan.isEmpty else { return }
    }
    #expect(rests > 2)
  }

  @Test("under `down` by hand the plan does not start the tunnel; under a suspension it does not close the firewall")
  func ordersCount() throws {
    let life = WatchedAgent(Self.full(.on), on: Self.networks[1])
    life.start()
    #expect(try life.preview.plan.isEmpty)
    try life.agent.override("corp", OverrideRequest(wantsUp: false, until: .resume))
    life.machine.run(for: .seconds(10))
    #expect(try life.preview.plan.isEmpty)
    // Without the agent's word the rules alone would bring it up.
    #expect(life.preview(PlanInputs()).plan.steps.contains { $0.description.hasPrefix("ip rule add") })
    try life.agent.resume("corp")
    try life.agent.release(ReleaseRequest(until: .resume))
    life.machine.run(for: .seconds(10))
    #expect(try life.preview.plan.isEmpty)
    #expect(life.preview(PlanInputs()).plan.steps.contains { $0.description.hasPrefix("nft") })
  }

  @Test("a tunnel that is left as it is comes back with another provider configuration, and is not held back instead") func replaced()
    throws
  {
    var tunnel = Self.full(.on)
    tunnel.onDemand.rules = [Sample.rule(.ssid([Sample.ssid("Cafe")]), .connect), Sample.rule(.always, .ignore)]
    let life = WatchedAgent(tunnel, on: Self.networks[1])
    life.start()
    life.move(to: Self.networks[0])
    #expect(try life.tunnel().state == "connected" && life.tunnel().decision == .ignore)
    var other = tunnel
    other.provider = Sample.tunnel(rules: [], wireGuard: Sample.wireGuard(addresses: ["10.77.0.9/32"])).provider
    life.policiesChange(to: other)
    life.machine.run(for: .seconds(5))
    #expect(try life.tunnel().state == "connected" && life.status.firewall.blocking == [])
    #expect(life.machine.state.observed.kernel.addresses.map(\.address) == [Sample.own("10.77.0.9/32")])
  }

  @Test("a tunnel whose file the user may not read is left out of the plan and named, whatever is there; the others are planned as before")
  func unread() throws {
    let life = WatchedAgent(Self.full(.on), on: Self.networks[1])
    var other = Sample.tunnel("lab", rules: [Sample.rule(.always, .connect)], dns: nil, precedence: .personal)
    other.routes = RoutePolicy(include: [Sample.prefix("10.5.0.0/16")])
    for isUp in [false, true] {
      life.machine.policies = PolicySet(tunnels: [Self.full(.on)])
      if isUp { life.start() }
      life.machine.policies = PolicySet(tunnels: [Self.full(.on), other])
      let known = life.preview(PlanInputs()).plan.steps.filter { "\($0)".contains("lab") && !"\($0)".contains("corp") }
      for i in life.machine.policies.tunnels.indices {
        guard case .wireGuard(var provider) = life.machine.policies.tunnels[i].provider, i == 0 else { continue }
        provider.configuration = nil
        life.machine.policies.tunnels[i].provider = .wireGuard(provider)
      }
      let preview = life.preview(PlanInputs())
      #expect(!preview.plan.steps.contains { "\($0)".contains("corp") || "\($0)".hasPrefix("nft") }, "\(preview.plan.steps)")
      #expect(preview.plan.steps.map { "\($0)" }.contains { $0.contains("dev lab") } && !known.isEmpty)
      #expect(preview.unread.map(\.name) == ["corp"] && preview.isPartial)
      #expect(
        preview.notes.filter { $0.contains("run with sudo") } == [
          "/etc/corp.conf and the firewall cannot be looked at as this user: run with sudo; the steps of corp, DNS and the firewall are not "
            + "in this plan"
        ], "\(preview.notes)")
    }
  }

  @Test("what lasts until the network changes is over in a plan for another network") func otherNetwork() throws {
    let life = WatchedAgent(Self.full(.on), on: Self.networks[1])
    life.start()
    try life.agent.override("corp", OverrideRequest(wantsUp: false, until: .networkChange))
    try life.agent.release(ReleaseRequest(until: .networkChange))
    let report = try life.status.coded
    #expect(PlanInputs(report, isSameNetwork: true).overrides["corp"]?.wantsUp == false)
    #expect(PlanInputs(report, isSameNetwork: true).killSwitch.suspension != nil)
    #expect(PlanInputs(report, isSameNetwork: false).overrides.isEmpty)
    #expect(PlanInputs(report, isSameNetwork: false).killSwitch.suspension == nil)
  }

  static func full(_ killSwitch: KillSwitch) -> TunnelPolicy {
    var tunnel = Sample.tunnel(
      rules: [Sample.rule(.ssid([Sample.ssid("Home")]), .disconnect), Sample.rule(.always, .connect)],
      routes: RoutePolicy(include: [.everything(.v4), .everything(.v6)]))
    tunnel.killSwitch = killSwitch
    return tunnel
  }
}

extension WatchedAgent {
  /// The preview of `roamward plan` beside this agent: made from its status as JSON, and from the machine.
  var preview: PlanPreview { get throws { preview(PlanInputs(try status.coded, isSameNetwork: true)) } }

  func preview(_ inputs: PlanInputs) -> PlanPreview {
    let observed = machine.state.observed
    let tunnels = DesiredTunnels(machine.policies, on: machine.network, inputs, in: observed, engine: .kernel)
    return PlanPreview(
      of: tunnels, from: observed, others: OtherVPNs(in: observed.kernel, ownLinks: inputs.ownLinks(machine.policies)),
      portal: inputs.killSwitch.portalWindow { _ in nil })
  }
}

/// Random policies, networks and words of a person. The same seed is the same life.
private struct RandomLife {
  let agent: WatchedAgent
  private(set) var acts: [String] = []
  private var random: SplitMix64

  init(seed: UInt64) {
    random = SplitMix64(seed: seed)
    agent = WatchedAgent(on: PlanPreviewTests.networks[Int(seed) % 4])
    agent.machine.dns.otherNames = Sample.address("203.0.113.77")
    agent.machine.policies = policies()
    if random.pick([true, false]) {
      let keepers = ObservedResolver(facts: ResolverFacts(target: "/run/systemd/resolve/stub-resolv.conf", resolved: .value(true)))
      agent.machine.state.keepResolver(keepers, file: agent.machine.state.observed.resolvConf)
    }
  }

  mutating func act() {
    let name = random.pick(["a", "b", "c"])
    let what = random.pick(["network", "network", "up", "down", "resume", "resume all", "release", "portal", "policies"])
    acts.append("\(what) \(name)")
    do throws(RequestError) {
      switch what {
      case "network": agent.move(to: random.pick(PlanPreviewTests.networks))
      case "up", "down":
        try agent.agent.override(
          name, OverrideRequest(wantsUp: what == "up", until: random.pick([.networkChange, .resume, .seconds(3600)])))
      case "resume": try agent.agent.resume(name)
      case "resume all": try agent.agent.resume(nil)
      case "release", "portal":
        let until = random.pick([Lifetime.networkChange, .resume, .seconds(3600)])
        try agent.agent.release(ReleaseRequest(isPortal: what == "portal", until: until))
      default:
        agent.machine.policies = policies()
        agent.agent.policiesChanged()
      }
    } catch {
      acts.append("refused: \(error.message)")
    }
  }

  private mutating func policies() -> PolicySet {
    PolicySet(tunnels: ["a", "b", "c"].filter { _ in random.pick([true, true, true, false]) }.map { tunnel($0) })
  }

  private mutating func tunnel(_ name: String) -> TunnelPolicy {
    let prefixes = random.pick([["0.0.0.0/0", "::/0"], ["10.0.0.0/8"], ["10.5.0.0/16", "198.51.100.0/24"]])
    let endpoint = random.pick(["203.0.113.10:51820", "vpn.example:51820"])
    var dns = DNSPolicy(servers: [Sample.address("10.0.0.53")], matchDomains: [Sample.pattern("\(name).example")])
    dns.whenDown = random.pick([.ask, .refuse])
    var policy = Sample.tunnel(
      name, rules: rules(), wireGuard: Sample.wireGuard(allowed: prefixes, endpoint: endpoint), dns: random.pick([nil, dns]),
      precedence: random.pick([.enterprise, .personal]), isEnabled: random.pick([true, true, true, false]))
    if random.pick([true, false, false]) {
      policy.provider = .command(CommandProviderConfiguration(up: ["up"], down: ["down"], status: ["status"], interface: "vpn\(name)"))
      policy.routes = RoutePolicy(include: PrefixList(prefixes.map(Sample.prefix)))
    }
    policy.killSwitch = random.pick([.off, .on, .always])
    policy.onDemand.isEnabled = random.pick([true, true, true, false])
    policy.onDemand.timing.releaseDelay = random.pick([.zero, .seconds(5)])
    return policy
  }

  private mutating func rules() -> [Rule] {
    let last = random.pick([Action.connect, .ignore, .disconnect, .evaluateConnection])
    return [
      Sample.rule(.ssid([Sample.ssid("Home")]), random.pick([.disconnect, .connect, .ignore])), Sample.rule(.interface([.wifi]), .connect),
      Sample.rule(.always, last),
    ]
  }
}
