import AgentCore
import ControlProtocol
import KernelModel
import NetworkTypes
import RoamwardCore
import Simulation
import TestKit
import Testing

/// The proxies of policies over the life of an agent.
@Suite struct ProxyTests {
  private static let cafe = Sample.network(Sample.wifi("Cafe", gateway: "198.51.100.1", address: "198.51.100.23/24"))

  private static var tunnel: TunnelPolicy {
    var tunnel = Sample.tunnel(rules: [Sample.rule(.always, .connect)])
    tunnel.proxy = ProxyPolicy(http: "10.0.0.80:3128", exclude: ["corp.example"])
    tunnel.proxy?.publish = [.environment, .chromium, .firefox]
    return tunnel
  }

  @Test("are in use while their tunnel is connected, and none is left at the end") func life() throws {
    let life = WatchedAgent(Self.tunnel, on: Self.cafe)
    life.machine.peersAnswer = false
    life.start()
    let proxies = { life.machine.state.observed.proxies }
    #expect(proxies().server == .serving(.direct) && proxies().published == [.chromium, .firefox])
    #expect(life.status.proxies?.script == .direct && life.status.proxies?.environment == [])
    life.machine.peersAnswer = true
    life.machine.run(for: .seconds(90))
    #expect(try life.tunnel().state == "connected")
    #expect(proxies().server == .serving(.rules(try #require(Self.tunnel.proxy?.rules), tunnel: "corp")))
    let report = try #require(life.status.proxies)
    #expect(report.tunnel == "corp" && report.http == "http://10.0.0.80:3128" && report.exclude == ["corp.example"])
    #expect(report.rules == Self.tunnel.proxy?.rules && report.environment.first == "http_proxy=http://10.0.0.80:3128")
    #expect(try life.preview.plan.isEmpty)
    try life.agent.override("corp", OverrideRequest(wantsUp: false, until: .resume))
    life.machine.run(for: .seconds(5))
    #expect(try life.tunnel().state == "disconnected" && proxies().server == .serving(.direct))
    life.agent.stop {}
    life.machine.run(for: .seconds(5))
    #expect(proxies() == ObservedProxies())
  }

  @Test("of a policy without `publish` are a note, and change nothing") func unpublished() throws {
    var tunnel = Self.tunnel
    tunnel.proxy?.publish = []
    let life = WatchedAgent(tunnel, on: Self.cafe)
    life.start()
    #expect(life.machine.state.observed.proxies == ObservedProxies())
    #expect(life.status.proxies == nil)
    #expect(try life.tunnel().notes.contains { $0.text.contains("it has no `publish`") })
    life.policiesChange(to: Self.tunnel)
    life.machine.run(for: .seconds(5))
    #expect(life.machine.state.observed.proxies.published == [.chromium, .firefox])
    life.policiesChange(to: tunnel)
    life.machine.run(for: .seconds(5))
    #expect(life.machine.state.observed.proxies == ObservedProxies())
  }

  @Test("whose files cannot be removed do not keep the agent from its end") func stuck() throws {
    let life = WatchedAgent(Self.tunnel, on: Self.cafe)
    life.start()
    life.machine.failingSteps = { $0 == .removeProxies ? "read-only file system" : nil }
    var isStopped = false
    life.agent.stop { isStopped = true }
    life.machine.run(for: .seconds(1))
    #expect(!isStopped)
    life.machine.run(for: .seconds(5))
    #expect(isStopped)
  }
}
