import AgentCore
import ControlProtocol
import NetworkTypes
import RoamwardCore
import SeededRandom
import Simulation
import TestKit
import Testing

/// A network that a rule connects starts its tunnel at the first event; a release, and late facts, wait until it has settled.
@Suite struct StartAtOnceTests {
  private let cafe = Sample.network(Sample.wifi("Cafe", gateway: "198.51.100.1", address: "198.51.100.23/24"))
  private let home = Sample.network(Sample.wifi("Home"))
  private let rules = [Sample.rule(.ssid([Sample.ssid("Home")]), .disconnect), Sample.rule(.always, .connect)]

  /// The states of the tunnel in an agent's life, each once.
  private func states(_ life: WatchedAgent, _ name: String = "corp") -> String? { life.status.tunnels.first { $0.name == name }?.state }

  @Test("the first event starts the tunnel; the way back waits for the network to settle") func first() throws {
    let life = WatchedAgent(Sample.tunnel(rules: rules), on: home)
    life.start()
    #expect(states(life) == "disconnected")
    life.machine.network = cafe
    life.agent.networkChanged()
    life.machine.run(for: .milliseconds(100))
    #expect(states(life) == "connected", "as shipped, before the settle time has ended")
    life.machine.run(for: .seconds(5))
    life.machine.network = home
    life.agent.networkChanged()
    life.machine.run(for: .milliseconds(400))
    #expect(states(life) == "connected", "a release waits")
    life.machine.run(for: .seconds(5))
    #expect(states(life) == "disconnected")
  }

  @Test("a tunnel that is up by its rules stays up while another network passes by") func passing() throws {
    let life = WatchedAgent(Sample.tunnel(rules: rules), on: cafe)
    life.start(for: .seconds(5))
    life.forget()
    for _ in 0..<20 {
      for network in [home, NetworkSnapshot(), cafe] {
        life.machine.network = network
        life.agent.networkChanged()
        life.machine.run(for: .milliseconds(100))
      }
      life.machine.run(for: .seconds(1))
    }
    #expect(!life.states.contains("corp disconnected") && !life.states.contains("corp disconnecting"), "\(life.states)")
  }

  @Test("a rule that asks for what late sources tell waits: the domains of the network before are none of this one") func late() throws {
    let late = [Sample.rule(.dnsDomain(DomainList([Sample.pattern("corp.example")])), .disconnect), Sample.rule(.always, .connect)]
    let office = Sample.network(Sample.wifi("Office", domains: ["corp.example"]))
    let life = WatchedAgent(Sample.tunnel(rules: late), on: office)
    life.start(for: .seconds(5))
    #expect(states(life) == "disconnected")
    // Another office, whose domains come 100 ms after its route.
    for domains in [[], ["corp.example"]] {
      life.machine.network = Sample.network(
        Sample.wifi("Branch", domains: domains, gateway: "198.51.100.1", address: "198.51.100.23/24"))
      life.agent.networkChanged()
      life.machine.run(for: .milliseconds(100))
      #expect(states(life) == "disconnected")
    }
    life.machine.run(for: .seconds(5))
    #expect(states(life) == "disconnected")
    #expect(!life.states.contains("corp connecting"))
  }

  /// All that makes the agent look again, beside a change of the network.
  private static var looks: [(name: String, look: (WatchedAgent) throws -> Void)] {
    [
      ("a report", { $0.agent.refresh() }), ("damage", { $0.agent.damaged() }), ("a fact", { $0.agent.factsCame() }),
      ("policies", { $0.agent.policiesChanged() }), ("a person", { try $0.agent.resume(nil) }),
    ]
  }

  @Test("no look that is made for another reason lets a network settle sooner", arguments: [false, true])
  func otherLooks(isFirst: Bool) throws {
    let late = [Sample.rule(.dnsDomain(DomainList([Sample.pattern("corp.example")])), .disconnect), Sample.rule(.always, .connect)]
    for (name, look) in Self.looks {
      let life = WatchedAgent([Sample.tunnel(rules: late), Sample.tunnel("going", rules: rules)], on: cafe)
      life.start(for: .seconds(5))
      try life.agent.override("corp", OverrideRequest(wantsUp: false, until: .networkChange))
      life.machine.run(for: .seconds(5))
      #expect(states(life) == "disconnected" && states(life, "going") == "connected", "\(name)")
      // A network at home, whose domains come later.
      life.machine.network = Sample.network(Sample.wifi("Home", domains: []))
      // A report may see the network before the kernel's event is read.
      if isFirst, name == "a report" { try look(life) }
      life.agent.networkChanged()
      life.machine.run(for: .milliseconds(150))
      try look(life)
      life.machine.run(for: .milliseconds(150))
      #expect(states(life) == "disconnected" && states(life, "going") == "connected", "\(name)")
      life.machine.network = Sample.network(Sample.wifi("Home", domains: ["corp.example"]))
      life.agent.networkChanged()
      life.machine.run(for: .seconds(5))
      #expect(states(life) == "disconnected" && states(life, "going") == "disconnected", "\(name)")
      let path = life.states.filter { $0.hasPrefix("corp ") }
      #expect(path == ["corp connecting", "corp connected", "corp disconnecting", "corp disconnected"], "\(name)")
    }
  }

  @Test("a tunnel with a settle time of its own waits for it, whoever sees the network first, and is verified on it at once")
  func ownSettleTime() throws {
    var own = Sample.tunnel(rules: rules)
    own.onDemand.timing.settle = .seconds(30)
    for isFirst in [false, true] {
      let life = WatchedAgent([own], on: cafe)
      life.start(for: .seconds(60))
      #expect(states(life) == "connected")
      life.forget()
      // A roam on which nothing but the path changes.
      life.machine.network = Sample.network(Sample.wifi("Other", gateway: "203.0.113.1", address: "203.0.113.9/24"))
      if isFirst { life.agent.refresh() }
      life.agent.networkChanged()
      life.machine.run(for: .seconds(2))
      #expect(life.states.contains("corp reasserting"), "report first: \(isFirst)")
      life.machine.run(for: .seconds(60))
      life.machine.network = home
      if isFirst { life.agent.refresh() }
      life.agent.networkChanged()
      life.machine.run(for: .seconds(20))
      #expect(states(life) == "connected", "report first: \(isFirst)")
      life.machine.run(for: .seconds(20))
      #expect(states(life) == "disconnected", "report first: \(isFirst)")
    }
  }

  @Test("a late fact behind a key that does not hold is waited for by nobody") func settledByOthers() {
    let office = Condition.all([.ssid([Sample.ssid("Office")]), .dnsDomain(DomainList([Sample.pattern("corp.example")]))])
    let life = WatchedAgent(Sample.tunnel(rules: [Sample.rule(office, .disconnect)] + rules), on: home)
    life.start(for: .seconds(5))
    life.machine.network = cafe
    life.agent.networkChanged()
    #expect(states(life) == "connected", "the simulated peer answers in no time")
  }

  @Test("no running tunnel gives way before the network has settled") func exclusive() {
    let own = Sample.tunnel(
      "own", rules: [Sample.rule(.ssid([Sample.ssid("Cafe")]), .connect), Sample.rule(.always, .disconnect)], precedence: .enterprise)
    let other = Sample.tunnel("other", rules: [Sample.rule(.always, .connect)], precedence: .enterprise)
    let life = WatchedAgent([own, other], on: home)
    life.start(for: .seconds(5))
    #expect(states(life, "other") == "connected" && states(life, "own") == "disconnected")
    life.machine.network = cafe
    life.agent.networkChanged()
    life.machine.run(for: .milliseconds(400))
    #expect(states(life, "other") == "connected" && states(life, "own") == "disconnected")
    life.machine.run(for: .seconds(5))
    #expect(states(life, "other") == "disconnected" && states(life, "own") == "connected")
  }

  @Test("only a tunnel that waits for the network says so: none that stays down, and none that is disabled") func timers() throws {
    let down = Sample.tunnel("down", rules: [Sample.rule(.always, .disconnect)])
    let off = Sample.tunnel("off", rules: [Sample.rule(.always, .connect)], isEnabled: false)
    let going = Sample.tunnel(
      "going", rules: [Sample.rule(.ssid([Sample.ssid("Home")]), .connect), Sample.rule(.always, .disconnect)])
    let life = WatchedAgent([Sample.tunnel(rules: rules), down, off, going], on: home)
    life.start(for: .seconds(5))
    life.machine.network = cafe
    life.agent.networkChanged()
    life.machine.run(for: .milliseconds(100))
    #expect(states(life) == "connected" && states(life, "going") == "connected")
    let waiting = life.status.tunnels.filter { $0.timers.contains { $0.what == "settle" } }.map(\.name)
    #expect(waiting == ["going"])
    life.machine.run(for: .seconds(5))
    #expect(states(life, "going") == "disconnected")
  }

  @Test("a person who wants another enterprise tunnel does not wait for the network to settle") func byHand() throws {
    let other = Sample.tunnel("other", rules: [Sample.rule(.always, .connect)], precedence: .enterprise)
    let own = Sample.tunnel("own", rules: [Sample.rule(.always, .disconnect)], precedence: .enterprise)
    let life = WatchedAgent([Sample.tunnel(rules: rules), other, own], on: home)
    life.start(for: .seconds(5))
    life.machine.network = cafe
    life.agent.networkChanged()
    life.machine.run(for: .milliseconds(50))
    #expect(states(life) == "connected" && states(life, "other") == "connected")
    try life.agent.override("own", OverrideRequest(wantsUp: true, until: .resume))
    life.machine.run(for: .milliseconds(200))
    #expect(states(life, "own") == "connected" && states(life, "other") == "disconnected")
  }

  /// Networks on which the rules below want different things.
  private var places: [NetworkSnapshot] {
    [
      home, cafe, Sample.network(Sample.wifi("Work", domains: ["corp.example"], gateway: "203.0.113.1", address: "203.0.113.23/24")),
      NetworkSnapshot(primary: "eth0", links: [Sample.wired()]),
    ]
  }

  @Test(
    "random storms on the way to a network: at most ten looks a second, and no tunnel goes up and down again",
    arguments: 0..<200 as Range<UInt64>)
  func storms(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let tunnels = [
      Sample.tunnel("a", rules: rules),
      Sample.tunnel(
        "b",
        rules: [
          Sample.rule(.dnsDomain(DomainList([Sample.pattern("corp.example")])), .disconnect), Sample.rule(.interface([.wifi]), .connect),
          Sample.rule(.always, .disconnect),
        ]),
    ]
    let life = WatchedAgent(tunnels, on: random.pick(places))
    life.start(for: .seconds(5))
    for _ in 0..<6 {
      let target = random.pick(places)
      life.forget()
      let looks = life.machine.log.observations
      let before = Dictionary(uniqueKeysWithValues: life.status.tunnels.map { ($0.name, $0.state) })
      // The network comes in pieces, and flaps: without an address, without its domains, gone for a moment, whole.
      // All within the settle time: the look at its end sees the whole.
      let events = random.next() % 11
      for _ in 0..<events {
        var piece = target
        switch random.next() % 4 {
        case 0: piece = NetworkSnapshot()
        case 1: if !piece.links.isEmpty { piece.links[0].searchDomains = .known([]) }
        case 2: if !piece.links.isEmpty { piece.links[0].searchDomains = .unknown(reason: "not told yet") }
        default: break
        }
        life.machine.network = piece
        life.agent.networkChanged()
        if random.next() % 3 == 0 { try? random.pick(Self.looks.map(\.look))(life) }
        life.machine.run(for: .milliseconds(Int64(random.next() % 40)))
      }
      life.machine.network = target
      life.agent.networkChanged()
      life.machine.run(for: .seconds(8))
      // Each is in the end as the rules want it, and went there straight.
      let bare = WatchedAgent(tunnels, on: target)
      bare.start(for: .seconds(5))
      for tunnel in tunnels.map(\.name) {
        #expect(states(life, tunnel) == states(bare, tunnel), "seed \(seed): \(tunnel)")
        let path = life.states.filter { $0.hasPrefix("\(tunnel) ") }
        let isSame = before[tunnel] == states(life, tunnel)
        #expect(path.count { $0.hasSuffix(" disconnected") } <= (isSame ? 0 : 1), "seed \(seed): \(tunnel) \(before) \(path)")
      }
      #expect(life.machine.log.observations - looks < 200)
    }
  }
}
