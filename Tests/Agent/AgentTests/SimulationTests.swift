import ControlProtocol
import NetworkTypes
import RoamwardCore
import Simulation
import TestKit
import Testing

@Suite struct SimulationTests {
  let nowhere = Sample.place()
  let cafe = Sample.network(Sample.wifi("Cafe"))

  func step(_ seconds: Int, _ act: Timeline.Act) -> Timeline.Step { Timeline.Step(at: .seconds(seconds), act: act, location: nowhere) }

  func expect(_ state: String) -> Timeline.Act { .expect(["corp": Timeline.Expectation(state: state)]) }

  func run(_ tunnel: TunnelPolicy, _ steps: [Timeline.Step]) -> (told: [String], failures: [String]) {
    var told: [String] = []
    let timeline = Timeline(start: LocalTime(day: .mon, second: 8 * 3600), steps: steps)
    let simulation = Simulation(timeline, policies: PolicySet(tunnels: [tunnel])) { entry in
      if case .snapshot = entry.event { return }
      told.append("\(entry.at.components.seconds) \(Event(time: 0, kind: entry.event).report.line)")
    }
    let failures = simulation.run().map(\.message)
    return (told, failures)
  }

  @Test("a timeline tells decisions, timers and states, each at its time") func tells() {
    var tunnel = Sample.tunnel(rules: [Sample.rule(.ssid([Sample.ssid("Home")]), .disconnect), Sample.rule(.always, .connect)])
    tunnel.onDemand.timing.releaseDelay = .seconds(5)
    let (told, failures) = run(
      tunnel,
      [
        step(0, .network(cafe)), step(10, expect("connected")), step(60, .network(Sample.network(Sample.wifi("Home")))),
        step(70, expect("disconnected")),
      ])
    #expect(failures == [])
    #expect(told.contains("60 corp: goes down in 5 s, unless the rules want it again before"))
    #expect(told.contains { $0.hasPrefix("65 corp: disconnecting -> disconnected") })
  }

  @Test("an expectation that is not met says what was found, and why") func fails() {
    let (_, failures) = run(
      Sample.tunnel(rules: [Sample.rule(.always, .connect)]), [step(0, .network(cafe)), step(5, expect("disconnected"))])
    #expect(failures == ["corp: expected the state disconnected, found connected, because rule 1: always"])
  }

  @Test("a look-up starts a tunnel, if its peers answer, and idleness ends that") func lookups() throws {
    let name = try #require(DomainName("git.corp.example"))
    let (told, failures) = run(
      DayOut.watched(idle: .seconds(60)),
      [
        step(0, .network(cafe)), step(10, expect("disconnected")), step(20, .lookup(name, resolves: true)), step(21, expect("connected")),
        step(200, expect("disconnected")), step(210, .peers(answer: false)), step(220, .lookup(name, resolves: true)),
        step(221, expect("connecting")), step(300, expect("disconnected")),
      ])
    #expect(failures == [] && told.contains { $0.contains("a look-up of git.corp.example starts it") })
  }

  @Test("the addresses of a look-up are shown with their way, each once") func nameRoutes() throws {
    let name = try #require(DomainName("git.corp.example"))
    let addresses = ["203.0.113.7", "2001:db8::7"].compactMap { IPAddress($0) }
    var tunnel = DayOut.full(.off)
    tunnel.onDemand.rules = [Rule(action: .connect, location: Sample.place())]
    tunnel.routes = RoutePolicy()
    tunnel.routes?.includeDomains = [Sample.domain("corp.example")]
    var cafe = cafe
    cafe.links[0].dnsServers = .known([Sample.address("198.51.100.53")])
    let (told, failures) = run(
      tunnel,
      [
        step(0, .network(cafe)), step(10, expect("connected")), step(20, .lookup(name, resolves: true, addresses: addresses)),
        step(30, .lookup(name, resolves: true)),
      ])
    #expect(
      failures == []
        && told.filter { $0.contains("git.corp.example") } == ["20 corp: 203.0.113.7, 2001:db8::7 of git.corp.example: through it"])
  }

  @Test("a packet brings an armed tunnel up, if its peers answer, and idleness arms it again") func armed() {
    let (told, failures) = run(
      DayOut.armed("10.0.0.0/8"),
      [
        step(0, .network(cafe)), step(10, expect("armed")), step(20, .peers(answer: false)), step(30, .packet(tunnel: "corp")),
        step(31, expect("connecting")), step(50, expect("armed")), step(60, .peers(answer: true)), step(70, .packet(tunnel: "corp")),
        step(71, expect("connected")), step(200, .packet(tunnel: "corp")), step(480, expect("connected")), step(540, expect("armed")),
      ])
    #expect(failures == [])
    #expect(told.contains { $0.contains("a packet asked for it, and the peer did not answer within 15 s; armed again") })
  }

  @Test("who sets the clock moves rules by the clock, not the timers") func clock() {
    let work = TimeWindow(days: [.mon], from: 9 * 60, to: 17 * 60)
    var tunnel = Sample.tunnel(rules: [Sample.rule(.time(work), .connect), Sample.rule(.always, .disconnect)])
    tunnel.onDemand.timing.releaseDelay = .seconds(60)
    let (told, failures) = run(
      tunnel,
      [
        step(0, .network(cafe)), step(10, expect("disconnected")),
        step(20, .clock(LocalTime(day: .mon, second: 9 * 3600))), step(25, expect("connected")),
        // Backwards, and the tunnel stays for its delay by the machine's own clock, which no one sets.
        step(30, .clock(LocalTime(day: .sun, second: 23 * 3600))), step(80, expect("connected")), step(100, expect("disconnected")),
      ])
    #expect(failures == [])
    #expect(told.contains("30 corp: goes down in 1 min, unless the rules want it again before"))
  }
}
