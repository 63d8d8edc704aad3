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

/// Four tunnels of one machine: all traffic with a kill switch, two split tunnels, one command.
enum FourTunnels {
  static let home = Sample.network(Sample.wired())
  static let cafe = Sample.network(Sample.wifi("Cafe", gateway: "203.0.113.1", address: "203.0.113.23/24"))
  static let hotel = Sample.network(Sample.wifi("Hotel"))
  static let networks = [home, cafe, hotel]
  static let names = ["full", "left", "right", "vpn"]

  private static let notOnCable = [Sample.rule(.interface([.ethernet]), .disconnect), Sample.rule(.always, .connect)]

  private static var full: TunnelPolicy {
    var tunnel = Sample.tunnel(
      "full", rules: notOnCable, wireGuard: Sample.wireGuard(allowed: ["0.0.0.0/0", "::/0"]),
      routes: RoutePolicy(include: [.everything(.v4), .everything(.v6)]), dns: DNSPolicy(servers: [Sample.address("10.0.0.53")]))
    tunnel.killSwitch = .on
    return tunnel
  }

  private static func split(_ name: String, _ prefix: String, rules: [Rule], endpoint: String) -> TunnelPolicy {
    Sample.tunnel(
      name, rules: rules, wireGuard: Sample.wireGuard(allowed: [prefix], endpoint: endpoint),
      routes: RoutePolicy(include: [Sample.prefix(prefix)]), dns: DNSPolicy())
  }

  static var policies: [TunnelPolicy] {
    [
      full, split("left", "10.1.0.0/16", rules: [Sample.rule(.always, .connect)], endpoint: "left.example:51820"),
      split("right", "10.2.0.0/16", rules: notOnCable, endpoint: "203.0.113.11:51820"),
      TunnelPolicy(
        name: "vpn", provider: .command(CommandProviderConfiguration(up: ["up"], down: ["down"], status: ["status"], interface: "vpn0")),
        onDemand: OnDemand(rules: notOnCable, timing: Timing(releaseDelay: .zero)),
        routes: RoutePolicy(include: [Sample.prefix("10.3.0.0/16")]), mtu: .fixed(1300), location: Sample.place()),
    ]
  }

  /// Up on a cable: `left` alone; elsewhere all of them.
  static func isWanted(_ tunnel: String, on network: NetworkSnapshot) -> Bool { network != home || tunnel == "left" }

  static func start(on network: NetworkSnapshot = home, engine: EngineChoice = .engine(.kernel)) -> WatchedAgent {
    let life = WatchedAgent(on: network)
    life.machine.policies = PolicySet(tunnels: policies)
    life.machine.engine = engine
    life.machine.dns.otherNames = Sample.address("203.0.113.12")
    life.machine.programs.times = [.up: .milliseconds(300), .down: .milliseconds(200), .status: .milliseconds(50)]
    life.start(for: .seconds(5))
    return life
  }
}

extension WatchedAgent {
  /// Whether all is as the rules want it on a network, nothing else of ours is left, and the agent says so.
  func isSettled(on network: NetworkSnapshot) -> Bool {
    status.tunnels.allSatisfy { $0.state == (FourTunnels.isWanted($0.name, on: network) ? "connected" : "disconnected") }
  }

  /// Lets time pass until all is so; gives how much it took, at most `limit`.
  func settle(on network: NetworkSnapshot, limit: Duration) -> Duration {
    let start = machine.now
    while !isSettled(on: network), machine.now - start < limit { machine.run(for: .milliseconds(50)) }
    return machine.now - start
  }

  /// The counts of the bursts that were told.
  var repairs: [Int] { events.compactMap { if case .repair(_, _, let count) = $0 { count } else { nil } } }

  var contests: [String] { status.notes.map(\.text).filter { $0.contains("by another program") } }
}

/// Changes by the agent are no damage. Changes by others are, and are repaired at once unless they keep coming.
@Suite struct OwnChangesTests {
  /// `LIVES` in the environment takes more of them.
  private static let lives = getenv("LIVES").flatMap { UInt64(String(cString: $0)) } ?? 8

  @Test("no life without a foreign hand counts a repair, and every roam connects within 3 s", arguments: 0..<lives)
  func ownChanges(_ seed: UInt64) throws {
    var dice = SplitMix64(seed: seed)
    let engine = EngineChoice.engine(seed.isMultiple(of: 2) ? .kernel : .userspace)
    let life = FourTunnels.start(engine: engine)
    var network = FourTunnels.home
    for act in 0..<30 {
      switch Int.random(in: 0..<10, using: &dice) {
      case 0..<5:
        // The next network, at times by way of none.
        if Bool.random(using: &dice) {
          life.machine.network = NetworkSnapshot()
          life.agent.networkChanged()
          life.machine.run(for: .milliseconds(Int64.random(in: 0...1500, using: &dice)))
        }
        network = try #require(FourTunnels.networks.filter { $0 != network }.randomElement(using: &dice))
        life.machine.network = network
        life.agent.networkChanged()
      case 5:
        // One that is left before it has settled.
        let other = try #require(FourTunnels.networks.randomElement(using: &dice))
        life.machine.network = other
        life.agent.networkChanged()
        life.machine.run(for: .milliseconds(Int64.random(in: 0...1000, using: &dice)))
        life.machine.network = network
        life.agent.networkChanged()
      case 6:
        // A privacy address comes, another one goes.
        var other = network
        other.links[0].addresses.append(Sample.own("2001:db8::\(act + 1)/64"))
        for snapshot in [other, network] {
          life.machine.network = snapshot
          life.agent.networkChanged()
          life.machine.run(for: .milliseconds(Int64.random(in: 0...1000, using: &dice)))
        }
      case 7:
        let name = try #require(FourTunnels.names.randomElement(using: &dice))
        try life.agent.override(name, OverrideRequest(wantsUp: Bool.random(using: &dice)))
        life.machine.run(for: .milliseconds(Int64.random(in: 0...2000, using: &dice)))
        try life.agent.resume(name)
      case 8:
        // Other addresses, routes and MTU, and back.
        var changed = FourTunnels.policies
        changed.removeLast(Int.random(in: 0...3, using: &dice))
        changed[0].mtu = .fixed(1400)
        changed[0].routes?.exclude = [Sample.prefix("198.18.0.0/15")]
        for policies in [changed, FourTunnels.policies] {
          life.machine.policies = PolicySet(tunnels: policies)
          life.agent.policiesChanged()
          life.machine.run(for: .milliseconds(Int64.random(in: 0...1500, using: &dice)))
        }
      default:
        life.machine.run(for: .milliseconds(Int64.random(in: 0...20_000, using: &dice)))
        life.agent.woke()
      }
      let took = life.settle(on: network, limit: .seconds(60))
      let states = life.status.tunnels.map { "\($0.name) \($0.state) \($0.failure ?? "")" }
      #expect(took <= .seconds(3), "seed \(seed), act \(act): \(took), \(states)")
      try #require(life.contests == [] && life.status.counters.repairs == 0, "seed \(seed), act \(act)")
    }
  }

  @Test("after fourteen addresses that came and went, real damage is put right at once") func addresses() throws {
    let life = FourTunnels.start(on: FourTunnels.cafe)
    for i in 1...14 {
      var other = FourTunnels.cafe
      other.links[0].addresses.append(Sample.own("203.0.113.\(100 + i)/24"))
      for network in [other, FourTunnels.cafe] { life.move(to: network) }
    }
    #expect(life.contests == [])
    life.machine.state.takeDown("full")
    life.agent.damaged()
    life.machine.run(for: .milliseconds(100))
    #expect(life.machine.state.observed.kernel.link(named: "full")?.isUp == true)
  }

  @Test("damage by others is counted and paced, and neither delays another tunnel, a roam or an end", arguments: 0..<lives)
  func foreignHand(_ seed: UInt64) throws {
    var dice = SplitMix64(seed: seed)
    let life = FourTunnels.start(on: FourTunnels.cafe)
    let observed = { life.machine.state.observed }
    let wanted = observed().comparable
    let rule = try #require(observed().kernel.rules.first { $0.table == 21_500 })
    let route = try #require(observed().kernel.routes.first { $0.table == 21_500 })
    let damages: [(inout SimulatedState) -> Void] = [
      { $0.apply([.removeRule(rule)]) }, { $0.apply([.removeRoute(route)]) }, { $0.takeDown("full") },
      { $0.apply([.setMTU(link: "full", mtu: 1300, was: 1420)]) },
    ]
    let damage = try #require(damages.randomElement(using: &dice))
    // Once is repaired at once.
    damage(&life.machine.state)
    life.agent.damaged()
    #expect(observed().comparable == wanted && life.status.counters.repairs >= 1)
    life.machine.run(for: .seconds(3))
    let reasons = life.events.compactMap { if case .repair(_, let reason, _) = $0 { reason } else { nil } }
    #expect(!reasons.isEmpty)
    // For a minute, as often as it is repaired, and looked for every 20 ms.
    let before = life.status.counters.repairs
    for _ in 0..<3000 {
      let isWhole = observed().comparable == wanted
      if isWhole {
        damage(&life.machine.state)
        life.agent.damaged()
      }
      life.machine.run(for: .milliseconds(20))
    }
    #expect((5...14).contains(life.status.counters.repairs - before), "\(life.status.counters.repairs - before)")
    #expect(life.contests.count == 1)
    #expect(life.repairs.first == 1, "the first is told alone")
    #expect(life.repairs.count <= 8 && life.repairs.contains { $0 >= 5 }, "a burst is told once: \(life.repairs)")
    // Meanwhile the others roam as ever, and all of it ends at once.
    damage(&life.machine.state)
    let waiting = life.status.tunnels.map(\.state)
    life.machine.network = FourTunnels.hotel
    life.agent.networkChanged()
    life.machine.run(for: .seconds(3))
    #expect(life.status.tunnels.map(\.state) == waiting)
    try life.agent.override("full", OverrideRequest(wantsUp: false))
    life.machine.run(for: .seconds(1))
    #expect(try life.tunnel("full").state == "disconnected")
    #expect(!observed().kernel.rules.contains { $0.table == 21_750 } && observed().kernel.link(named: "full") == nil)
    // And it comes up again though the contest is not over.
    try life.agent.resume("full")
    life.machine.run(for: .seconds(3))
    #expect(try life.tunnel("full").state == "connected")
  }
}
