import AgentCore
import ControlProtocol
import KernelModel
import NetworkTypes
import RoamwardCore
import Simulation
import TestKit
import Testing

/// The agent's part in routes by name: an answer waits until the kernel has the routes of its addresses.
@Suite struct NamedRouteTests {
  private static func tunnel(_ include: [String] = ["shop.example"], exclude: [String] = [], killSwitch: KillSwitch = .off) -> TunnelPolicy
  {
    var tunnel = DayOut.full(killSwitch)
    tunnel.onDemand.rules = [Rule(action: .connect, location: Sample.place())]
    tunnel.routes = RoutePolicy(include: exclude.isEmpty ? [] : [.everything(.v4), .everything(.v6)])
    tunnel.routes?.includeDomains = include.map(Sample.domain)
    tunnel.routes?.excludeDomains = exclude.map(Sample.domain)
    return tunnel
  }

  private func agent(_ tunnel: TunnelPolicy) -> WatchedAgent {
    var cafe = DayOut.cafe
    cafe.links[0].dnsServers = .known([Sample.address("198.51.100.53")])
    let agent = WatchedAgent(tunnel, on: cafe)
    agent.machine.state.installNameServer()
    agent.start()
    return agent
  }

  private func lookUp(_ name: String, _ addresses: String..., in agent: WatchedAgent) {
    agent.machine.dns.names[Sample.domain(name)] = addresses.map(Sample.address)
    agent.machine.lookUp(Sample.domain(name))
    agent.machine.run(for: .milliseconds(10))
  }

  private func routes(_ agent: WatchedAgent) -> [String] {
    agent.machine.state.observed.kernel.routes.filter { $0.metric == Route.metricByName }.map { "\($0.kind) \($0.destination)" }.sorted()
  }

  @Test("an answer is given when its routes are there, and one that is known already costs no step") func given() throws {
    let agent = agent(Self.tunnel())
    #expect(try agent.tunnel().state == "connected" && agent.machine.questions.given.isEmpty && routes(agent).isEmpty)
    var wereThere = true
    agent.machine.whenApplied = { [unowned agent] _ in wereThere = wereThere && agent.machine.questions.given.isEmpty }
    lookUp("www.shop.example", "203.0.113.7", "203.0.113.8", in: agent)
    #expect(wereThere && agent.machine.questions.given.count == 1)
    #expect(routes(agent) == ["unicast 203.0.113.7/32", "unicast 203.0.113.8/32"])
    let steps = agent.machine.log.applied.count
    lookUp("git.shop.example", "203.0.113.8", in: agent)
    #expect(agent.machine.questions.given.count == 2 && agent.machine.log.applied.count == steps)
    let report = try #require(agent.tunnel().byName)
    #expect(report.count == 2 && report.addresses.map(\.name) == ["www.shop.example", "git.shop.example"])
    let told = agent.events.filter { if case .nameRoute = $0 { true } else { false } }
    #expect(
      told == [
        .nameRoute(
          tunnel: "corp", name: Sample.domain("www.shop.example"), .include, [Sample.address("203.0.113.7"), Sample.address("203.0.113.8")])
      ])
    #expect(agent.status.withoutOthers.tunnels[0].byName?.addresses.allSatisfy { $0.name == nil } == true)
  }

  @Test("a route ends with its answer, and stays while a program is connected") func ends() throws {
    let agent = agent(Self.tunnel())
    lookUp("www.shop.example", "203.0.113.7", "203.0.113.8", in: agent)
    agent.machine.dns.connected = [Sample.address("203.0.113.8")]
    agent.machine.run(for: .seconds(320))
    #expect(routes(agent) == ["unicast 203.0.113.8/32"])
    agent.machine.dns.connected = []
    agent.machine.run(for: .seconds(70))
    #expect(try routes(agent).isEmpty && agent.tunnel().byName?.count == 0)
  }

  @Test("an excluded name's address is outside routes and kill switch before the program has it") func excluded() throws {
    let agent = agent(Self.tunnel([], exclude: ["video.example"], killSwitch: .on))
    lookUp("www.video.example", "203.0.113.7", in: agent)
    #expect(routes(agent) == ["throw 203.0.113.7/32"] && agent.machine.questions.given.count == 1)
    let tables = agent.machine.log.applied.compactMap { if case .replaceFirewall(let table) = $0 { table } else { nil } }
    #expect(
      tables.last?.holdingBack(Sample.address("203.0.113.7")) == [] && tables.last?.holdingBack(Sample.address("203.0.113.8")) == ["corp"])
  }

  @Test("an address that must not be routed gets no route, and the answer is given all the same, with the reason in the status")
  func refused() throws {
    let agent = agent(Self.tunnel())
    lookUp("www.shop.example", "127.0.0.9", in: agent)
    #expect(
      try routes(agent).isEmpty && agent.machine.questions.given.count == 1 && agent.tunnel().byName?.refused?.contains("127.0.0.9") == true
    )
  }

  @Test("routes go with the tunnel and come back with it; a policy without the domain ends them") func life() throws {
    let agent = agent(Self.tunnel())
    lookUp("www.shop.example", "203.0.113.7", in: agent)
    try agent.agent.override("corp", OverrideRequest(wantsUp: false))
    agent.machine.run(for: .seconds(5))
    #expect(routes(agent).isEmpty)
    try agent.agent.resume("corp")
    agent.machine.run(for: .seconds(5))
    #expect(routes(agent) == ["unicast 203.0.113.7/32"])
    agent.policiesChange(to: Self.tunnel(["lab.example"]))
    #expect(routes(agent).isEmpty)
  }

  @Test("a look-up that starts the tunnel has its routes too") func started() throws {
    var tunnel = DayOut.watched()
    tunnel.routes = RoutePolicy()
    tunnel.routes?.includeDomains = [Sample.domain("corp.example")]
    let agent = agent(tunnel)
    agent.machine.dns.names[Sample.domain("git.corp.example")] = [Sample.address("203.0.113.7")]
    agent.machine.lookUp(Sample.domain("git.corp.example"))
    agent.machine.run(for: .seconds(1))
    #expect(try agent.tunnel().state == "connected")
    agent.machine.lookUp(Sample.domain("git.corp.example"))
    agent.machine.run(for: .seconds(1))
    #expect(routes(agent) == ["unicast 203.0.113.7/32"] && agent.machine.questions.given.count == 1)
  }
}
