import AgentCore
import ControlProtocol
import NetworkTypes
import RoamwardCore
import Simulation
import TestKit
import Testing

/// The counts of `metrics` against the events that the agent published.
@Suite struct CountingTests {
  @Test("each state, decision and wake-up is counted where it is published; a question counts nothing") func life() throws {
    let home = Sample.network(Sample.wifi("Home"))
    let cafe = Sample.network(Sample.wifi("Cafe", gateway: "198.51.100.1", address: "198.51.100.23/24"))
    var tunnel = Sample.tunnel(rules: [
      Rule(name: "trusted", match: .ssid([Sample.ssid("Home")]), action: .disconnect, location: Sample.place()),
      Rule(name: "elsewhere", action: .connect, location: Sample.place(2)),
    ])
    tunnel.onDemand.timing.releaseDelay = .zero
    let life = WatchedAgent(tunnel, on: cafe)
    life.start()
    life.move(to: home)
    life.machine.run(for: .seconds(2))
    let report = life.agent.metrics(of: life.status)
    func count(_ subject: EventCounts.Subject, _ detail: String) -> Int64 {
      report.counts.filter { $0.subject == subject && $0.detail == detail }.reduce(0) { $0 + $1.number }
    }
    for state in ["connecting", "connected", "disconnecting", "disconnected"] {
      let published = life.events.count { if case .state("corp", _, state, _, _) = $0 { true } else { false } }
      #expect(count(.state, state) == published && published > 0, "\(state): \(published)")
    }
    #expect(count(.decision, "connect") > 0 && count(.decision, "disconnect") == 1 && count(.policy, "policy-loaded") == 1)
    #expect(count(.wake, "policies") == 1 && count(.wake, "network-event") > 0)
    #expect(life.agent.metrics(of: life.status).counts == report.counts)
  }

  @Test("a status has what the kernel has for the tunnel: addresses, routes, MTU; and its names while it is up") func network() throws {
    let life = WatchedAgent(
      Sample.tunnel(rules: [Rule(action: .connect, location: Sample.place())]), on: Sample.network(Sample.wifi("Cafe")))
    life.start()
    let tunnel = try life.tunnel()
    #expect(tunnel.state == "connected" && tunnel.mtu != nil && !tunnel.addresses.isEmpty)
    #expect(tunnel.routes.count == tunnel.routeCount && tunnel.routeCount > 0, "\(tunnel.routes)")
    #expect(try life.status.coded == life.status)
  }
}
