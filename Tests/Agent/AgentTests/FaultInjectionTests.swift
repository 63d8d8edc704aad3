import AgentCore
import ControlProtocol
import KernelModel
import LinuxPlatform
import NetworkTypes
import RoamwardCore
import Simulation
import TestKit
import Testing

/// The day of a tunnel of each kind: connecting, roaming, another policy, home, and the end.
struct DayOut: CustomTestStringConvertible, Sendable {
  let testDescription: String
  let policies: [TunnelPolicy]
  let changed: [TunnelPolicy]
  var engine = EngineChoice.engine(.kernel)
  /// Programs that keep the resolver.
  var keepers = ObservedResolver()
  /// Whether a program sends a packet into the tunnel on each network.
  var sendsPackets = false
  /// Whether our name server is installed, and a program looks up a name of the tunnel on each network.
  var looksUp = false

  static let home = Sample.network(Sample.wifi("Home"))
  static let cafe = Sample.network(Sample.wifi("Cafe", gateway: "198.51.100.1", address: "198.51.100.23/24"))
  static let hotel = Sample.network(Sample.wifi("Hotel", gateway: "203.0.113.1", address: "203.0.113.23/24"))

  static let rules = [Sample.rule(.ssid([Sample.ssid("Home")]), .disconnect), Sample.rule(.always, .connect)]
  static let dns = DNSPolicy(servers: [Sample.address("10.0.0.53")])

  static func full(_ killSwitch: KillSwitch, excluding: PrefixList = []) -> TunnelPolicy {
    var tunnel = Sample.tunnel(
      rules: rules, wireGuard: Sample.wireGuard(allowed: ["0.0.0.0/0", "::/0"]),
      routes: RoutePolicy(include: [.everything(.v4), .everything(.v6)], exclude: excluding), dns: dns)
    tunnel.killSwitch = killSwitch
    return tunnel
  }

  static func command(_ prefix: String) -> TunnelPolicy {
    TunnelPolicy(
      name: "ssl",
      provider: .command(CommandProviderConfiguration(up: ["up"], down: ["down"], status: ["status"], interface: "vpn0")),
      onDemand: OnDemand(rules: rules, timing: Timing(releaseDelay: .zero)), routes: RoutePolicy(include: [Sample.prefix(prefix)]),
      location: Sample.place())
  }

  static func split(_ prefix: String) -> TunnelPolicy {
    Sample.tunnel(rules: rules, routes: RoutePolicy(include: [Sample.prefix(prefix)]), dns: dns)
  }

  static func armed(_ prefix: String, _ killSwitch: KillSwitch = .off) -> TunnelPolicy {
    let names = ConnectionRule(domains: [Sample.pattern("corp.example")], action: .connectAlways, location: Sample.place())
    var tunnel = Sample.tunnel(
      rules: [rules[0], Rule(action: .evaluateConnection, connections: [names], location: Sample.place())],
      wireGuard: Sample.wireGuard(keepalive: 25), routes: RoutePolicy(include: [Sample.prefix(prefix)]),
      dns: DNSPolicy(servers: dns.servers, matchDomains: [Sample.pattern("corp.example")]))
    tunnel.killSwitch = killSwitch
    return tunnel
  }

  /// A tunnel that takes everything, so that it cannot be armed: `corp.example` starts it always, `lab.example` if needed, and
  /// `public.corp.example` never.
  static func watched(idle: Duration? = nil, class precedence: TunnelClass = .personal) -> TunnelPolicy {
    func entry(_ domain: String, _ action: ConnectionRule.Action) -> ConnectionRule {
      ConnectionRule(domains: [Sample.pattern(domain)], action: action, location: Sample.place())
    }
    var tunnel = full(.off)
    tunnel.precedence = precedence
    tunnel.onDemand.rules = [
      rules[0],
      Rule(
        action: .evaluateConnection,
        connections: [
          entry("public.corp.example", .neverConnect), entry("corp.example", .connectAlways), entry("lab.example", .connectIfNeeded),
        ], location: Sample.place()),
    ]
    tunnel.onDemand.timing.idle = idle
    return tunnel
  }

  static let resolved = ObservedResolver(facts: ResolverFacts(target: "/run/systemd/resolve/stub-resolv.conf", resolved: .value(true)))

  static let all = [
    DayOut(testDescription: "split tunnel", policies: [split("10.0.0.0/8")], changed: [split("10.5.0.0/16")]),
    DayOut(
      testDescription: "split tunnel in user space", policies: [split("10.0.0.0/8")], changed: [split("10.5.0.0/16")],
      engine: .engine(.userspace)),
    DayOut(testDescription: "full tunnel", policies: [full(.off)], changed: [full(.off, excluding: [Sample.prefix("192.0.2.0/24")])]),
    DayOut(
      testDescription: "kill switch", policies: [full(.on)], changed: [full(.on, excluding: [Sample.prefix("198.18.0.0/15")])]),
    DayOut(
      testDescription: "kill switch for always", policies: [full(.always)],
      changed: [full(.always, excluding: [Sample.prefix("198.18.0.0/15")])]),
    DayOut(testDescription: "command", policies: [command("10.99.0.0/16")], changed: [command("10.98.0.0/16")]),
    DayOut(
      testDescription: "two tunnels", policies: [split("10.0.0.0/8"), command("10.99.0.0/16")],
      changed: [split("10.5.0.0/16"), command("10.98.0.0/16")]),
    DayOut(
      testDescription: "systemd-resolved", policies: [split("10.0.0.0/8")], changed: [split("10.5.0.0/16")],
      keepers: ObservedResolver(facts: ResolverFacts(target: "/run/systemd/resolve/stub-resolv.conf", resolved: .value(true)))),
    DayOut(
      testDescription: "resolvconf", policies: [split("10.0.0.0/8")], changed: [split("10.5.0.0/16")],
      keepers: ObservedResolver(facts: ResolverFacts(target: "/run/resolvconf/resolv.conf", resolvconf: .debian, hasRecord: true))),
    DayOut(
      testDescription: "armed tunnel", policies: [armed("10.0.0.0/8")], changed: [armed("10.0.0.0/16")], keepers: resolved),
    DayOut(
      testDescription: "armed tunnel in user space that is used", policies: [armed("10.0.0.0/8")], changed: [armed("10.0.0.0/16")],
      engine: .engine(.userspace), keepers: resolved, sendsPackets: true),
    DayOut(
      testDescription: "armed tunnel with a kill switch, without split DNS", policies: [armed("10.0.0.0/8", .on)],
      changed: [armed("10.0.0.0/16", .on)], sendsPackets: true),
    DayOut(testDescription: "look-ups by the file", policies: [watched()], changed: [watched(idle: .seconds(3600))], looksUp: true),
    DayOut(
      testDescription: "look-ups by systemd-resolved", policies: [watched()], changed: [watched(idle: .seconds(3600))], keepers: resolved,
      looksUp: true),
  ]

  /// Those whose name servers come with a tunnel. Look-ups are watched, by a name server of ours, while the tunnel is down.
  static let withoutLookups = all.filter { !$0.looksUp }
}

/// The wanted state at each place of a day, computed once.
final class Expectations {
  private var known: [String: ObservedState] = [:]

  func state(after run: DayOutRun) -> ObservedState {
    let isChanged = run.machine.policies.tunnels == run.day.changed
    let key = "\(isChanged) \(run.machine.network.primaryLink?.ssid.value??.description ?? "")"
    if let state = known[key] { return state }
    let state = run.expected()
    known[key] = state
    return state
  }
}

/// A day out that can be broken off.
final class DayOutRun {
  let day: DayOut
  let life: WatchedAgent
  var machine: SimulatedMachine { life.machine }

  init(_ day: DayOut, fuse: Int? = nil) {
    self.day = day
    life = WatchedAgent(on: DayOut.home)
    machine.policies = PolicySet(tunnels: day.policies)
    machine.engine = day.engine
    if day.keepers != ObservedResolver() { machine.state.keepResolver(day.keepers, file: .untouchable(reason: "a link")) }
    if day.looksUp { machine.state.installNameServer() }
    machine.fuse = fuse.map { Fuse($0) }
  }

  private var acts: [(DayOutRun) -> Void] {
    [
      { $0.life.start() },
      { $0.life.move(to: DayOut.cafe) },
      { $0.sendPacket() },
      { $0.life.move(to: DayOut.hotel) },
      { run in
        run.machine.policies = PolicySet(tunnels: run.day.changed)
        run.life.agent.policiesChanged()
        run.machine.run(for: .seconds(1))
      },
      { $0.life.move(to: DayOut.home) },
      { $0.life.move(to: DayOut.cafe) },
      { run in
        run.life.agent.stop {}
        run.machine.run(for: .seconds(5))
      },
    ]
  }

  /// Lives through it, to the end or to the agent's death.
  func go() { for act in acts where !machine.isAgentDead { act(self) } }

  var isGuarding: Bool { if case .table(_, _, isGuarding: true) = machine.state.observed.firewall { true } else { false } }

  /// A new agent on the same machine.
  func restart() -> Agent {
    let agent = Agent(platform: machine.platform, settle: .milliseconds(500))
    agent.start()
    machine.run(for: .seconds(30))
    sendPacket()
    return agent
  }

  /// A program sends a packet into the tunnel, if the day has such.
  func sendPacket() {
    guard day.sendsPackets || day.looksUp else { return }
    if let name = DomainName("git.corp.example"), day.looksUp { machine.lookUp(name) } else { machine.sendPacket(into: "corp") }
    machine.run(for: .seconds(1))
  }

  /// The state that a fresh agent makes of a fresh machine in the same place.
  func expected() -> ObservedState {
    let other = DayOutRun(day)
    other.machine.policies = machine.policies
    other.machine.network = machine.network
    other.life.start(for: .seconds(30))
    other.sendPacket()
    return other.machine.state.observed.comparable
  }

  func stop(_ agent: Agent) -> Bool {
    var isDone = false
    agent.stop { isDone = true }
    machine.run(for: .seconds(30))
    return isDone
  }

  /// Nothing of ours is left anywhere; the firewall apart.
  var isClean: Bool {
    var observed = machine.state.observed
    observed.firewall = .absent
    var before = SimulatedState()
    if day.keepers != ObservedResolver() { before.keepResolver(day.keepers, file: .untouchable(reason: "a link")) }
    if day.looksUp { before.installNameServer() }
    return observed == before.observed && machine.programs.running.isEmpty && machine.disk.startedCommands.isEmpty
      && machine.disk.unfinishedLinks.isEmpty
  }
}

extension ObservedState {
  /// Without what differs from one making to the next: indexes, orders, the times of handshakes.
  var comparable: ObservedState {
    var state = self
    for i in state.kernel.links.indices { state.kernel.links[i].index = Sample.index(1) }
    state.kernel.links.sort { $0.name < $1.name }
    state.kernel.addresses.sort { ($0.link, $0.address) < ($1.link, $1.address) }
    state.kernel.routes.sort { "\($0)" < "\($1)" }
    state.kernel.rules.sort { ($0.priority, $0.family) < ($1.priority, $1.family) }
    for (name, device) in state.wireGuard {
      for i in device.peers.indices { state.wireGuard[name]?.peers[i].lastHandshake = device.peers[i].lastHandshake > 0 ? 1 : 0 }
    }
    return state
  }
}

@Suite("Killed before and after everything that it does") struct FaultInjectionTests {
  /// The number of places is that of an undisturbed day.
  private func places(of day: DayOut) -> Int {
    let run = DayOutRun(day)
    run.go()
    return run.machine.log.places.count
  }

  @Test("the next agent makes what is wanted, the kill switch holding on the way, and leaves nothing", arguments: DayOut.all)
  func restart(_ day: DayOut) {
    let count = places(of: day)
    let expectations = Expectations()
    #expect(count > 40)
    for place in 1...count {
      let run = DayOutRun(day, fuse: place)
      run.go()
      let where_ = "place \(place): \(run.machine.log.places.last ?? "")"
      #expect(run.machine.isAgentDead, "\(where_)")
      let wasGuarding = run.isGuarding
      let before = run.machine.log.applied.count
      let agent = run.restart()
      #expect(run.machine.state.observed.comparable == expectations.state(after: run), "\(where_)")
      let isStillWanted = run.machine.network != DayOut.home || day.policies.contains { $0.killSwitch == .always }
      if wasGuarding, isStillWanted {
        #expect(!run.machine.log.applied[before...].contains(.removeFirewall), "\(where_): opened on the way")
      }
      #expect(run.stop(agent) && run.isClean, "\(where_): left \(run.machine.state.observed)")
    }
  }

  @Test("cleaning up leaves nothing but what the firewall holds back", arguments: DayOut.all)
  func cleanUp(_ day: DayOut) {
    for place in 1...places(of: day) {
      let run = DayOutRun(day, fuse: place)
      run.go()
      let where_ = "place \(place): \(run.machine.log.places.last ?? "")"
      let wasGuarding = run.isGuarding
      var isDone = false
      let agent = Agent(platform: run.machine.platform, settle: .milliseconds(500))
      agent.cleanUp { isDone = true }
      run.machine.run(for: .seconds(30))
      #expect(isDone && run.isClean, "\(where_): left \(run.machine.state.observed)")
      #expect(run.isGuarding == wasGuarding, "\(where_): the firewall")
    }
  }

  @Test("one that is killed again and again while it recovers recovers in the end, and never opens the firewall", arguments: DayOut.all)
  func crashLoop(_ day: DayOut) {
    let count = places(of: day)
    let expectations = Expectations()
    for place in stride(from: 3, through: count, by: 11) {
      let run = DayOutRun(day, fuse: place)
      run.go()
      let wasGuarding = run.isGuarding
      var guarded = true
      for attempt in [1, 2, 3, 5, 8, 13, 21, 34] {
        run.machine.fuse = Fuse(run.machine.log.places.count + attempt)
        _ = run.restart()
        if wasGuarding, run.machine.network != DayOut.home { guarded = guarded && run.isGuarding }
      }
      #expect(guarded, "place \(place)")
      run.machine.fuse = nil
      let agent = run.restart()
      #expect(run.machine.state.observed.comparable == expectations.state(after: run), "place \(place)")
      #expect(run.stop(agent) && run.isClean, "place \(place)")
    }
  }

  @Test("somebody else's link of a name that was only noted is left alone") func foreignLink() {
    let run = DayOutRun(DayOut.all[0])
    run.machine.disk.unfinishedLinks = ["corp"]
    run.machine.state.apply([
      .addWireGuardLink("corp", .kernel), .addAddress(Sample.own("192.0.2.7/32"), link: "corp"), .setUp(link: "corp"),
    ])
    let before = run.machine.state.observed
    let agent = run.restart()
    run.machine.network = DayOut.cafe
    agent.networkChanged()
    run.machine.run(for: .seconds(5))
    #expect(run.machine.state.observed == before && run.machine.log.applied.isEmpty)
    #expect(agent.status(at: 0, process: 1).tunnels.first?.failure?.contains("is not Roamward's") == true)
  }
}
