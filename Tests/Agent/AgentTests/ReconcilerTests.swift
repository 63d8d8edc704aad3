import AgentCore
import ControlProtocol
import KernelModel
import LinuxPlatform
import NetworkTypes
import PolicySource
import RoamwardCore
import Simulation
import TestKit
import Testing

/// Whole lives of the agent in a simulated machine, in virtual time.
@Suite struct ReconcilerTests {
  let home = Sample.network(Sample.wifi("Home"))
  let cafe = Sample.network(Sample.wifi("Cafe", gateway: "198.51.100.1", address: "198.51.100.23/24"))
  let offline = NetworkSnapshot()
  let rules = [Sample.rule(.ssid([Sample.ssid("Home")]), .disconnect), Sample.rule(.interface([.wifi]), .connect)]

  @Test("at home nothing, in the café the tunnel, home again nothing, and nothing left") func walk() throws {
    let life = WatchedAgent(Sample.tunnel(rules: rules, dns: DNSPolicy(servers: [Sample.address("10.0.0.53")])), on: home)
    let before = life.machine.state.observed
    life.start()
    #expect(life.machine.log.applied.isEmpty && life.machine.isIdle)
    life.move(to: cafe)
    #expect(try life.tunnel().state == "connected")
    #expect(life.agent.isAtRest, "with nothing to wait for, only samples are taken")
    #expect(life.machine.state.observed.kernel.rules.count == 1)
    life.move(to: home)
    #expect(life.states == ["corp connecting", "corp connected", "corp disconnecting", "corp disconnected"])
    #expect(life.machine.state.observed == before)
    #expect(life.machine.isIdle)
  }

  @Test("a thousand changes in one settle time are looked at four times for what may start, and once for all else") func settles() {
    let life = WatchedAgent(Sample.tunnel(rules: rules), on: home)
    life.start(for: .zero)
    let before = life.machine.log.observations
    for _ in 0..<1000 { life.agent.networkChanged() }
    life.machine.run(for: .seconds(5))
    #expect(life.machine.log.observations == before + 5)
    // Once, if nothing could start.
    let running = WatchedAgent(Sample.tunnel(rules: rules), on: cafe)
    running.start(for: .seconds(1))
    let looks = running.machine.log.observations
    for _ in 0..<1000 { running.agent.networkChanged() }
    running.machine.run(for: .seconds(1))
    #expect(running.machine.log.observations == looks + 1)
  }

  @Test("until the peer has answered no route leads into the tunnel; then it gives up and tries again") func unreachable() throws {
    let life = WatchedAgent(Sample.tunnel(rules: rules), on: cafe)
    life.machine.peersAnswer = false
    life.start(for: .seconds(10))
    #expect(try life.tunnel().state == "connecting")
    #expect(life.machine.state.observed.kernel.link(named: "corp") != nil)
    #expect(life.machine.state.observed.kernel.rules.isEmpty && life.machine.state.observed.kernel.routes.isEmpty)
    life.machine.run(for: .milliseconds(5500))
    #expect(life.machine.state.observed.kernel.link(named: "corp") == nil)
    #expect(try life.tunnel().failure == "the peer did not answer within 15 s")
    #expect(life.failures == ["corp: the peer did not answer within 15 s"])
    // Each attempt is told once.
    life.machine.run(for: .seconds(17))
    #expect(life.failures == Array(repeating: "corp: the peer did not answer within 15 s", count: 2))
    life.machine.peersAnswer = true
    life.machine.run(for: .seconds(2))
    #expect(try life.tunnel().state == "connected")
    #expect(try life.tunnel().failure == nil)
  }

  @Test("on another network the tunnel stays, and its peers begin anew there") func roams() throws {
    let life = WatchedAgent(Sample.tunnel(rules: [Sample.rule(.always, .connect)]), on: cafe)
    life.start()
    life.move(to: Sample.network(Sample.wired()))
    #expect(life.machine.log.renewals == 1)
    #expect(life.states == ["corp connecting", "corp connected", "corp reasserting", "corp connected"])
    #expect(!life.machine.log.applied.contains { if case .deleteLink = $0 { true } else { false } })
  }

  @Test("why it is given up on another network is told, before the state that it comes to") func givesUp() throws {
    let life = WatchedAgent(Sample.tunnel(rules: [Sample.rule(.always, .connect)]), on: cafe)
    life.start()
    life.machine.peersAnswer = false
    life.move(to: Sample.network(Sample.wired()))
    life.forget()
    life.machine.run(for: .seconds(15))
    #expect(life.failures == ["corp: the peer has not answered on this network within 15 s"])
    #expect(life.states == ["corp connecting"])
  }

  @Test("without a network it waits, without a timer") func loses() throws {
    let life = WatchedAgent(Sample.tunnel(rules: [Sample.rule(.always, .connect)]), on: cafe)
    life.start()
    life.move(to: offline)
    #expect(try life.tunnel().state == "reasserting" && life.machine.isIdle)
    life.move(to: cafe)
    #expect(try life.tunnel().state == "connected")
  }

  @Test("a hold outranks the rules, and ends with the network or by hand") func overrides() throws {
    let life = WatchedAgent(Sample.tunnel(rules: rules), on: cafe)
    life.start()
    try life.agent.override("corp", OverrideRequest(wantsUp: false))
    life.machine.run(for: .seconds(30))
    #expect(try life.tunnel().state == "disconnected" && life.tunnel().override == "down")
    #expect(try life.tunnel().reason.contains("roamward resume"))
    try life.agent.resume("corp")
    life.machine.run(for: .seconds(1))
    #expect(try life.tunnel().state == "connected" && life.tunnel().override == nil)
    try life.agent.override("corp", OverrideRequest(wantsUp: false))
    life.move(to: home)
    life.move(to: cafe)
    #expect(try life.tunnel().state == "connected" && life.tunnel().override == nil)
    #expect(throws: RequestError.self) { try life.agent.override("nope", OverrideRequest(wantsUp: true)) }
  }

  @Test("a disabled tunnel is started neither by rules nor by hand") func disabled() throws {
    let life = WatchedAgent(Sample.tunnel(rules: [Sample.rule(.always, .connect)], isEnabled: false), on: cafe)
    life.start()
    #expect(try life.tunnel().state == "disconnected")
    #expect(throws: RequestError.self) { try life.agent.override("corp", OverrideRequest(wantsUp: true)) }
  }

  @Test("bad policies change nothing: the last good set stays in force") func lastGood() throws {
    let life = WatchedAgent(Sample.tunnel(rules: rules), on: cafe)
    life.start()
    life.machine.policies = PolicySet()
    life.machine.disk.problems = [Diagnostic(.error, "unknown key", at: Sample.place(3))]
    life.agent.policiesChanged()
    life.machine.run(for: .seconds(1))
    #expect(try life.tunnel().state == "connected")
    #expect(life.status.policy.problems.map(\.line) == [3])
    #expect(life.status.policy.problems.map(\.severity) == ["error"])
    life.machine.disk.problems = []
    life.agent.policiesChanged()
    life.machine.run(for: .seconds(1))
    #expect(life.status.tunnels.isEmpty)
    #expect(life.machine.state.observed == SimulatedState().observed)
  }

  @Test("another provider means another tunnel; other settings follow by themselves") func changes() throws {
    let life = WatchedAgent(Sample.tunnel(rules: rules), on: cafe)
    life.start()
    life.policiesChange(to: Sample.tunnel(rules: rules, routes: RoutePolicy(include: [Sample.prefix("10.5.0.0/16")])))
    #expect(life.machine.state.observed.kernel.routes.map(\.destination) == [Sample.prefix("10.5.0.0/16")])
    #expect(life.states == ["corp connecting", "corp connected"])
    life.policiesChange(to: Sample.tunnel(rules: rules, wireGuard: Sample.wireGuard(endpoint: "203.0.113.99:51820")))
    #expect(life.machine.state.observed.wireGuard["corp"]?.peers.first?.endpoint == Sample.endpoint("203.0.113.99:51820"))
    #expect(life.states.suffix(4) == ["corp disconnecting", "corp disconnected", "corp connecting", "corp connected"])
  }

  @Test("what others take away comes back") func repairs() throws {
    let life = WatchedAgent(Sample.tunnel(rules: rules), on: cafe)
    life.start()
    let good = life.machine.state.observed
    life.machine.state.apply(good.kernel.rules.map { .removeRule($0) } + good.kernel.routes.map { .removeRoute($0) })
    life.agent.networkChanged()
    life.machine.run(for: .seconds(1))
    #expect(life.machine.state.observed == good)
  }

  @Test("what a dead agent left is taken away") func leftOvers() throws {
    let life = WatchedAgent(Sample.tunnel(rules: rules), on: home)
    let left = Sample.tunnel("old", rules: [])
    life.machine.state.apply([
      .addWireGuardLink("old", .kernel), .setAlias(link: "old", alias: "roamward:old"), .addWireGuardLink("half", .kernel),
      .addRoute(Route(to: Sample.prefix("10.0.0.0/8"), on: "old", table: 21_500)),
      .addRule(RoutingRule(family: .v4, priority: 21_500, table: 21_500)),
      .writeResolvConf(ResolvConf(nameServers: [Sample.address("10.0.0.53")])),
    ])
    life.machine.disk.unfinishedLinks = ["half"]
    life.machine.disk.startedCommands = [left.name: CommandProviderConfiguration(up: ["up"], down: ["down"])]
    life.agent.start()
    // Until the command has ended, nobody is told that there is no such tunnel.
    #expect(life.agent.status(at: 0, process: 1).isStarting)
    let refusal = #expect(throws: RequestError.self) { try life.agent.override("corp", OverrideRequest(wantsUp: true)) }
    #expect(refusal?.code == .starting)
    life.machine.run(for: .seconds(1))
    #expect(life.machine.state.observed == SimulatedState().observed)
    #expect(life.machine.programs.runs == ["old down"])
    #expect(!life.agent.status(at: 0, process: 1).isStarting)
  }

  @Test("stopping takes everything down, then says so") func stops() throws {
    let life = WatchedAgent(Sample.tunnel(rules: rules), on: cafe)
    life.start()
    var isDone = false
    life.agent.stop { isDone = true }
    life.machine.run(for: .seconds(1))
    #expect(isDone && life.machine.state.observed == SimulatedState().observed)
  }

  @Test("a step that fails takes the tunnel down with the reason; DNS never does") func failures() throws {
    let life = WatchedAgent(Sample.tunnel(rules: rules, dns: DNSPolicy(servers: [Sample.address("10.0.0.53")])), on: cafe)
    life.machine.failingSteps = { if case .writeResolvConf = $0 { "read-only file system" } else { nil } }
    life.start(for: .seconds(3))
    #expect(try life.tunnel().state == "connected")
    life.machine.failingSteps = { if case .addRule = $0 { "operation not permitted" } else { nil } }
    life.machine.state.apply(life.machine.state.observed.kernel.rules.map { .removeRule($0) })
    life.agent.networkChanged()
    life.machine.run(for: .seconds(1))
    #expect(try life.tunnel().state == "connecting")
    #expect(try #require(life.tunnel().failure).contains("operation not permitted"))
  }

  @Test("an unknown fact keeps the tunnel as it is until the waiting ends; then ignorance protects") func pending() throws {
    var link = Sample.wifi("Cafe")
    link.ssid = .unknown(reason: "nl80211 is busy")
    let life = WatchedAgent(Sample.tunnel(rules: rules), on: Sample.network(link))
    life.start(for: .seconds(4))
    #expect(try life.tunnel().state == "disconnected" && life.tunnel().decision == .pending)
    #expect(try life.tunnel().timers == [.init(what: "decide", at: life.machine.wallClock + .seconds(1))])
    life.machine.run(for: .seconds(2))
    #expect(try life.tunnel().state == "connected")
  }
}

@Suite struct TimeTests {
  let cafe = Sample.network(Sample.wifi("Cafe", gateway: "198.51.100.1", address: "198.51.100.23/24"))
  let work = TimeWindow(days: [.mon, .tue, .wed, .thu, .fri], from: 8 * 60, to: 18 * 60)

  @Test("rules by the clock act at the minute, day after day, without a network event") func clock() throws {
    let rules = [Sample.rule(.time(work), .connect), Sample.rule(.always, .disconnect)]
    let life = WatchedAgent(Sample.tunnel(rules: rules), on: cafe)
    life.machine.clock.start = LocalTime(day: .fri, second: 7 * 3600 + 17)
    life.start(for: .seconds(3500))
    #expect(try life.tunnel().state == "disconnected")
    life.machine.run(for: .seconds(100))
    #expect(try life.tunnel().state == "connected")
    life.machine.run(for: .seconds(10 * 3600))
    #expect(try life.tunnel().state == "disconnected")
    // Saturday and Sunday nothing, Monday again.
    life.machine.run(for: .seconds(48 * 3600))
    #expect(try life.tunnel().state == "disconnected")
    life.machine.run(for: .seconds(14 * 3600))
    #expect(try life.tunnel().state == "connected")
  }

  @Test("rules release late, a person at once; status says when") func release() throws {
    let home = Sample.network(Sample.wifi("Home"))
    var tunnel = Sample.tunnel(rules: [Sample.rule(.ssid([Sample.ssid("Home")]), .disconnect), Sample.rule(.always, .connect)])
    tunnel.onDemand.timing.releaseDelay = .seconds(5)
    let life = WatchedAgent(tunnel, on: cafe)
    life.start()
    life.move(to: home)
    #expect(try life.tunnel().state == "connected" && life.tunnel().timers.map(\.what) == ["release"])
    life.machine.run(for: .seconds(6))
    #expect(try life.tunnel().state == "disconnected" && life.tunnel().timers.isEmpty)
    life.move(to: cafe)
    try life.agent.override("corp", OverrideRequest(wantsUp: false))
    #expect(try life.tunnel().state == "disconnected")
  }

  @Test("timers are told when they are set, and when they will not come after all") func timers() throws {
    let home = Sample.network(Sample.wifi("Home"))
    var tunnel = Sample.tunnel(rules: [Sample.rule(.ssid([Sample.ssid("Home")]), .disconnect), Sample.rule(.always, .connect)])
    tunnel.onDemand.timing.releaseDelay = .seconds(5)
    let life = WatchedAgent(tunnel, on: cafe)
    life.machine.peersAnswer = false
    life.start(for: .seconds(17))
    #expect(life.timers == ["give-up 15000", "retry 1000", "give-up 15000"])
    life.machine.peersAnswer = true
    life.machine.run(for: .seconds(10))
    #expect(try life.tunnel().state == "connected" && life.tunnel().timers.isEmpty)
    life.forget()
    life.move(to: home)
    life.move(to: cafe)
    #expect(life.timers.filter { $0.hasPrefix("release") } == ["release 5000", "release -"])
    life.move(to: home)
    life.machine.run(for: .seconds(60))
    #expect(try life.tunnel().state == "disconnected" && life.tunnel().timers.isEmpty && life.machine.isIdle)
    try life.agent.override("corp", OverrideRequest(wantsUp: true, until: .seconds(60)))
    #expect(life.timers.contains("override-end 60000"))
  }

  @Test("a hold for a time ends by itself, and is remembered by the next agent") func timedHold() throws {
    let life = WatchedAgent(Sample.tunnel(rules: [Sample.rule(.always, .connect)]), on: cafe)
    life.start()
    try life.agent.override("corp", OverrideRequest(wantsUp: false, until: .seconds(60), reason: "printer"))
    #expect(life.machine.disk.overrides["corp"]?.reason == "printer")
    life.machine.run(for: .seconds(30))
    let next = Agent(platform: life.machine.platform, settle: .zero)
    next.start()
    life.machine.run(for: .seconds(1))
    #expect(next.status(at: 0, process: 1).tunnels.first?.override == "down")
    life.machine.run(for: .seconds(40))
    #expect(next.status(at: 0, process: 1).tunnels.first?.state == "connected")
    #expect(life.machine.disk.overrides.isEmpty)
  }
}
