import AgentCore
import ControlProtocol
import FlightRecord
import History
import KeyMemory
import NetworkTypes
import PolicySource
import RoamwardCore
import SeededRandom
import Simulation
import TestKit
import Testing

/// An agent in a simulated machine whose record is kept in memory.
final class RecordedLife {
  let machine = SimulatedMachine()
  let privacy: NamePrivacy
  private(set) var agent: Agent
  private(set) var writer: RecordWriter
  private(set) var segments: [[UInt8]] = [[]]
  /// Every published decision, as the agent made it.
  private(set) var decided: [(time: Timestamp, tunnel: String, outcome: String, rule: Int?)] = []

  init(_ policies: PolicySet, on network: NetworkSnapshot, names: HistorySettings.Names = .full) throws {
    let key = try #require(KeyedDigest(key: Array(0..<16)))
    let privacy = NamePrivacy(names, key)
    self.privacy = privacy
    machine.policies = policies
    machine.network = network
    machine.clock.start = LocalTime(day: .mon, second: 8 * 3600)
    machine.dns.otherNames = Sample.address("203.0.113.12")
    writer = RecordWriter(privacy) { $0.identification(privacy.identification) }
    agent = Agent(platform: machine.platform, settle: .milliseconds(500))
    start(.start)
  }

  private var hasLoaded = false

  private func start(_ cause: SegmentBegin.Cause) {
    hasLoaded = false
    segments.append([])
    writer.begin(cause, at: machine.wallClock)
    agent.announcer.publishPass = { [unowned self] in if $0.generation > 0 { writer.add($0) } }
    agent.announcer.receive = { [unowned self] kind in
      let event = Event(time: machine.wallClock, kind: kind)
      writer.add(event)
      if case .decision(let tunnel, let outcome, let rule, _, _, _) = kind, isLoaded {
        decided.append((event.time, tunnel, outcome, rule))
      }
    }
    agent.start()
    flush()
  }

  /// Asked for each decision, so the status is made until it says so alone.
  private var isLoaded: Bool {
    if !hasLoaded { hasLoaded = agent.status(at: 0, process: 1).policy.generation > 0 }
    return hasLoaded
  }

  func flush() { segments[segments.count - 1] += writer.take() }

  /// The agent is killed, and another one starts.
  func restart() {
    flush()
    agent = Agent(platform: machine.platform, settle: .milliseconds(500))
    start(.start)
  }

  /// The segment is full.
  func rotate() {
    flush()
    segments.append([])
    writer.begin(.rotation, at: machine.wallClock)
  }

  func move(to network: NetworkSnapshot) {
    machine.network = network
    agent.networkChanged()
  }

  var history: RecordedHistory {
    flush()
    return RecordedHistory(segments: segments)
  }

  func replay(_ policies: PolicySet) -> Replay {
    Replay(history.revealing(policies, privacy), policies: policies, identification: policies.identification(privacy.identification))
  }
}

/// Policies that use what decisions depend on: facts that come late, time windows, named networks, precedence, overrides.
enum ManySidedPolicies {
  static let networks = [
    NamedNetwork(name: "home", condition: .ssid([Sample.ssid("Home")]), location: Sample.place()),
    NamedNetwork(name: "office", condition: .interface([.ethernet]), location: Sample.place(2)),
  ]

  static let places: [NetworkSnapshot] = {
    var late = Sample.wifi("Cafe", gateway: "203.0.113.1", address: "203.0.113.23/24")
    late.ssid = .unknown(reason: "NetworkManager has not answered yet")
    return [
      Sample.network(Sample.wifi("Home")), Sample.network(Sample.wired(domains: ["corp.example"])), Sample.network(late),
      Sample.network(Sample.wifi("Cafe", gateway: "203.0.113.1", address: "203.0.113.23/24")), Sample.network(Sample.wifi("Hotel")),
      NetworkSnapshot(),
    ]
  }()

  static var set: PolicySet {
    let work = TimeWindow(days: [.mon, .tue, .wed, .thu, .fri], from: 9 * 60, to: 17 * 60)
    var corp = Sample.tunnel(
      "corp",
      rules: [
        Rule(name: "at home", match: .network(["home"]), action: .disconnect, location: Sample.place(3)),
        Sample.rule(.all([.interface([.wifi]), .time(work)]), .connect), Sample.rule(.always, .ignore),
      ], precedence: .enterprise)
    corp.onDemand.timing.releaseDelay = .seconds(5)
    corp.onDemand.timing.decideWithin = .seconds(7)
    corp.killSwitch = .on
    let lab = Sample.tunnel(
      "lab", rules: [Sample.rule(.network(["office"]), .disconnect), Sample.rule(.always, .connect)], precedence: .enterprise)
    var own = Sample.tunnel(
      "own",
      rules: [Sample.rule(.ssid([Sample.ssid("Cafe"), Sample.ssid("Hotel")]), .connect), Sample.rule(.always, .disconnect)])
    own.onDemand.timing.settle = .seconds(2)
    return PolicySet(networks: networks, tunnels: [corp, lab, own])
  }
}

extension RecordedLife {
  /// Lets the life go on at random.
  func live(acts: Int, _ dice: inout SplitMix64, rotates: Bool = true) throws {
    for _ in 0..<acts {
      switch Int.random(in: 0..<14, using: &dice) {
      case 0..<6: move(to: dice.pick(ManySidedPolicies.places))
      case 6:
        move(to: dice.pick(ManySidedPolicies.places))
        machine.run(for: .milliseconds(Int64.random(in: 0...900, using: &dice)))
        move(to: dice.pick(ManySidedPolicies.places))
      case 7: machine.peersAnswer.toggle()
      case 8:
        let lifetime = dice.pick([Lifetime.networkChange, .resume, .seconds(90)])
        try? agent.override(dice.pick(["corp", "lab", "own"]), OverrideRequest(wantsUp: dice.chance(0.5), until: lifetime))
      case 9: try? agent.resume(dice.chance(0.5) ? nil : "corp")
      case 10:
        machine.sleep(for: .seconds(Int64.random(in: 1...20_000, using: &dice)))
        agent.woke()
      case 11: if rotates { rotate() }
      case 12: if dice.chance(0.3) { restart() }
      default: machine.run(for: .seconds(Int64.random(in: 0...200, using: &dice)))
      }
      machine.run(for: .milliseconds(dice.pick([0, 300, 3000, 8000, 20_000])))
      flush()
    }
  }
}
