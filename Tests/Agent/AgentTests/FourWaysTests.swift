import AgentCore
import ControlProtocol
import FlightRecord
import History
import JSON
import NetworkTypes
import PolicySource
import RoamwardCore
import SeededRandom
import Simulation
import TestKit
import Testing

/// One decision, four ways: live, from the saved network, from the recorded timeline, and from the flight record. In the worlds here some
/// facts are known, some are still to come, and some no source can give.
@Suite struct FourWaysTests {
  @Test("random worlds and rules decide alike live, saved, recorded and replayed", arguments: 0..<60) func alike(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let policies = random.policies()
    let life = try RecordedLife(policies, on: random.place(0))
    life.machine.run(for: .seconds(20))
    var recorder = TimelineRecorder(beginning: life.machine.wallClock)
    var steps = [recorder.first(life.agent.lastSnapshot.json)]
    let receive = life.agent.announcer.receive
    life.agent.announcer.receive = { kind in
      receive(kind)
      if let step = recorder.step(for: Event(time: life.machine.wallClock, kind: kind).report) { steps.append(step) }
    }
    for place in 1...5 {
      life.move(to: random.place(place))
      life.machine.run(for: .milliseconds(1500))
      try life.expectSame(policies, .waits, "seed \(seed), place \(place), while it waits")
      if random.chance(0.3) {
        life.machine.network = random.place(place)
        life.agent.factsCame()
      }
      life.machine.run(for: .seconds(20))
      try life.expectSame(policies, .isOver, "seed \(seed), place \(place), at rest")
    }
    let text = "version: 1\nsteps:\n" + steps.map { "- \($0.text())\n" }.joined()
    let (timeline, problems) = readTimeline(text: Array(text.utf8), file: "recorded.yaml") { _ in nil }
    let simulation = Simulation(try #require(timeline, "\(problems.map { $0.rendered() })"), policies: policies) { _ in }
    let failures = simulation.run()
    #expect(failures == [], "seed \(seed) \(text)")
    let replay = life.replay(policies)
    #expect(replay.isComplete && replay.reproduced > 0, "seed \(seed): \(replay.differences)")
  }

  @Test("where the record leaves names out, or hashes them, nothing that it cannot know is a difference", arguments: 0..<20)
  func masked(seed: UInt64) throws {
    for names in [HistorySettings.Names.hashed, .none] {
      var random = SplitMix64(seed: seed)
      let policies = random.policies()
      let life = try RecordedLife(policies, on: random.place(0, hasNameAlone: true), names: names)
      for place in 1...6 {
        life.move(to: random.place(place, hasNameAlone: true))
        life.machine.run(for: .milliseconds(random.pick([300, 1500, 20_000])))
      }
      let replay = life.replay(policies)
      let missing = life.history.leftOut(for: policies, known: [])
      #expect(replay.differences == [], "seed \(seed), names: \(names): \(missing)")
      #expect(replay.isComplete || !missing.isEmpty, "seed \(seed), names: \(names): \(replay.unknown)")
    }
  }
}

extension RecordedLife {
  /// Compares the decisions of the agent with those from the saved network.
  fileprivate func expectSame(_ policies: PolicySet, _ patience: Evaluator.Patience, _ place: String) throws {
    let evaluator = Evaluator(networks: policies.networks)
    for network in [machine.network, agent.lastSnapshot] {
      let (saved, problems) = readSnapshot(text: Array(network.json.text(indented: true).utf8), file: "saved.json")
      let snapshot = try #require(saved, "\(problems.map { $0.rendered() })")
      for live in agent.status(at: 0, process: 1).tunnels {
        let tunnel = try #require(policies.tunnel(named: live.name))
        let decision = evaluator.decide(tunnel, on: snapshot, patience: patience)
        let rule = decision.outcome == .pending ? live.rule?.index : decision.rule?.index
        #expect(
          live.decision == decision.outcome && live.rule?.index == rule,
          "\(place): live \(live.decision.rawValue), \(live.reason); saved \(decision.outcome.rawValue), \(decision.ruleReason)"
        )
      }
    }
  }
}

extension SplitMix64 {
  fileprivate mutating func policies() -> PolicySet {
    PolicySet(tunnels: ["a", "b"].map { Sample.tunnel($0, rules: rules()) })
  }

  private mutating func rules() -> [Rule] {
    let some = (0..<Int.random(in: 1...4, using: &self)).map { _ in
      Sample.rule(condition(depth: 2), pick([.connect, .ignore, .disconnect]), onUnknown: pick([nil, nil, nil, .match, .noMatch]))
    }
    return some + [Sample.rule(.always, pick([.connect, .ignore, .disconnect]))]
  }

  private mutating func condition(depth: Int) -> Condition {
    if depth > 0, chance(0.4) {
      let parts = (0..<2).map { _ in condition(depth: depth - 1) }
      return pick([.all(parts), .any(parts), .not(parts[0])])
    }
    return pick([
      .captivePortal(chance(0.5)), .internet(chance(0.5)), .metered(chance(0.5)), .interface([pick([.wifi, .ethernet])]),
      .ssid([Sample.ssid(pick(["Home", "Cafe"]))]), .gatewayMAC([Self.router].compactMap(\.self)), .power([pick([.battery, .ac])]),
      .loggedIn(Sample.users(pick(["alice", "bob"]))), .wifiSecurity([pick([.wpa2, .open])]),
      .dnsDomain(DomainList([Sample.pattern("corp.example")])),
    ])
  }

  private static let router = MACAddress("02:00:5e:10:00:01")

  /// A network of its own, by its gateway. Each fact is known, still to come, or such that no source can give it. `hasNameAlone`: a link
  /// whose type is unknown may have a name, which makes it Wi-Fi.
  fileprivate mutating func place(_ number: Int, hasNameAlone: Bool = false) -> NetworkSnapshot {
    var link = Sample.wifi(gateway: "198.51.100.\(number + 1)", address: "198.51.100.\(number + 100)/24")
    (link.type, link.ssid) = (fact([.wifi, .ethernet]), fact([Sample.ssid("Home"), Sample.ssid("Cafe"), nil]))
    (link.metered, link.wifiSecurity) = (fact([true, false]), fact([.wpa2, .open, nil]))
    if link.type.value == nil {
      link.wifiSecurity = .unknown(reason: "no radio")
      if !hasNameAlone { link.ssid = .unknown(reason: "no radio") }
    }
    link.gatewayMAC = fact([Self.router, MACAddress("02:00:5e:10:00:02")])
    link.searchDomains = fact([[], [Sample.domain("corp.example")]])
    var snapshot = Sample.network(link)
    (snapshot.captivePortal, snapshot.internet, snapshot.power) = (fact([true, false]), fact([true, false]), fact([.battery, .ac]))
    snapshot.users = fact([[], Sample.users("alice"), Sample.users("alice", "carol")])
    for declaration in FactTable.ofLinks + FactTable.ofNetwork + FactTable.ofHost where declaration.kind != nil {
      guard case .unknown = snapshot.value(of: declaration, link: 0), chance(0.5) else { continue }
      snapshot.makeUnavailable(declaration, reason: "no source", link: 0)
    }
    return snapshot
  }

  private mutating func fact<Value>(_ values: [Value]) -> Fact<Value> {
    chance(0.4) ? .unknown(reason: "a reason") : .known(pick(values))
  }
}
