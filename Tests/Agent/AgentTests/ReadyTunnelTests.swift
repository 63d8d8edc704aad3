import AgentCore
import ControlProtocol
import Glibc
import KernelModel
import LinuxPlatform
import NetworkTypes
import RoamwardCore
import SeededRandom
import Simulation
import TestKit
import Testing

/// An agent with tunnels that look-ups start, on a host with our name server; the gateway of `corp` is modelled.
private final class ReadyLife {
  let agent: WatchedAgent
  let model: WireGuardModel
  private(set) var state = "disconnected"
  /// Datagrams that left while the tunnel was down.
  private(set) var violations: [Moment] = []
  private(set) var launched = 0

  init(seed: UInt64 = 1, _ tunnels: TunnelPolicy..., engine: EngineChoice = .engine(.userspace)) {
    agent = WatchedAgent(on: DayOut.cafe)
    model = WireGuardModel(seed: seed)
    machine.policies = PolicySet(tunnels: tunnels.isEmpty ? [DayOut.watched(idle: .seconds(60))] : tunnels)
    machine.engine = engine
    machine.state.installNameServer()
    machine.peers = model
    model.whenLaunched = { [unowned self] in
      launched += 1
      if state == "disconnected" { violations.append(machine.now) }
    }
    agent.whenTold = { [unowned self] event in if case .state("corp", _, let to, _, _) = event { state = to } }
  }

  var machine: SimulatedMachine { agent.machine }

  func lookUp(_ name: String = "git.corp.example") {
    if let name = DomainName(name) { machine.lookUp(name) }
    machine.run(for: .seconds(1))
  }

  /// Whether the link is there and up, and nothing else: no peer, no address, and nothing that leads into it.
  func isReady(_ link: String = "corp") -> Bool {
    let observed = machine.state.observed
    guard let found = observed.kernel.link(named: link), let device = observed.wireGuard[link] else { return false }
    return found.isUp && device.peers.isEmpty && !observed.kernel.addresses.contains { $0.link == link } && !leads(into: link)
  }

  func leads(into link: String) -> Bool {
    let observed = machine.state.observed
    return observed.kernel.routes.contains { $0.link == link } || observed.resolver.links[link] != nil
  }

  var links: [String] { machine.state.observed.kernel.links.map(\.name).sorted() }
}

@Suite("A device that is ready for a look-up") struct ReadyTunnelTests {
  private static func named(_ names: String..., class precedence: TunnelClass = .personal) -> [TunnelPolicy] {
    names.map { name in
      var tunnel = DayOut.watched(class: precedence)
      tunnel.name = name
      return tunnel
    }
  }

  @Test(
    "is up, without a peer, an address and a way into it; it sends nothing, wakes nobody, and the tunnel is down", arguments: [true, false])
  func rests(isKernel: Bool) throws {
    let life = ReadyLife(engine: .engine(isKernel ? .kernel : .userspace))
    life.agent.start()
    #expect(life.isReady() && life.machine.state.observed.kernel.rules.isEmpty && life.machine.state.observed.firewall == .absent)
    let tunnel = try life.agent.tunnel()
    #expect(tunnel.state == "disconnected" && !tunnel.isWanted && tunnel.link == "corp" && tunnel.failure == nil && tunnel.timers.isEmpty)
    #expect(tunnel.notes.contains { $0.text.hasSuffix("; its link corp is ready, without a peer, an address and a route") })
    #expect(life.agent.states == [] && life.agent.status.nextWake == nil)
    let (samples, looks) = (life.machine.log.samples, life.machine.log.observations)
    life.machine.run(for: .seconds(7200))
    #expect(life.launched == 0 && life.machine.log.samples == samples && life.machine.log.observations == looks)
    #expect(try life.agent.preview.plan.isEmpty)
  }

  @Test("is opened by the look-up: no link is made, and the sessions of its end are gone before the next") func opens() throws {
    let life = ReadyLife()
    life.agent.start()
    for _ in 0..<2 {
      let before = life.machine.log.applied.count
      life.lookUp()
      #expect(life.state == "connected")
      let steps = life.machine.log.applied[before...]
      #expect(!steps.contains { if case .addWireGuardLink = $0 { true } else { false } })
      #expect(life.machine.state.observed.kernel.addresses.contains { $0.link == "corp" } && life.leads(into: "corp"))
      life.machine.run(for: .seconds(100))
      #expect(life.state == "disconnected" && life.isReady() && life.machine.state.observed.kernel.rules.isEmpty)
      // Packets that the gateway still sends start nothing.
      let launched = life.launched
      life.machine.run(for: .seconds(600))
      #expect(life.launched == launched && life.violations.isEmpty)
    }
    let once = ["connecting", "connected", "disconnecting", "disconnected"]
    #expect(life.agent.states == (once + once).map { "corp \($0)" })
  }

  @Test("goes with its reason: down by hand, a network that needs no tunnel, another rule, another policy, the end of the agent")
  func goes() throws {
    let life = ReadyLife()
    life.agent.start()
    try life.agent.agent.override("corp", OverrideRequest(wantsUp: false, until: .resume))
    life.machine.run(for: .seconds(1))
    #expect(life.links == [])
    try life.agent.agent.resume("corp")
    life.machine.run(for: .seconds(1))
    #expect(life.isReady())
    life.agent.move(to: DayOut.home)
    #expect(life.links == [])
    life.agent.move(to: DayOut.hotel)
    #expect(life.isReady())
    life.agent.move(to: NetworkSnapshot())
    #expect(life.isReady(), "its names are watched between two networks too")
    life.agent.move(to: DayOut.cafe)
    var other = DayOut.watched()
    other.onDemand.rules[1].action = .ignore
    life.agent.policiesChange(to: other)
    #expect(life.links == [])
    life.agent.policiesChange(to: DayOut.watched())
    #expect(life.isReady())
    life.agent.policiesChange()
    #expect(life.links == [])
    life.agent.policiesChange(to: DayOut.watched())
    var isDone = false
    life.agent.agent.stop { isDone = true }
    life.machine.run(for: .seconds(10))
    #expect(isDone && life.links == [] && life.launched == 0 && life.agent.states == [])
  }

  @Test("another port or key of the same tunnel is another device") func changes() throws {
    let life = ReadyLife()
    life.agent.start()
    var other = DayOut.watched()
    other.provider = .wireGuard(
      WireGuardProviderConfiguration(path: "/etc/corp.conf", configuration: Sample.wireGuard(allowed: ["0.0.0.0/0"], keepalive: 25)))
    life.agent.policiesChange(to: other)
    #expect(life.isReady())
    life.lookUp()
    #expect(life.state == "connected")
    #expect(life.machine.state.observed.wireGuard["corp"]?.peers.map(\.persistentKeepalive) == [25])
  }

  @Test("at most four at a time, in the order of the policies; the next one starts as any tunnel does") func atMostFour() throws {
    let life = ReadyLife()
    life.machine.policies = PolicySet(tunnels: Self.named("a", "b", "c", "d", "e"))
    life.agent.start()
    #expect(life.links == ["a", "b", "c", "d"] && life.links.allSatisfy(life.isReady))
    life.machine.run(for: .seconds(10))
    #expect(life.machine.isEngineReady, "for the fifth")
    #expect(try life.agent.tunnel("e").state == "disconnected")
    try life.agent.agent.override("a", OverrideRequest(wantsUp: false, until: .resume))
    life.machine.run(for: .seconds(1))
    #expect(life.links == ["b", "c", "d", "e"])
  }

  @Test("no process of the engine waits beside it, unless another WireGuard tunnel is down") func waitingProcess() throws {
    let life = ReadyLife()
    life.agent.start(for: .seconds(5))
    #expect(life.isReady() && !life.machine.isEngineReady)
    life.agent.policiesChange(to: DayOut.watched(), Sample.tunnel("lab", rules: [Sample.rule(.always, .disconnect)]))
    life.machine.run(for: .seconds(5))
    #expect(life.isReady() && life.machine.isEngineReady && life.links == ["corp"])
  }

  @Test("neither through another tunnel, nor where no look-up can start it, nor where its kill switch counts it as wanted") func notAlways()
    throws
  {
    var inner = DayOut.watched()
    inner.name = "inner"
    inner.through = OuterTunnel("lab", location: Sample.place())
    let outer = Sample.tunnel("lab", rules: [Sample.rule(.always, .ignore)])
    let life = ReadyLife()
    life.machine.policies = PolicySet(tunnels: [inner, outer])
    life.agent.start()
    #expect(life.links == [])
    let bare = WatchedAgent(DayOut.watched(), on: DayOut.cafe)
    bare.start()
    #expect(bare.machine.state.observed.kernel.links.isEmpty, "no name server")
    var guarded = DayOut.watched()
    guarded.killSwitch = .on
    let other = ReadyLife(seed: 1, guarded)
    other.agent.start()
    #expect(other.isReady() && other.agent.status.firewall.guards == [] && other.machine.state.observed.firewall == .absent)
  }

  @Test("of two enterprise tunnels both are ready; while one is up the other stays ready, and no look-up starts it") func exclusion() throws
  {
    let life = ReadyLife()
    life.machine.policies = PolicySet(tunnels: Self.named("corp", "lab", class: .enterprise))
    life.agent.start()
    #expect(life.isReady("corp") && life.isReady("lab"))
    life.lookUp()
    #expect(try life.agent.tunnel("corp").state == "connected" && life.agent.tunnel("lab").state == "disconnected" && life.isReady("lab"))
    #expect(try life.agent.tunnel("lab").reason.hasPrefix("enterprise tunnel corp comes first"))
  }

  @Test("a link that somebody deletes is made again at once, and after the next times ever later") func deleted() throws {
    let life = ReadyLife()
    life.agent.start()
    var made = 0
    life.machine.whenApplied = { if case .addWireGuardLink = $0 { made += 1 } }
    var count = 0
    for second in 0..<120 {
      if life.links.contains("corp") {
        life.machine.state.apply([.deleteLink("corp", .userspace)])
        life.agent.agent.damaged()
        count += 1
      }
      life.machine.run(for: .seconds(1))
      #expect(try life.agent.tunnel().state == "disconnected", "second \(second)")
    }
    #expect((4...10).contains(count) && life.launched == 0)
    #expect(life.agent.failures.contains { $0.contains("its link is gone") })
    life.machine.run(for: .seconds(90))
    #expect(life.isReady())
    life.lookUp()
    #expect(life.state == "connected")
  }

  @Test("where it cannot be made, that is said and tried again, and a look-up starts the tunnel as ever") func failing() throws {
    let life = ReadyLife()
    var isRefused = true
    life.machine.failingSteps = { step in if case .setUp(link: "corp") = step, isRefused { "no" } else { nil } }
    life.agent.start(for: .seconds(30))
    let tunnel = try life.agent.tunnel()
    #expect(tunnel.state == "disconnected" && tunnel.failureCode == .stepFailed && life.agent.states == [])
    isRefused = false
    life.lookUp()
    life.machine.run(for: .seconds(5))
    #expect(life.state == "connected")
  }

  @Test("its gateway's name is resolved on each network; the look-up uses that address at once, and asks again") func names() throws {
    var tunnel = DayOut.watched(idle: .seconds(60))
    let configuration = Sample.wireGuard(allowed: ["0.0.0.0/0", "::/0"], endpoint: "vpn.corp.example:51820")
    tunnel.provider = .wireGuard(WireGuardProviderConfiguration(path: "/etc/corp.conf", configuration: configuration))
    let life = ReadyLife(seed: 1, tunnel)
    life.machine.dns.otherNames = Sample.address("203.0.113.10")
    life.agent.start()
    #expect(life.isReady() && life.machine.dns.lookups.count == 1)
    life.machine.dns.otherNames = Sample.address("203.0.113.20")
    life.agent.move(to: DayOut.hotel)
    #expect(life.isReady() && life.machine.dns.lookups.count == 2)
    // Without an answer of the name server, the address is that of the network.
    life.machine.dns.otherNames = nil
    life.lookUp()
    #expect(life.state == "connected" && life.machine.dns.lookups.count >= 3)
    #expect(life.machine.state.observed.wireGuard["corp"]?.peers.first?.endpoint?.address == Sample.address("203.0.113.20"))
    #expect(life.violations.isEmpty)
  }

  @Test("without the address of its gateway, a look-up resolves the name first, and says if that fails") func unresolved() throws {
    var tunnel = DayOut.watched(idle: .seconds(60))
    let configuration = Sample.wireGuard(allowed: ["0.0.0.0/0", "::/0"], endpoint: "vpn.corp.example:51820")
    tunnel.provider = .wireGuard(WireGuardProviderConfiguration(path: "/etc/corp.conf", configuration: configuration))
    let life = ReadyLife(seed: 1, tunnel)
    life.agent.start()
    #expect(try life.isReady() && life.agent.tunnel().failure == nil)
    life.lookUp()
    #expect(life.agent.failures.contains { $0.contains("vpn.corp.example cannot be resolved") })
    life.machine.dns.otherNames = Sample.address("203.0.113.10")
    life.machine.run(for: .seconds(5))
    #expect(life.state == "connected")
  }

  @Test("a plan on a machine without an agent makes it, and takes the one that a killed agent has left for what it is") func plans() throws
  {
    let life = ReadyLife()
    var choice = ResolverFacts()
    choice.nameServer = .value(true)
    var observed = ObservedState(resolvConf: .file(SimulatedState.hostResolvConf))
    observed.resolver.facts = choice
    func preview(_ inputs: PlanInputs = PlanInputs()) -> PlanPreview {
      let tunnels = DesiredTunnels(life.machine.policies, on: DayOut.cafe, inputs, in: observed, engine: .userspace)
      return PlanPreview(of: tunnels, from: observed, others: OtherVPNs())
    }
    let steps = preview().plan.steps
    #expect(steps.contains(.addWireGuardLink("corp", .userspace)) && steps.contains(.setUp(link: "corp")))
    #expect(!steps.contains { [.routes, .rules].contains($0.stage) } && preview().actions.isEmpty)
    #expect(preview().remarks.contains { $0.description.contains("its link corp is ready") })
    life.agent.start()
    observed = life.machine.state.observed
    #expect(preview().plan.isEmpty && preview(PlanInputs(life.agent.status, isSameNetwork: true)).plan.isEmpty)
  }

  /// `LIVES` in the environment takes more of them.
  private static let lives = (getenv("LIVES").flatMap { UInt64(String(cString: $0)) } ?? 8) * 5

  @Test("lives at random: while it is down nothing is sent and nothing leads into it, and in the end nothing is left", arguments: 0..<lives)
  func randomLife(_ seed: UInt64) throws {
    var dice = SplitMix64(seed: seed)
    var tunnel = DayOut.watched(idle: seed % 4 == 0 ? nil : .seconds(60))
    tunnel.killSwitch = seed % 3 == 0 ? .on : .off
    let life = ReadyLife(seed: seed, tunnel, engine: .engine(seed % 2 == 0 ? .kernel : .userspace))
    life.agent.start()
    var held: Bool?
    for act in 0..<60 {
      switch Int.random(in: 0..<14, using: &dice) {
      case 0..<3: life.agent.move(to: try #require([DayOut.cafe, DayOut.hotel, DayOut.home].randomElement(using: &dice)))
      case 3: life.agent.move(to: NetworkSnapshot())
      case 4..<7: life.lookUp()
      case 7: life.model.loss = Bool.random(using: &dice) ? (0, 0) : (1, 1)
      case 8:
        life.machine.sleep(for: .seconds(Int64.random(in: 0...7200, using: &dice)))
        life.agent.agent.woke()
      case 9:
        if held == nil {
          held = Bool.random(using: &dice)
          try life.agent.agent.override("corp", OverrideRequest(wantsUp: held ?? true, until: .resume))
        } else {
          held = nil
          try life.agent.agent.resume("corp")
        }
      case 10 where life.links.contains("corp"):
        life.machine.state.apply([.deleteLink("corp", .userspace)])
        life.model.remove("corp")
        life.agent.agent.damaged()
      case 11: life.model.send(84, at: [life.machine.now + .milliseconds(1)])
      case 12:
        tunnel.onDemand.timing.idle = Bool.random(using: &dice) ? .seconds(60) : .seconds(300)
        if Bool.random(using: &dice) { tunnel.mtu = .fixed(UInt32.random(in: 1280...1420, using: &dice)) }
        life.agent.policiesChange(to: tunnel)
      default: break
      }
      life.machine.run(for: .milliseconds(Int64.random(in: 0...120_000, using: &dice)))
      let at = "seed \(seed), act \(act), \(life.state)"
      #expect(life.violations.isEmpty, "\(at)")
      guard try life.agent.tunnel().state == "disconnected" else { continue }
      #expect(!life.leads(into: "corp") && life.machine.state.observed.kernel.rules.isEmpty, "\(at)")
      // With a kill switch, it is closed between two networks.
      if tunnel.killSwitch == .off { #expect(life.machine.state.observed.firewall == .absent, "\(at)") }
      #expect(try !life.links.contains("corp") || life.isReady() && !life.agent.tunnel().isWanted, "\(at)")
    }
    if held != nil { try life.agent.agent.resume("corp") }
    life.model.loss = (0, 0)
    life.agent.move(to: DayOut.cafe)
    life.machine.run(for: .seconds(400))
    life.lookUp()
    #expect(life.state == "connected", "seed \(seed)")
    try life.agent.agent.override("corp", OverrideRequest(wantsUp: false, until: .resume))
    life.machine.run(for: .seconds(1))
    #expect(life.links == [])
    try life.agent.agent.resume("corp")
    life.machine.run(for: .seconds(1))
    #expect(life.isReady(), "seed \(seed)")
    let before = life.launched
    life.machine.run(for: .seconds(3600))
    #expect(life.launched == before && life.violations.isEmpty, "seed \(seed)")
    var isDone = false
    life.agent.agent.stop { isDone = true }
    life.machine.run(for: .seconds(10))
    let left = life.machine.state.observed
    #expect(isDone && left.kernel == SimulatedState().observed.kernel && left.wireGuard.isEmpty && left.firewall == .absent)
  }
}
