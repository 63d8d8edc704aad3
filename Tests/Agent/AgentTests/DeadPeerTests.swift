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

/// A tunnel that is connected to a gateway, which may die or be hard to reach, with traffic in it.
private final class ConnectedLife {
  let agent: WatchedAgent
  let model: WireGuardModel
  /// The states that the tunnel entered and its failures, with their moments.
  private(set) var changes: [(at: Moment, what: String)] = []
  static let cafe = Sample.network(Sample.wifi("Cafe", gateway: "198.51.100.1", address: "198.51.100.23/24"))

  init(seed: UInt64, endpoint: String = "203.0.113.10:51820", keepalive: UInt16 = 0) {
    let configuration = Sample.wireGuard(endpoint: endpoint, keepalive: keepalive)
    agent = WatchedAgent(Sample.tunnel(rules: [Sample.rule(.always, .connect)], wireGuard: configuration), on: Self.cafe)
    model = WireGuardModel(seed: seed)
    agent.machine.peers = model
    agent.machine.dns.otherNames = Sample.address("203.0.113.10")
    // Half of the lives are on machines where the agent may not notice packets.
    machine.noticesPackets = seed % 2 == 0
    // Programs of some send multicasts alone: the peer has to answer those too.
    model.whenSent = { [unowned self] in machine.recordPacket(on: "corp", isMulticast: seed % 3 == 1) }
    model.whenArrived = { [unowned self] in machine.recordPacket(on: "corp") }
    agent.whenTold = { [unowned self] event in
      switch event {
      case .state(_, _, let to, _, _): changes.append((machine.now, to))
      case .failure(_, let reason): changes.append((machine.now, "failed: \(reason)"))
      default: break
      }
    }
  }

  var machine: SimulatedMachine { agent.machine }

  func connect() throws {
    agent.start(for: .seconds(2))
    try #require(try agent.tunnel().state == "connected")
    changes = []
  }

  func first(_ what: String) -> Moment? { changes.first { $0.what.hasPrefix(what) }?.at }

  /// Packets from now on, at random distances around `period`, for so long.
  func talk(every period: Duration, for time: Duration, _ random: inout SplitMix64) {
    var moments: [Moment] = []
    var at = machine.now
    let end = at + time
    while true {
      at = at + period * (0.2 + 1.6 * random.unit())
      if at >= end { break }
      moments.append(at)
    }
    model.send([40, 84, 300, 1000][Int(random.next() % 4)], at: moments)
  }

  /// From here on nothing comes through, to the gateway or either way.
  func die(bothWays: Bool) { model.loss = (1, bothWays ? 1 : 0) }
}

@Suite("A gateway that is dead, or only seems to be") struct DeadPeerTests {
  @Test("reasserting within 25 s of the first unanswered packet, failed within 60 s; connected again when it is back", arguments: 0..<8)
  func dies(_ block: Int) throws {
    for seed in UInt64(block * 25)..<UInt64(block * 25 + 25) {
      var random = SplitMix64(seed: seed)
      let life = ConnectedLife(seed: seed, keepalive: seed % 3 == 0 ? 25 : 0)
      try life.connect()
      // Traffic of all densities, up to the death and after it; or silence before it, and a single packet.
      let isSingle = seed % 5 == 0
      let period = Duration.milliseconds([200, 1000, 3000, 6000, 15_000][Int(seed / 5 % 5)])
      let before = Duration.milliseconds(Int64(random.unit() * 400_000))
      if !isSingle { life.talk(every: period, for: before + .seconds(120), &random) }
      life.machine.run(for: before)
      #expect(life.changes.isEmpty, "seed \(seed): \(life.changes)")
      life.die(bothWays: seed % 2 == 0)
      let death = life.machine.now
      if isSingle { life.model.send(84, at: [death + .milliseconds(Int64(random.unit() * 20_000))]) }
      life.machine.run(for: .seconds(100))
      guard let unanswered = life.model.sent.first(where: { death < $0 }) else { continue }
      let doubt = try #require(life.first("reasserting"), "seed \(seed)")
      let failure = try #require(life.first("failed: the peer stopped answering"), "seed \(seed): \(life.changes)")
      #expect(doubt - unanswered <= .seconds(25), "seed \(seed)")
      #expect(failure - unanswered <= .seconds(60), "seed \(seed)")
      #expect(life.first("connecting") == failure)
      life.model.loss = (0, 0)
      life.machine.run(for: .seconds(65))
      #expect(try life.agent.tunnel().state == "connected" && life.agent.tunnel().failure == nil, "seed \(seed)")
    }
  }

  enum Kind: CaseIterable {
    case idle, twoWay, oneWay, lossy, lossyOneWay, sleeping, sleepingAndLossy
  }

  /// A life of ten minutes beside a gateway that is well.
  private func live(_ kind: Kind, seed: UInt64) throws -> ConnectedLife {
    var random = SplitMix64(seed: seed)
    let life = ConnectedLife(seed: seed, keepalive: seed % 4 == 0 ? 25 : 0)
    try life.connect()
    if [.lossy, .lossyOneWay, .sleepingAndLossy].contains(kind) { life.model.loss = (0.3, 0.3) }
    if [.oneWay, .lossyOneWay].contains(kind) { life.model.reply = { _ in nil } }
    life.model.latency = .milliseconds(Int64(1 + random.unit() * 400))
    let end = life.machine.now + .seconds(600)
    while life.machine.now < end {
      let stretch = Duration.milliseconds(Int64(random.unit() * 150_000))
      if kind != .idle, random.unit() < 0.8 {
        let period = Duration.milliseconds(Int64([300, 2000, 6000, 20_000, 60_000][Int(random.next() % 5)]))
        life.talk(every: period, for: stretch, &random)
      }
      life.machine.run(for: stretch)
      if [.sleeping, .sleepingAndLossy].contains(kind) {
        life.machine.sleep(for: .milliseconds(Int64(random.unit() * random.unit() * 3_600_000)))
      }
    }
    life.machine.run(for: .seconds(60))
    return life
  }

  @Test("1,000 lives beside a gateway that is well: never failed, and never doubted without loss or sleep", arguments: 0..<10)
  func isWell(_ block: Int) throws {
    var doubts: [Kind: Int] = [:]
    for seed in UInt64(block * 100)..<UInt64(block * 100 + 100) {
      let kind = Kind.allCases[Int(seed) % Kind.allCases.count]
      let life = try live(kind, seed: seed)
      #expect(!life.changes.contains { $0.what.hasPrefix("failed") }, "\(kind), seed \(seed): \(life.changes)")
      #expect(try life.agent.tunnel().state == "connected", "\(kind), seed \(seed): \(life.changes)")
      doubts[kind, default: 0] += life.changes.count { $0.what == "reasserting" }
    }
    for kind in [Kind.idle, .twoWay, .oneWay] { #expect(doubts[kind, default: 0] == 0, "\(kind)") }
    if block == 0 { print("doubts in 100 lives of 10 minutes:", doubts) }
  }

  @Test("a tunnel that carries nothing is sampled every 20 s, and nothing else of the machine is looked at", arguments: [0, 25])
  func costs(keepalive: UInt16) throws {
    let life = ConnectedLife(seed: 2, keepalive: keepalive)
    try life.connect()
    life.machine.run(for: .seconds(200))
    let (samples, looks) = (life.machine.log.samples, life.machine.log.observations)
    life.machine.run(for: .seconds(3600))
    #expect(life.machine.log.samples - samples <= 181)
    #expect(life.machine.log.observations == looks)
  }

  @Test("an engine that does not answer is asked as often as one that does, and begun again", arguments: [false, true])
  func hungEngine(isQuiet: Bool) throws {
    let life = ConnectedLife(seed: 2, keepalive: 25)
    try life.connect()
    if isQuiet { life.machine.run(for: .seconds(100)) }
    let (samples, began) = (life.machine.log.samples, life.machine.now)
    // No event says that it hangs.
    life.machine.state.endEngine(of: "corp")
    life.machine.recordPacket(on: "corp")
    life.machine.run(for: .seconds(11))
    #expect(life.machine.log.samples - samples <= 4)
    life.machine.run(for: .seconds(29))
    #expect(life.first("failed: the engine does not answer").map { $0 - began <= .seconds(33) } == true, "\(life.changes)")
    life.machine.run(for: .seconds(30))
    #expect(try life.agent.tunnel().state == "connected")
  }

  @Test("a packet after a quiet time is a reason for two samples, and then for rare ones again") func onePacket() throws {
    let life = ConnectedLife(seed: 2, keepalive: 25)
    try life.connect()
    life.machine.run(for: .seconds(100))
    let samples = life.machine.log.samples
    life.model.send(84, at: (1...10).map { life.machine.now + .seconds(60 * $0 - 30) })
    life.machine.run(for: .seconds(600))
    #expect(life.machine.log.samples - samples <= 70)
    #expect(life.changes.isEmpty)
  }

  @Test("the next address of the endpoint's name is tried, and the one that answers is kept") func nextAddress() throws {
    let life = ConnectedLife(seed: 2, endpoint: "vpn.corp.example:51820")
    let addresses = ["203.0.113.10", "203.0.113.11"].map(Sample.address)
    life.machine.dns.names[Sample.domain("vpn.corp.example")] = addresses
    try life.connect()
    var random = SplitMix64(seed: 2)
    life.talk(every: .seconds(2), for: .seconds(90), &random)
    life.die(bothWays: true)
    life.machine.run(for: .seconds(62))
    func endpoint() -> IPAddress? { life.machine.state.observed.wireGuard["corp"]?.peers.first?.endpoint?.address }
    #expect(endpoint() == addresses[1])
    life.model.loss = (0, 0)
    life.machine.run(for: .seconds(30))
    #expect(try life.agent.tunnel().state == "connected")
    #expect(endpoint() == addresses[1])
    // Asked anew, it stays where it is.
    life.machine.sleep(for: .seconds(600))
    life.machine.run(for: .seconds(30))
    #expect(try life.agent.tunnel().state == "connected")
    #expect(endpoint() == addresses[1])
  }

  @Test("why it is doubted is told while it is, and the way back is told") func doubt() throws {
    let life = ConnectedLife(seed: 3)
    try life.connect()
    var random = SplitMix64(seed: 3)
    life.talk(every: .seconds(6), for: .seconds(120), &random)
    life.die(bothWays: true)
    life.machine.run(for: .seconds(32))
    #expect(try life.agent.tunnel().state == "reasserting")
    #expect(try life.agent.tunnel().reason.hasPrefix("the peer has not answered for"))
    let silence = try #require(try life.agent.tunnel().peerSilenceMilliseconds)
    #expect((20_000...40_000).contains(silence))
    #expect(try life.agent.tunnel().timers.map(\.what) == ["restart"])
    life.model.loss = (0, 0)
    life.machine.run(for: .seconds(5))
    #expect(try life.agent.tunnel().state == "connected")
    #expect(life.changes.map(\.what) == ["reasserting", "connected"])
    #expect(try life.agent.tunnel().reason.hasPrefix("rule 1"))
    #expect(try life.agent.tunnel().peerSilenceMilliseconds == nil)
  }
}

/// "Connected" is a handshake, or a packet received, since the last doubt.
@Suite("Connected is true") struct ConnectedTests {
  let cafe = Sample.network(Sample.wifi("Cafe", gateway: "198.51.100.1", address: "198.51.100.23/24"))

  private func connected() throws -> WatchedAgent {
    let life = WatchedAgent(Sample.tunnel(rules: [Sample.rule(.always, .connect)]), on: cafe)
    life.start()
    try #require(try life.tunnel().state == "connected")
    life.forget()
    return life
  }

  @Test("back on the same network with a dead gateway, it is not connected by an old handshake") func sameNetwork() throws {
    let life = try connected()
    life.move(to: NetworkSnapshot())
    life.machine.peersAnswer = false
    life.move(to: cafe)
    life.machine.run(for: .seconds(10))
    // It has not been silent here: nothing was asked of it until now.
    #expect(try life.tunnel().state == "reasserting" && life.tunnel().peerSilenceMilliseconds == nil)
    life.machine.run(for: .seconds(10))
    #expect(life.states == ["corp reasserting", "corp connecting"])
    #expect(life.failures.first == "corp: the peer has not answered on this network within 15 s")
  }

  @Test("back on the same network it is connected again as soon as the gateway has answered") func sameNetworkAnswers() throws {
    let life = try connected()
    life.move(to: NetworkSnapshot())
    life.move(to: cafe)
    #expect(life.machine.log.renewals == 1)
    #expect(life.states == ["corp reasserting", "corp connected"])
  }

  @Test("after waking without a network it is not connected until there is one and the gateway has answered") func wakesOffline() throws {
    let life = try connected()
    life.move(to: NetworkSnapshot())
    life.machine.sleep(for: .seconds(3600))
    life.agent.woke()
    life.machine.run(for: .seconds(60))
    #expect(try life.tunnel().state == "reasserting" && life.states == ["corp reasserting"])
    life.move(to: cafe)
    #expect(try life.tunnel().state == "connected")
  }

  @Test("after waking with a network that has gone meanwhile, neither") func losesItAsleep() throws {
    let life = try connected()
    life.machine.sleep(for: .seconds(3600))
    life.machine.network = NetworkSnapshot()
    life.agent.woke()
    life.machine.run(for: .seconds(60))
    #expect(try life.tunnel().state == "reasserting" && life.states == ["corp reasserting"])
  }

  @Test("a deadline that passes in sleep is no verdict: after waking it is asked anew") func deadlineInSleep() throws {
    let life = try connected()
    life.machine.peersAnswer = false
    life.move(to: NetworkSnapshot())
    life.move(to: cafe)
    life.machine.sleep(for: .seconds(3600))
    life.machine.run(for: .seconds(10))
    #expect(life.states == ["corp reasserting"] && life.failures.isEmpty)
    life.machine.peersAnswer = true
    life.machine.run(for: .seconds(10))
    #expect(life.states == ["corp reasserting", "corp connected"])
  }

  @Test("after waking on the same network it is asked, once for both witnesses of the sleep") func wakes() throws {
    let life = try connected()
    life.machine.sleep(for: .seconds(3600))
    life.agent.woke()
    life.machine.run(for: .seconds(1))
    #expect(life.machine.log.renewals == 1)
    #expect(life.states == ["corp reasserting", "corp connected"])
  }

  @Test("where the network is lost while it connects, it does not connect") func losesItWhileConnecting() throws {
    for delay in [Duration.zero, .milliseconds(1), .milliseconds(20), .milliseconds(100)] {
      let life = WatchedAgent(Sample.tunnel(rules: [Sample.rule(.always, .connect)]), on: cafe)
      life.machine.failingSteps = { if case .addRule = $0 { "not yet" } else { nil } }
      life.machine.peersAnswer = delay != .zero
      life.agent.start()
      life.machine.run(for: delay)
      life.machine.failingSteps = { _ in nil }
      life.machine.network = NetworkSnapshot()
      // The answer that came before is still seen.
      life.machine.state.answer(on: "corp", at: life.machine.wallClock.seconds)
      life.agent.networkChanged()
      life.machine.run(for: .seconds(120))
      #expect(!life.states.contains("corp connected"), "\(delay)")
      life.machine.peersAnswer = true
      life.move(to: cafe)
      #expect(try life.tunnel().state == "connected", "\(delay)")
    }
  }

  @Test("without a default route, as beside a gateway on the same wire, it connects and wakes as elsewhere") func withoutDefaultRoute()
    throws
  {
    let life = WatchedAgent(Sample.tunnel(rules: []), on: NetworkSnapshot())
    life.agent.start()
    life.machine.peers = WireGuardModel(seed: 4)
    try life.agent.override("corp", OverrideRequest(wantsUp: true))
    life.machine.run(for: .seconds(2))
    #expect(try life.tunnel().state == "connected")
    life.machine.sleep(for: .seconds(600))
    life.agent.woke()
    life.machine.run(for: .seconds(2))
    #expect(try life.tunnel().state == "connected")
  }
}
