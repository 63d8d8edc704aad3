import AgentCore
import ControlProtocol
import KernelModel
import NetworkTypes
import RoamwardCore
import SeededRandom
import Simulation
import TestKit
import Testing

/// Tunnels through other tunnels, in the agent: order of starts and stops, loss of the outer tunnel, reasons.
@Suite struct InnerTunnelTests {
  static let home = Sample.network(Sample.wifi("Home"))
  static let cafe = Sample.network(Sample.wifi("Cafe", gateway: "198.51.100.1", address: "198.51.100.23/24"))

  func outer(_ action: Action = .disconnect) -> TunnelPolicy { Sample.tunnel("outer", rules: [Sample.rule(.always, action)]) }

  func inner(_ action: Action = .connect, through outer: String? = "outer", name: String = "inner") -> TunnelPolicy {
    var tunnel = Sample.tunnel(
      name, rules: [Sample.rule(.always, action)],
      wireGuard: Sample.wireGuard(allowed: ["172.16.0.0/12"], endpoint: "10.1.1.1:51820", addresses: ["172.16.0.2/32"]))
    tunnel.through = outer.map { OuterTunnel($0, location: Sample.place()) }
    return tunnel
  }

  func life(_ tunnels: TunnelPolicy..., on network: NetworkSnapshot = cafe) -> WatchedAgent {
    let life = WatchedAgent(on: network)
    life.machine.policies = PolicySet(tunnels: tunnels)
    return life
  }

  @Test("the outer tunnel starts first, for the inner one; each says why") func start() throws {
    let life = life(inner(), outer())
    life.start(for: .seconds(2))
    let states = life.states
    #expect(try #require(states.firstIndex(of: "outer connected")) < #require(states.firstIndex(of: "inner connecting")))
    #expect(try life.tunnel("inner").state == "connected")
    #expect(try life.tunnel("outer").reason == "inner goes through it; rule 1: always" && life.tunnel("outer").code == .carries)
    #expect(try life.tunnel("inner").through == "outer" && life.tunnel("outer").through == nil)
    #expect(try life.preview.plan.isEmpty)
  }

  @Test("while the outer tunnel has no answer, the inner one waits, says so, and its kill switch holds") func waiting() throws {
    var inner = inner()
    inner.killSwitch = .on
    let life = life(outer(.connect), inner)
    life.machine.peersAnswer = false
    life.start(for: .seconds(30))
    #expect(try life.tunnel("inner").state == "disconnected" && life.tunnel("inner").code == .outerPending)
    #expect(try life.tunnel("inner").reason == "waits for outer, which it goes through")
    #expect(life.status.firewall.blocking == ["inner"])
    life.machine.peersAnswer = true
    life.machine.run(for: .seconds(90))
    #expect(try life.tunnel("inner").state == "connected")
  }

  @Test("a person's word brings both up, and ends the inner one before the outer one") func byHand() throws {
    let life = life(outer(), inner(.disconnect))
    life.start()
    try life.agent.override("inner", OverrideRequest(wantsUp: true, until: .resume))
    life.machine.run(for: .seconds(2))
    #expect(try life.tunnel("inner").state == "connected" && life.tunnel("outer").state == "connected")
    life.forget()
    try life.agent.override("outer", OverrideRequest(wantsUp: false, until: .resume))
    life.machine.run(for: .seconds(2))
    #expect(life.states == ["inner disconnecting", "inner disconnected", "outer disconnecting", "outer disconnected"])
    let tunnel = try life.tunnel("inner")
    #expect(
      tunnel.reason.hasPrefix("it goes through outer, which is held down by hand; `roamward resume` ends that, despite the manual override")
    )
    #expect(tunnel.code == .outerDown && tunnel.state == "disconnected")
    _ = try life.agent.resume("outer")
    life.machine.run(for: .seconds(2))
    #expect(try life.tunnel("inner").state == "connected")
    _ = try life.agent.resume("inner")
    life.machine.run(for: .seconds(2))
    #expect(try life.tunnel("inner").state == "disconnected" && life.tunnel("outer").state == "disconnected")
    #expect(life.machine.state.observed.kernel.ownRules.isEmpty && life.machine.state.observed.kernel.ownRoutes.isEmpty)
  }

  @Test("on another network the inner one waits for the outer one, keeps its routes, and goes on") func roam() throws {
    let life = life(outer(), inner())
    life.start(for: .seconds(2))
    life.machine.peersAnswer = false
    life.move(to: Self.home)
    #expect(try life.tunnel("inner").state == "reasserting" && life.tunnel("inner").code == .outerPending)
    #expect(life.machine.state.observed.kernel.ownRoutes.contains { $0.link == "inner" })
    life.machine.run(for: .seconds(8))
    life.machine.peersAnswer = true
    life.machine.run(for: .seconds(8))
    #expect(try life.tunnel("outer").state == "connected" && life.tunnel("inner").state == "connected")
    #expect(!life.states.contains("inner disconnected"))
  }

  @Test("another `through:` is another way, and so another start") func changed() throws {
    let life = life(outer(), inner())
    life.start(for: .seconds(2))
    life.forget()
    life.policiesChange(to: outer(.connect), inner(through: nil))
    life.machine.run(for: .seconds(2))
    #expect(life.states.contains("inner disconnected"))
    #expect(try life.tunnel("inner").state == "connected" && life.tunnel("outer").state == "connected")
    #expect(!life.machine.state.observed.kernel.ownRules.contains { $0.priority > 22_000 })
  }

  @Test("the endpoint's name is asked of the outer tunnel's servers, through it") func names() throws {
    var (outer, inner) = (outer(), inner())
    outer.dns = DNSPolicy(servers: [Sample.address("10.0.0.53")], matchDomains: [.within(Sample.domain("corp.example"))])
    for (endpoint, way) in [("lab.corp.example", "on outer by 10.0.0.53"), ("lab.example", "on - by 192.0.2.53")] {
      inner.provider = .wireGuard(
        WireGuardProviderConfiguration(path: "/etc/inner.conf", configuration: Sample.wireGuard(endpoint: "\(endpoint):51820")))
      let life = life(outer, inner, on: Sample.network(Sample.wifi("Cafe", servers: ["192.0.2.53"])))
      life.machine.dns.names[Sample.domain(endpoint)] = [Sample.address("10.1.1.1")]
      life.start(for: .seconds(2))
      #expect(life.machine.dns.lookups == ["\(endpoint) \(way)"])
      #expect(try life.tunnel("inner").state == "connected")
    }
  }

  @Test(
    "three in one another, over random lives: an inner one is up only while its outer one is there, and in the end all is as wanted",
    arguments: 0..<40)
  func lives(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let third = inner(through: "inner", name: "third")
    let life = life(third, inner(.disconnect), outer())
    var wrong: [String] = []
    life.whenTold = { [unowned life] event in
      guard case .state(let name, _, let to, _, _) = event, to == "connecting" else { return }
      let outerName = ["third": "inner", "inner": "outer"][name]
      if let outerName, let outer = life.status.tunnels.first(where: { $0.name == outerName }), outer.state != "connected" {
        // An attempt that failed is repeated in the place that it has.
        if life.states.last(where: { $0.hasPrefix("\(name) ") }) == "\(name) disconnected" {
          wrong.append("\(name) starts without \(outerName), which is \(outer.state)")
        }
      }
    }
    life.start()
    for _ in 0..<30 {
      switch Int.random(in: 0..<9, using: &random) {
      case 0: life.move(to: Self.home)
      case 1: life.move(to: Self.cafe)
      case 2: life.machine.peersAnswer = false
      case 3, 4: life.machine.peersAnswer = true
      case 5: life.machine.sleep(for: .seconds(Int.random(in: 1...600, using: &random)))
      case 6:
        let name = ["outer", "inner", "third"].randomElement(using: &random) ?? ""
        try life.agent.override(name, OverrideRequest(wantsUp: Bool.random(using: &random), until: .resume))
      case 7: _ = try life.agent.resume(nil)
      default: life.move(to: NetworkSnapshot())
      }
      life.machine.run(for: .milliseconds(Int.random(in: 0...20_000, using: &random)))
      let states = Dictionary(life.status.tunnels.map { ($0.name, $0.state) }) { first, _ in first }
      for (name, outer) in [("third", "inner"), ("inner", "outer")] where states[name] == "connected" && states[outer] == "disconnected" {
        wrong.append("\(name) is connected, and \(outer) is down")
      }
    }
    #expect(wrong == [])
    _ = try life.agent.resume(nil)
    life.machine.peersAnswer = true
    life.move(to: Self.cafe)
    life.machine.run(for: .seconds(150))
    #expect(try ["outer", "inner", "third"].map { try life.tunnel($0).state } == ["connected", "connected", "connected"])
    #expect(try life.preview.plan.isEmpty)
    life.agent.stop {}
    life.machine.run(for: .seconds(10))
    #expect(life.machine.state.observed.kernel.ownRules.isEmpty && life.machine.state.observed.kernel.ownRoutes.isEmpty)
  }
}
