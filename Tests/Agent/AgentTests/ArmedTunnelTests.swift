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

/// An agent with an armed tunnel, whose gateway and packets are modelled.
private final class ArmedLife {
  let agent: WatchedAgent
  let model: WireGuardModel
  private(set) var state = "disconnected"
  private(set) var hasPacketCome = false
  /// Datagrams that left while the tunnel was armed and no program had sent a packet.
  private(set) var violations: [Moment] = []
  private(set) var launched = 0

  init(seed: UInt64, _ tunnel: TunnelPolicy = DayOut.armed("10.0.0.0/8"), engine: EngineChoice = .engine(.kernel)) {
    agent = WatchedAgent(tunnel, on: DayOut.cafe)
    model = WireGuardModel(seed: seed)
    model.sendsFirstPackets = true
    machine.peers = model
    machine.engine = engine
    machine.state.keepResolver(DayOut.resolved, file: .untouchable(reason: "a link"))
    model.whenSent = { [unowned self] in
      hasPacketCome = true
      machine.recordPacket(on: "corp")
    }
    model.whenLaunched = { [unowned self] in
      launched += 1
      if state == "armed", !hasPacketCome { violations.append(machine.now) }
    }
    agent.whenTold = { [unowned self] event in
      guard case .state(_, _, let to, _, _) = event else { return }
      state = to
      if to == "armed" { hasPacketCome = false }
    }
  }

  var machine: SimulatedMachine { agent.machine }

  /// Programs send a packet into the tunnel now, and get an answer or not.
  func send(_ bytes: Int = 84) {
    model.send(bytes, at: [machine.now + .milliseconds(1)])
    machine.run(for: .seconds(1))
  }
}

@Suite("An armed tunnel") struct ArmedTunnelTests {
  @Test("is in place and silent; the first packet connects it, and after the idle time it is armed again", arguments: [true, false])
  func life(isKernel: Bool) throws {
    let life = ArmedLife(seed: 1, engine: .engine(isKernel ? .kernel : .userspace))
    life.agent.start()
    #expect(try life.agent.tunnel().state == "armed")
    let kernel = life.machine.state.observed.kernel
    #expect(kernel.routes.contains { $0.destination == Sample.prefix("10.0.0.0/8") && $0.link == "corp" } && !kernel.rules.isEmpty)
    #expect(life.machine.state.observed.resolver.links["corp"]?.servers == [Sample.address("10.0.0.53")])
    #expect(life.machine.state.observed.wireGuard["corp"]?.peers.map(\.persistentKeepalive) == [0])
    life.machine.run(for: .seconds(3600))
    #expect(life.launched == 0 && life.agent.status.nextWake == nil, "no datagram and no wake-up")
    let (samples, looks) = (life.machine.log.samples, life.machine.log.observations)
    life.machine.run(for: .seconds(3600))
    #expect(life.machine.log.samples == samples && life.machine.log.observations == looks)
    life.send()
    #expect(try life.agent.tunnel().state == "connected")
    #expect(life.machine.state.observed.wireGuard["corp"]?.peers.map(\.persistentKeepalive) == [25])
    life.machine.run(for: .seconds(290))
    #expect(try life.agent.tunnel().state == "connected")
    life.machine.run(for: .seconds(40))
    #expect(try life.agent.tunnel().state == "armed")
    #expect(life.machine.state.observed.wireGuard["corp"]?.peers.map(\.lastHandshake) == [0], "the session is discarded")
    #expect(life.agent.states == ["corp armed", "corp connecting", "corp connected", "corp armed"].withStart)
    let before = life.launched
    life.machine.run(for: .seconds(3600))
    #expect(life.launched == before && life.violations.isEmpty)
    #expect(try life.agent.preview.plan.isEmpty)
  }

  @Test("sends nothing on any other network, without one, and after sleep") func roams() throws {
    let life = ArmedLife(seed: 2)
    life.agent.start()
    for network in [DayOut.hotel, NetworkSnapshot(), DayOut.cafe, NetworkSnapshot(), DayOut.hotel] {
      life.agent.move(to: network)
      life.machine.sleep(for: .seconds(7200))
      life.agent.agent.woke()
      life.machine.run(for: .seconds(60))
      #expect(try life.agent.tunnel().state == "armed")
      #expect(life.machine.state.observed.kernel.routes.contains { $0.link == "corp" }, "unreachable, not outside")
    }
    #expect(life.launched == 0)
    life.send()
    #expect(try life.agent.tunnel().state == "connected")
    life.agent.move(to: DayOut.home)
    #expect(try life.agent.tunnel().state == "disconnected" && life.machine.state.observed.kernel.routes.isEmpty)
  }

  @Test("whose gateway does not answer is not connected, says so, and is armed again with its routes in place") func unanswered() throws {
    let life = ArmedLife(seed: 3)
    life.model.loss = (1, 1)
    life.agent.start()
    life.send()
    #expect(try life.agent.tunnel().state == "connecting")
    life.machine.run(for: .seconds(16))
    let tunnel = try life.agent.tunnel()
    #expect(tunnel.state == "armed" && tunnel.failureCode == .peerTimeout)
    #expect(tunnel.failure == "a packet asked for it, and the peer did not answer within 15 s; armed again")
    #expect(life.machine.state.observed.kernel.routes.contains { $0.link == "corp" })
    let before = life.launched
    life.machine.run(for: .seconds(600))
    #expect(life.launched == before, "it does not go on asking")
    life.model.loss = (0, 0)
    life.send()
    #expect(try life.agent.tunnel().state == "connected" && life.agent.tunnel().failure == nil)
  }

  @Test("that is up by hand stays up while nothing is sent, and is armed again after the override") func override() throws {
    let life = ArmedLife(seed: 4)
    life.agent.start()
    try life.agent.agent.override("corp", OverrideRequest(wantsUp: true, until: .resume))
    life.machine.run(for: .seconds(2))
    #expect(try life.agent.tunnel().state == "connected")
    life.machine.run(for: .seconds(7200))
    #expect(try life.agent.tunnel().state == "connected")
    try life.agent.agent.resume("corp")
    life.machine.run(for: .seconds(200))
    #expect(try life.agent.tunnel().state == "connected", "the idle time begins with the end of the override")
    life.machine.run(for: .seconds(200))
    #expect(try life.agent.tunnel().state == "armed" && life.violations.isEmpty)
  }

  @Test("whose gateway has a name is armed also where the name is not resolved, and the packet after the look-up comes through")
  func unresolvedName() throws {
    var tunnel = DayOut.armed("10.0.0.0/8")
    tunnel.provider = .wireGuard(
      WireGuardProviderConfiguration(path: "/etc/corp.conf", configuration: Sample.wireGuard(endpoint: "vpn.corp.example:51820")))
    let life = WatchedAgent(tunnel, on: DayOut.cafe)
    life.machine.state.keepResolver(DayOut.resolved, file: .untouchable(reason: "a link"))
    life.start(for: .seconds(100))
    #expect(try life.tunnel().state == "armed" && life.machine.state.observed.wireGuard["corp"]?.peers.first?.endpoint == nil)
    life.machine.sendPacket(into: "corp")
    life.machine.run(for: .seconds(100))
    #expect(try life.tunnel().state == "armed")
    // The portal opens: the next packet has the name looked up, and the one after it a session.
    life.machine.dns.otherNames = Sample.address("203.0.113.10")
    for _ in 0..<2 {
      life.machine.sendPacket(into: "corp")
      life.machine.run(for: .seconds(30))
    }
    #expect(try life.tunnel().state == "connected")
  }

  @Test("without split DNS leaves the names to the network, and says so") func noSplitDNS() throws {
    let life = WatchedAgent(DayOut.armed("10.0.0.0/8"), on: DayOut.cafe)
    life.start()
    let tunnel = try life.tunnel()
    #expect(tunnel.state == "armed" && life.machine.state.observed.resolvConf == .file(SimulatedState.hostResolvConf))
    #expect(tunnel.notes.contains { $0.text.hasPrefix("no look-up brings it up while it is armed") })
    #expect(tunnel.notes.contains { $0.text.hasPrefix("armed: comes up at the first packet; until its gateway answers, 10.0.0.0/8 ") })
    #expect(!life.events.contains { if case .warning(let remark) = $0 { remark.code == .armed } else { false } }, "no warning")
  }

  @Test("where packets cannot be noticed is looked at every 20 s") func noWatch() throws {
    let life = ArmedLife(seed: 5)
    life.machine.noticesPackets = false
    life.agent.start()
    life.send()
    life.machine.run(for: .seconds(21))
    #expect(try life.agent.tunnel().state == "connected")
  }

  @Test("packets that begin no session wake the agent ever less often") func vainPackets() throws {
    let life = ArmedLife(seed: 6)
    life.agent.start()
    let before = life.machine.log.observations
    for _ in 0..<6000 {
      life.machine.recordPacket(on: "corp")
      life.machine.run(for: .milliseconds(100))
    }
    #expect(life.machine.log.observations - before <= 80 && life.launched == 0)
  }

  @Test("gives way to an enterprise tunnel that is wanted, and is armed again after it") func exclusion() throws {
    var armed = DayOut.armed("10.0.0.0/8")
    armed.precedence = .enterprise
    let other = Sample.tunnel(
      "lab", rules: [Sample.rule(.ssid([Sample.ssid("Hotel")]), .connect), Sample.rule(.always, .disconnect)],
      precedence: .enterprise)
    let life = WatchedAgent(armed, other, on: DayOut.cafe)
    life.start()
    #expect(try life.tunnel().state == "armed")
    life.move(to: DayOut.hotel)
    #expect(try life.tunnel().state == "disconnected" && life.tunnel("lab").state == "connected")
    life.move(to: DayOut.cafe)
    life.machine.run(for: .seconds(5))
    #expect(try life.tunnel().state == "armed")
  }

  @Test("goes down when its policy includes a public prefix") func becomesPublic() throws {
    let life = WatchedAgent(DayOut.armed("10.0.0.0/8"), on: DayOut.cafe)
    life.start()
    life.policiesChange(to: DayOut.armed("198.51.100.0/24"))
    #expect(try life.tunnel().state == "disconnected" && life.machine.state.observed.kernel.routes.isEmpty)
  }

  /// `LIVES` in the environment takes more of them.
  private static let lives = (getenv("LIVES").flatMap { UInt64(String(cString: $0)) } ?? 8) * 5

  @Test("lives at random: no datagram while it is armed, armed again after the idle time, and never while held up", arguments: 0..<lives)
  func randomLife(_ seed: UInt64) throws {
    var dice = SplitMix64(seed: seed)
    var tunnel = DayOut.armed("10.0.0.0/8", seed % 3 == 0 ? .on : .off)
    tunnel.onDemand.timing.idle = .seconds([60, 300, 1200][Int(seed % 3)])
    let life = ArmedLife(seed: seed, tunnel, engine: .engine(seed % 2 == 0 ? .kernel : .userspace))
    life.agent.start()
    var isHeldUp = false
    for act in 0..<60 {
      switch Int.random(in: 0..<12, using: &dice) {
      case 0..<3: life.agent.move(to: try #require([DayOut.cafe, DayOut.hotel, DayOut.cafe, DayOut.home].randomElement(using: &dice)))
      case 3:
        life.agent.move(to: NetworkSnapshot())
        life.machine.run(for: .seconds(Int64.random(in: 0...900, using: &dice)))
        life.agent.move(to: DayOut.cafe)
      case 4..<7: life.send([40, 84, 1000][Int.random(in: 0..<3, using: &dice)])
      case 7: life.model.loss = Bool.random(using: &dice) ? (0, 0) : (1, 1)
      case 8:
        life.machine.sleep(for: .seconds(Int64.random(in: 0...7200, using: &dice)))
        life.agent.agent.woke()
      case 9:
        isHeldUp.toggle()
        if isHeldUp {
          try life.agent.agent.override("corp", OverrideRequest(wantsUp: true, until: .resume))
        } else {
          try life.agent.agent.resume("corp")
        }
      default: break
      }
      let count = life.agent.states.count
      life.machine.run(for: .milliseconds(Int64.random(in: 0...120_000, using: &dice)))
      if isHeldUp { #expect(!life.agent.states[count...].contains("corp armed"), "seed \(seed), act \(act)") }
      #expect(life.violations.isEmpty, "seed \(seed), act \(act)")
      if try life.agent.tunnel().state == "armed" {
        #expect(life.machine.state.observed.kernel.routes.contains { $0.link == "corp" }, "seed \(seed), act \(act)")
        #expect(life.machine.state.observed.wireGuard["corp"]?.peers.map(\.persistentKeepalive) == [0], "seed \(seed), act \(act)")
      }
    }
    if isHeldUp { try life.agent.agent.resume("corp") }
    life.model.loss = (0, 0)
    life.agent.move(to: DayOut.cafe)
    life.send()
    // Also a tunnel that waits after failures: longer than its longest pause.
    life.machine.run(for: .seconds(80))
    life.send()
    #expect(try life.agent.tunnel().state == "connected", "seed \(seed)")
    life.machine.run(for: tunnel.idleInForce + .seconds(60))
    #expect(try life.agent.tunnel().state == "armed", "seed \(seed)")
    let before = life.launched
    life.machine.run(for: .seconds(3600))
    #expect(life.launched == before && life.violations.isEmpty, "seed \(seed)")
    var isDone = false
    life.agent.agent.stop { isDone = true }
    life.machine.run(for: .seconds(10))
    let left = life.machine.state.observed
    #expect(isDone && left.kernel == SimulatedState().observed.kernel && left.wireGuard.isEmpty && left.resolver.links.isEmpty)
  }
}

extension [String] {
  /// With the states on the way to the first one.
  fileprivate var withStart: [String] { ["corp connecting"] + self }
}
