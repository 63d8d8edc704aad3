import AgentCore
import ControlProtocol
import History
import KernelModel
import NetworkTypes
import RoamwardCore
import SeededRandom
import Simulation
import TestKit
import Testing

/// An agent with a group of three WireGuard tunnels to three gateways, each of which may be silent.
private final class GroupLife {
  let agent: WatchedAgent
  static let cafe = Sample.network(Sample.wifi("Cafe", gateway: "198.51.100.1", address: "198.51.100.23/24"))
  static let names = ["paris", "lyon", "tcp"]
  /// The most members with routes after a step, and whether the table was ever without the group's block while it was to be there.
  private(set) var mostCarrying = 0
  private(set) var opened: [Moment] = []
  private var isClosed = false

  init(
    _ action: Action = .connect, killSwitch: KillSwitch = .on, preference: GroupPreference = .order, group: Bool = true,
    precedence: TunnelClass = .personal
  ) {
    let tunnels = Self.names.enumerated().map { place, name in
      var tunnel = Sample.tunnel(
        name, rules: [Sample.rule(.always, action)], wireGuard: Sample.wireGuard(endpoint: "203.0.113.\(10 + place):51820"),
        precedence: precedence)
      tunnel.killSwitch = killSwitch
      return tunnel
    }
    agent = WatchedAgent(tunnels, on: Self.cafe)
    if group { machine.policies.groups = [Self.group(tunnels, preference)] }
    machine.whenApplied = { [unowned self] in record($0) }
  }

  static func group(_ tunnels: [TunnelPolicy], _ preference: GroupPreference) -> TunnelGroup {
    TunnelGroup(
      name: "work", members: tunnels.map { TunnelGroup.Member($0.name, location: $0.location) }, preference: preference,
      onDemand: tunnels[0].onDemand, killSwitch: tunnels[0].killSwitch, location: tunnels[0].location)
  }

  var machine: SimulatedMachine { agent.machine }

  private func record(_ step: Step) {
    let kernel = machine.state.observed.kernel
    mostCarrying = max(mostCarrying, Self.names.count { name in kernel.ownRoutes.contains { $0.link == name && $0.kind == .unicast } })
    switch step {
    case .replaceFirewall(let table):
      let isWhole = Set(Self.names).isSubset(of: table.guards.map(\.tunnel))
      if isClosed, !isWhole { opened.append(machine.now) }
      isClosed = isClosed || isWhole
    case .removeFirewall: if isClosed { opened.append(machine.now) }
    default: break
    }
  }

  func state(_ name: String) throws -> String { try agent.tunnel(name).state }

  var connected: [String] { Self.names.filter { (try? state($0)) == "connected" } }

  func silence(_ name: String, _ isSilent: Bool = true) { machine.state.set(name, answers: !isSilent) }

  /// A program sends a packet into each tunnel that is there, every second.
  func talk(for seconds: Int) {
    for _ in 0..<seconds {
      for name in Self.names { machine.sendPacket(into: name) }
      machine.run(for: .seconds(1))
    }
  }

  /// The seconds until only this member is connected, with traffic meanwhile; `nil`: not within the limit.
  func seconds(until name: String, limit: Int) -> Int? {
    for second in 0...limit {
      if connected == [name] { return second }
      talk(for: 1)
    }
    return nil
  }
}

@Suite("Groups: one of several tunnels") struct GroupTests {
  @Test("the first is up alone; silent, it gives way within 60 s; answering again, it comes back, and nothing leaks between")
  func failover() throws {
    let life = GroupLife()
    life.agent.start(for: .seconds(2))
    #expect(life.connected == ["paris"])
    #expect(try life.agent.tunnel("lyon").code == .standby && life.agent.tunnel("lyon").reason.hasPrefix("its group work uses paris"))
    #expect(life.agent.status.firewall.blocking.isEmpty, "another member carries what it includes")
    life.talk(for: 30)
    life.silence("paris")
    let took = try #require(life.seconds(until: "lyon", limit: 60))
    #expect(took <= 50, "\(took)")
    #expect(life.agent.status.notes.contains { $0.code == .standby && $0.text.hasPrefix("group work uses lyon; it tries paris again in") })
    life.silence("paris", false)
    let back = try #require(life.seconds(until: "paris", limit: 130))
    #expect(back >= 20)
    #expect(life.opened.isEmpty && life.agent.status.firewall.situation == .guarded)
  }

  @Test("two silent members: the third carries within 60 s", arguments: [TunnelClass.personal, .enterprise]) func twoSilent(
    precedence: TunnelClass
  ) throws {
    let life = GroupLife(precedence: precedence)
    life.agent.start(for: .seconds(2))
    life.talk(for: 10)
    life.silence("paris")
    life.silence("lyon")
    let took = try #require(life.seconds(until: "tcp", limit: 60))
    #expect(took <= 60, "\(took)")
    // Neither dead one takes the working one down.
    life.agent.forget()
    life.talk(for: 600)
    #expect(!life.agent.states.contains { $0.hasPrefix("tcp ") }, "\(life.agent.states)")
    #expect(life.opened.isEmpty)
  }

  @Test("a member that never answers at the start gives way after one attempt") func start() throws {
    let life = GroupLife()
    life.silence("paris")
    life.agent.start(for: .seconds(14))
    #expect(life.connected.isEmpty && life.agent.status.firewall.blocking == ["lyon", "paris", "tcp"])
    life.machine.run(for: .seconds(4))
    #expect(life.connected == ["lyon"])
    #expect(try life.agent.tunnel("paris").state == "disconnected" && life.agent.tunnel("paris").failureCode == .peerTimeout)
  }

  @Test("people choose a member, or the whole group") func people() throws {
    let life = GroupLife(.ignore, killSwitch: .off)
    life.agent.start(for: .seconds(2))
    #expect(life.connected == [])
    #expect(
      throws: RequestError(code: .badRequest, message: "work is a group, and options are for one tunnel: name one of paris, lyon, tcp")
    ) {
      let start = StartOptions(options: [.init(name: "server", value: "vpn")], password: nil)
      try life.agent.agent.override("work", OverrideRequest(wantsUp: true), start: start)
    }
    try life.agent.agent.override("work", OverrideRequest(wantsUp: true, until: .resume, reason: nil))
    life.machine.run(for: .seconds(2))
    #expect(life.connected == ["paris"])
    try life.agent.agent.override("lyon", OverrideRequest(wantsUp: false, until: .resume, reason: nil))
    try life.agent.agent.override("paris", OverrideRequest(wantsUp: false, until: .resume, reason: nil))
    life.machine.run(for: .seconds(2))
    #expect(life.connected == ["tcp"])
    try life.agent.agent.resume("work")
    life.machine.run(for: .seconds(2))
    #expect(life.agent.status.tunnels.allSatisfy { $0.override == nil })
    #expect(life.connected == ["tcp"], "left as it is")
    try life.agent.agent.override("lyon", OverrideRequest(wantsUp: true, until: .resume, reason: nil))
    life.machine.run(for: .seconds(2))
    #expect(life.connected == ["lyon"])
    try life.agent.agent.override("work", OverrideRequest(wantsUp: false, until: .resume, reason: nil))
    life.machine.run(for: .seconds(2))
    #expect(life.connected == [])
    #expect(throws: RequestError.self) {
      try life.agent.agent.override("none", OverrideRequest(wantsUp: true, until: .resume, reason: nil))
    }
  }

  @Test("a group that is left as it is stays up though its member fails") func ignored() throws {
    let life = GroupLife(.ignore, killSwitch: .on)
    life.agent.start(for: .seconds(2))
    try life.agent.agent.override("paris", OverrideRequest(wantsUp: true, until: .resume, reason: nil))
    life.machine.run(for: .seconds(2))
    try life.agent.agent.resume("paris")
    life.machine.run(for: .seconds(2))
    #expect(life.connected == ["paris"])
    life.silence("paris")
    #expect(life.seconds(until: "lyon", limit: 60) != nil)
  }

  @Test("100 lives with gateways that come and go: never two carry, no kill switch opens, one that answers is used", arguments: 0..<4)
  func lives(_ block: Int) throws {
    for seed in UInt64(block * 25)..<UInt64(block * 25 + 25) {
      var random = SplitMix64(seed: seed)
      let life = GroupLife(preference: seed % 5 == 0 ? .nearest : .order, precedence: seed % 2 == 0 ? .personal : .enterprise)
      for name in GroupLife.names { life.silence(name, random.unit() < 0.3) }
      life.agent.start(for: .seconds(2))
      for _ in 0..<8 {
        if random.unit() < 0.2 { life.agent.move(to: random.unit() < 0.5 ? GroupLife.cafe : Sample.network(Sample.wifi("Other"))) }
        if let name = GroupLife.names.randomElement(using: &random) { life.silence(name, random.unit() < 0.6) }
        life.talk(for: Int(random.unit() * 90))
        #expect(life.connected.count <= 1, "seed \(seed): \(life.connected)")
      }
      for name in GroupLife.names { life.silence(name, false) }
      life.talk(for: 80)
      #expect(life.connected.count == 1, "seed \(seed): \(life.agent.states.suffix(12))")
      #expect(life.opened.isEmpty, "seed \(seed)")
      let inUse = life.agent.status.groups.first?.member
      #expect(inUse.map { [$0.tunnel] } == life.connected && inUse?.state == "connected", "seed \(seed)")
    }
  }

  @Test("policies without groups make the same steps as before, and groups of other tunnels change nothing for them") func without() throws
  {
    let (with, alone) = (GroupLife(), GroupLife(group: false))
    for life in [with, alone] {
      life.machine.policies.tunnels.append(Sample.tunnel("other", rules: [Sample.rule(.always, .connect)], wireGuard: Sample.wireGuard()))
      life.agent.start(for: .seconds(5))
    }
    #expect(alone.connected == GroupLife.names, "personal tunnels run beside one another")
    #expect(try with.agent.tunnel("other").state == "connected")
    let status = alone.agent.status
    #expect(!status.notes.contains { $0.code == .standby } && !status.tunnels.contains { $0.code == .standby })
  }

  @Test("a timeline silences one member, and expects of the group what its member in use does") func timeline() {
    let life = GroupLife()
    func step(_ seconds: Int, _ act: Timeline.Act) -> Timeline.Step {
      Timeline.Step(at: .seconds(seconds), act: act, location: Sample.place())
    }
    let connected = Timeline.Expectation(state: "connected")
    let timeline = Timeline(
      start: LocalTime(day: .mon, second: 0),
      steps: [
        step(0, .network(GroupLife.cafe)), step(5, .expect(["work": connected, "paris": connected])),
        step(10, .somePeers(["paris": false, "lyon": true])), step(20, .packet(tunnel: "paris")),
        step(80, .expect(["work": connected, "lyon": connected, "paris": Timeline.Expectation(state: "disconnected")])),
        step(90, .override(tunnel: "work", wantsUp: false, lifetime: .resume, reason: nil)),
        step(95, .expect(["work": Timeline.Expectation(state: "disconnected")])), step(96, .expect(["nothing": connected])),
        step(97, .somePeers(["pariss": false])), step(98, .packet(tunnel: "lion")),
      ])
    let failures = Simulation(timeline, policies: life.machine.policies) { _ in }.run()
    #expect(failures.map(\.message) == ["nothing", "pariss", "lion"].map { "no tunnel is named \"\($0)\"" })
  }

  @Test("the record has whose turn it was: the replay decides the same") func replay() throws {
    let policies = GroupLife(killSwitch: .off).machine.policies
    let life = try RecordedLife(policies, on: GroupLife.cafe)
    life.machine.run(for: .seconds(5))
    for name in ["paris", "lyon"] {
      life.machine.state.set(name, answers: false)
      for _ in 0..<60 {
        for link in GroupLife.names { life.machine.sendPacket(into: link) }
        life.machine.run(for: .seconds(1))
      }
    }
    let replay = life.replay(policies)
    #expect(replay.isComplete && replay.reproduced > 3, "\(replay.differences.prefix(3))")
    let uses = life.history.passes.compactMap { $0.turns["work"]?.first }.uniqued()
    #expect(uses == ["paris", "lyon", "tcp"])
  }
}
