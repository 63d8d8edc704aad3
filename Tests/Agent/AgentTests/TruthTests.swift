import AgentCore
import ControlProtocol
import LinuxPlatform
import NetworkTypes
import RoamwardCore
import Simulation
import TestKit
import Testing

/// The reports of `status` and `monitor` against the agent's actions.
@Suite struct TruthTests {
  let home = Sample.network(Sample.wifi("Home"))
  let cafe = Sample.network(Sample.wifi("Cafe", gateway: "198.51.100.1", address: "198.51.100.23/24"))
  let rules = [
    Rule(name: "trusted", match: .ssid([Sample.ssid("Home")]), action: .disconnect, location: Sample.place()),
    Rule(name: "elsewhere", action: .connect, location: Sample.place(2)),
  ]

  @Test("while the release delay runs, status says that the tunnel is still up, which rule wants it down, and when") func releaseDelay()
    throws
  {
    var tunnel = Sample.tunnel(rules: rules)
    tunnel.onDemand.timing.releaseDelay = .seconds(5)
    let life = WatchedAgent(tunnel, on: cafe)
    life.start()
    #expect(try life.tunnel().reason == "rule 2 \"elsewhere\": always")
    life.move(to: home)
    life.machine.run(for: .seconds(2))
    #expect(try life.tunnel().state == "connected")
    #expect(try life.tunnel().reason.hasPrefix("still up: rule 1 \"trusted\" wants it down, in "))
    #expect(try life.tunnel().reason.hasSuffix(" s: ssid \"Home\" is \"Home\""))
    let named = life.events.contains { event in
      if case .decision("corp", "disconnect", 1, "trusted", .ruleMatched, _) = event { true } else { false }
    }
    #expect(named)
  }

  @Test("of a policy that changes in what matters, the failure and the wait are gone", arguments: [true, false])
  func correctedEndpoint(answers: Bool) throws {
    let wrong = Sample.tunnel(rules: rules, wireGuard: Sample.wireGuard(endpoint: "vpn.nosuch.example:51820"))
    let life = WatchedAgent(wrong, on: cafe)
    life.start(for: .seconds(100))
    #expect(try life.tunnel().failure?.contains("cannot be resolved") == true)
    life.machine.peersAnswer = answers
    let corrected = Sample.tunnel(rules: rules)
    life.policiesChange(to: corrected)
    #expect(try life.tunnel().failure == nil && life.tunnel().state == (answers ? "connected" : "connecting"))
  }

  @Test("another setting of the same provider begins anew too, another line number does not") func correctedRoutes() throws {
    var refusing = Sample.tunnel(
      rules: rules, routes: RoutePolicy(include: [Sample.prefix("198.51.100.0/24")], onOverlap: .refuse))
    let life = WatchedAgent(refusing, on: cafe)
    life.start(for: .seconds(100))
    let failure = try #require(try life.tunnel().failure)
    refusing.location = Sample.place(9)
    life.policiesChange(to: refusing)
    #expect(try life.tunnel().failure == failure)
    refusing.routes?.onOverlap = .preferTunnel
    life.policiesChange(to: refusing)
    #expect(try life.tunnel().failure == nil && life.tunnel().state == "connected")
  }

  @Test("of two enterprise tunnels one runs; the other says which one comes first, and takes its place when that one goes") func exclusion()
    throws
  {
    var second = Sample.tunnel("lab", rules: rules, precedence: .enterprise)
    second.killSwitch = .on
    let life = WatchedAgent(Sample.tunnel("corp", rules: rules, precedence: .enterprise), second, on: cafe)
    life.start()
    #expect(try life.tunnel("corp").state == "connected" && life.tunnel("lab").state == "disconnected")
    #expect(try life.tunnel("lab").reason == "enterprise tunnel corp comes first; rule 2 \"elsewhere\": always")
    #expect(life.status.firewall.blocking == ["lab"], "its rules want it, so its kill switch holds")
    try life.agent.override("lab", OverrideRequest(wantsUp: true, until: .resume))
    life.machine.run(for: .seconds(2))
    #expect(try life.tunnel("corp").state == "disconnected" && life.tunnel("lab").state == "connected")
    // Another word of a person ends the first one, as enabling a configuration disables the other on Apple's systems.
    try life.agent.override("corp", OverrideRequest(wantsUp: true, until: .resume))
    life.machine.run(for: .seconds(2))
    #expect(try life.tunnel("corp").state == "connected" && life.tunnel("lab").override == nil)
    try life.agent.override("corp", OverrideRequest(wantsUp: false, until: .resume))
    life.machine.run(for: .seconds(2))
    #expect(try life.tunnel("corp").state == "disconnected" && life.tunnel("lab").state == "connected")
    #expect(try life.preview.plan.isEmpty)
  }

  @Test("keys that are not acted on are notes of the tunnel; so is an action, where it is decided") func notActedOn() throws {
    var tunnel = Sample.tunnel(rules: [Sample.rule(.always, .evaluateConnection)])
    tunnel.proxy = ProxyPolicy(http: "http://10.0.0.80:3128")
    tunnel.onDemand.timing.idle = .seconds(600)
    let life = WatchedAgent(tunnel, on: cafe)
    life.start()
    #expect(try life.tunnel().notes.count { $0.text.contains("is not acted on") } == 2)
    #expect(try life.tunnel().reason.contains("not acted on, because the tunnel cannot be armed"))
  }
}
