import Agent
import ControlProtocol
import NetworkTypes
import PolicySource
import RoamwardCore
import TestKit
import Testing

/// Whole lives of the agent in a simulated machine, in virtual time.
@Suite struct ReconcilerTests {
  let home = Sample.network(Sample.wifi("Home"))
  let cafe = Sample.network(Sample.wifi("Cafe", gateway: "198.51.100.1", address: "198.51.100.23/24"))
  let offline = NetworkSnapshot()
  let rules = [Sample.rule(.ssid([Sample.ssid("Home")]), .disconnect), Sample.rule(.interface([.wifi]), .connect)]

  func world(_ tunnels: TunnelPolicy..., on network: NetworkSnapshot) -> SimulatedWorld {
    let world = SimulatedWorld()
    world.policies = PolicySet(tunnels: tunnels)
    world.network = network
    return world
  }

  func tunnel(_ agent: Reconciler, _ name: String = "corp") throws -> StatusReport.Tunnel {
    try #require(agent.status(at: 0, process: 1).tunnels.first { $0.name == name })
  }

  @Test("at home nothing, in the café the tunnel, home again nothing, and nothing left") func walk() throws {
    let world = world(Sample.tunnel(rules: rules, dns: DNSPolicy(servers: [Sample.address("10.0.0.53")])), on: home)
    let before = world.state.observed
    let agent = world.agent()
    agent.start()
    world.run(for: .seconds(1))
    #expect(world.applied.isEmpty && world.isIdle)
    world.move(to: cafe, agent)
    #expect(try tunnel(agent).state == "connected")
    #expect(world.isIdle, "with nothing to wait for, no timer is set")
    #expect(world.state.observed.kernel.rules.count == 1)
    world.move(to: home, agent)
    #expect(world.states == ["corp connecting", "corp connected", "corp disconnecting", "corp disconnected"])
    #expect(world.state.observed == before)
    #expect(world.isIdle)
  }

  @Test("what happens in one settle time is looked at once") func settles() {
    let world = world(Sample.tunnel(rules: rules), on: home)
    let agent = world.agent()
    agent.start()
    let before = world.observations
    for _ in 0..<1000 { agent.networkChanged() }
    world.run(for: .seconds(5))
    #expect(world.observations == before + 1)
  }

  @Test("until the peer has answered no route leads into the tunnel; then it gives up and tries again") func unreachable() throws {
    let world = world(Sample.tunnel(rules: rules), on: cafe)
    world.peersAnswer = false
    let agent = world.agent()
    agent.start()
    world.run(for: .seconds(10))
    #expect(try tunnel(agent).state == "connecting")
    #expect(world.state.observed.kernel.link(named: "corp") != nil)
    #expect(world.state.observed.kernel.rules.isEmpty && world.state.observed.kernel.routes.isEmpty)
    world.run(for: .milliseconds(5500))
    #expect(world.state.observed.kernel.link(named: "corp") == nil)
    #expect(try tunnel(agent).failure == "the peer did not answer within 15.0 seconds")
    world.peersAnswer = true
    world.run(for: .seconds(2))
    #expect(try tunnel(agent).state == "connected")
    #expect(try tunnel(agent).failure == nil)
  }

  @Test("on another network the tunnel stays, and its peers begin anew there") func roams() throws {
    let world = world(Sample.tunnel(rules: [Sample.rule(.always, .connect)]), on: cafe)
    let agent = world.agent()
    agent.start()
    world.run(for: .seconds(1))
    world.move(to: Sample.network(Sample.wired()), agent)
    #expect(world.renewals == 1)
    #expect(world.states == ["corp connecting", "corp connected", "corp reasserting", "corp connected"])
    #expect(!world.applied.contains { if case .deleteLink = $0 { true } else { false } })
  }

  @Test("without a network it waits, without a timer") func loses() throws {
    let world = world(Sample.tunnel(rules: [Sample.rule(.always, .connect)]), on: cafe)
    let agent = world.agent()
    agent.start()
    world.run(for: .seconds(1))
    world.move(to: offline, agent)
    #expect(try tunnel(agent).state == "reasserting" && world.isIdle)
    world.move(to: cafe, agent)
    #expect(try tunnel(agent).state == "connected")
  }

  @Test("a hold outranks the rules, and ends with the network or by hand") func holds() throws {
    let world = world(Sample.tunnel(rules: rules), on: cafe)
    let agent = world.agent()
    agent.start()
    world.run(for: .seconds(1))
    try agent.hold("corp", HoldRequest(wantsUp: false))
    world.run(for: .seconds(30))
    #expect(try tunnel(agent).state == "disconnected" && tunnel(agent).hold == "down")
    #expect(try tunnel(agent).because.contains("roamward resume"))
    try agent.resume("corp")
    world.run(for: .seconds(1))
    #expect(try tunnel(agent).state == "connected" && tunnel(agent).hold == nil)
    try agent.hold("corp", HoldRequest(wantsUp: false))
    world.move(to: home, agent)
    world.move(to: cafe, agent)
    #expect(try tunnel(agent).state == "connected" && tunnel(agent).hold == nil)
    #expect(throws: RequestError.self) { try agent.hold("nope", HoldRequest(wantsUp: true)) }
  }

  @Test("a disabled tunnel is started neither by rules nor by hand") func disabled() throws {
    let world = world(Sample.tunnel(rules: [Sample.rule(.always, .connect)], isEnabled: false), on: cafe)
    let agent = world.agent()
    agent.start()
    world.run(for: .seconds(1))
    #expect(try tunnel(agent).state == "disconnected")
    #expect(throws: RequestError.self) { try agent.hold("corp", HoldRequest(wantsUp: true)) }
  }

  @Test("bad policies change nothing: the last good set stays in force") func lastGood() throws {
    let world = world(Sample.tunnel(rules: rules), on: cafe)
    let agent = world.agent()
    agent.start()
    world.run(for: .seconds(1))
    world.policies = PolicySet()
    world.problems = [Diagnostic(.error, "unknown key", at: Sample.place(3))]
    agent.policiesChanged()
    world.run(for: .seconds(1))
    #expect(try tunnel(agent).state == "connected")
    #expect(agent.status(at: 0, process: 1).problems.map(\.line) == [3])
    world.problems = []
    agent.policiesChanged()
    world.run(for: .seconds(1))
    #expect(agent.status(at: 0, process: 1).tunnels.isEmpty)
    #expect(world.state.observed == SimulatedState().observed)
  }

  @Test("another provider means another tunnel; other settings follow by themselves") func changes() throws {
    let world = world(Sample.tunnel(rules: rules), on: cafe)
    let agent = world.agent()
    agent.start()
    world.run(for: .seconds(1))
    world.policies = PolicySet(tunnels: [Sample.tunnel(rules: rules, routes: RoutePolicy(include: [Sample.prefix("10.5.0.0/16")]))])
    agent.policiesChanged()
    world.run(for: .seconds(1))
    #expect(world.state.observed.kernel.routes.map(\.destination) == [Sample.prefix("10.5.0.0/16")])
    #expect(world.states == ["corp connecting", "corp connected"])
    world.policies = PolicySet(tunnels: [Sample.tunnel(rules: rules, wireGuard: Sample.wireGuard(endpoint: "203.0.113.99:51820"))])
    agent.policiesChanged()
    world.run(for: .seconds(1))
    #expect(world.state.observed.wireGuard["corp"]?.peers.first?.endpoint == Sample.endpoint("203.0.113.99:51820"))
    #expect(world.states.suffix(4) == ["corp disconnecting", "corp disconnected", "corp connecting", "corp connected"])
  }

  @Test("what others take away comes back") func repairs() throws {
    let world = world(Sample.tunnel(rules: rules), on: cafe)
    let agent = world.agent()
    agent.start()
    world.run(for: .seconds(1))
    let good = world.state.observed
    world.state.apply(good.kernel.rules.map { .removeRule($0) } + good.kernel.routes.map { .removeRoute($0) })
    agent.networkChanged()
    world.run(for: .seconds(1))
    #expect(world.state.observed == good)
  }

  @Test("what a dead agent left is taken away") func leftOvers() throws {
    let world = world(Sample.tunnel(rules: rules), on: home)
    let left = Sample.tunnel("old", rules: [])
    world.state.apply([
      .addWireGuardLink("old", .kernel), .setAlias(link: "old", alias: "roamward:old"), .addWireGuardLink("half", .kernel),
      .addRoute(Route(to: Sample.prefix("10.0.0.0/8"), on: "old", table: 21_500)),
      .addRule(RoutingRule(family: .v4, priority: 21_500, table: 21_500)),
      .writeResolvConf(ResolvConf(nameServers: [Sample.address("10.0.0.53")])),
    ])
    world.keepNotes(link: "half")
    world.keepNotes(command: left.name, CommandProviderConfiguration(up: ["up"], down: ["down"]))
    let agent = world.agent()
    agent.start()
    world.run(for: .seconds(1))
    #expect(world.state.observed == SimulatedState().observed)
    #expect(world.commands == ["old down"])
  }

  @Test("stopping takes everything down, then says so") func stops() throws {
    let world = world(Sample.tunnel(rules: rules), on: cafe)
    let agent = world.agent()
    agent.start()
    world.run(for: .seconds(1))
    var isDone = false
    agent.stop { isDone = true }
    world.run(for: .seconds(1))
    #expect(isDone && world.state.observed == SimulatedState().observed)
  }

  @Test("a step that fails takes the tunnel down with the reason; DNS never does") func failures() throws {
    let world = world(Sample.tunnel(rules: rules, dns: DNSPolicy(servers: [Sample.address("10.0.0.53")])), on: cafe)
    world.failingSteps = { if case .writeResolvConf = $0 { "read-only file system" } else { nil } }
    let agent = world.agent()
    agent.start()
    world.run(for: .seconds(3))
    #expect(try tunnel(agent).state == "connected")
    world.failingSteps = { if case .addRule = $0 { "operation not permitted" } else { nil } }
    world.state.apply(world.state.observed.kernel.rules.map { .removeRule($0) })
    agent.networkChanged()
    world.run(for: .seconds(1))
    #expect(try tunnel(agent).state == "connecting")
    #expect(try #require(tunnel(agent).failure).contains("operation not permitted"))
  }

  @Test("an unknown fact keeps the tunnel as it is until the waiting ends; then ignorance protects") func pending() throws {
    var link = Sample.wifi("Cafe")
    link.ssid = .unknown(because: "nl80211 is busy")
    let world = world(Sample.tunnel(rules: rules), on: Sample.network(link))
    let agent = world.agent()
    agent.start()
    world.run(for: .seconds(4))
    #expect(try tunnel(agent).state == "disconnected" && tunnel(agent).decision == "pending")
    world.run(for: .seconds(2))
    #expect(try tunnel(agent).state == "connected")
  }
}
