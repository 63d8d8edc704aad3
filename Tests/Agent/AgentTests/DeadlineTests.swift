import AgentCore
import ControlProtocol
import LinuxPlatform
import NetworkTypes
import RoamwardCore
import Simulation
import TestKit
import Testing

/// All that the agent waits for is one list, and it says why it wakes.
@Suite struct DeadlineTests {
  private let cafe = Sample.network(Sample.wifi("Cafe", gateway: "198.51.100.1", address: "198.51.100.23/24"))
  private let home = Sample.network(Sample.wifi("Home"))
  private let rules = [Sample.rule(.ssid([Sample.ssid("Home")]), .disconnect), Sample.rule(.always, .connect)]

  @Test("why it woke, and what it waits for, in a life") func reasons() throws {
    let life = WatchedAgent(Sample.tunnel(rules: rules), on: home)
    life.start()
    #expect(life.status.lastWake?.reason == "policies" && life.status.nextWake == nil)
    life.machine.peersAnswer = false
    life.machine.network = cafe
    life.agent.networkChanged()
    #expect(life.status.lastWake?.reason == "network-event" && life.status.nextWake?.reason == "poll", "it has started already")
    life.machine.run(for: .seconds(3))
    #expect(life.status.lastWake?.reason == "poll" && life.status.nextWake?.reason == "poll")
    life.machine.run(for: .seconds(12.1))
    #expect(life.status.nextWake?.reason == "tunnel" && life.status.nextWake?.tunnel == "corp", "the next attempt")
    for _ in 0..<60_000 where life.status.lastWake?.reason != "tunnel" { life.machine.run(for: .milliseconds(1)) }
    #expect(life.status.lastWake?.reason == "tunnel" && life.status.lastWake?.tunnel == "corp")
    life.machine.peersAnswer = true
    life.machine.run(for: .seconds(10))
    #expect(try life.tunnel().state == "connected")
    #expect(life.status.nextWake?.reason == "sample" && life.status.nextWake?.tunnel == "corp")
    life.agent.damaged()
    #expect(life.status.lastWake?.reason == "damage")
  }

  @Test("a report with them comes back from its JSON") func json() throws {
    let life = WatchedAgent(Sample.tunnel(rules: rules), on: cafe)
    life.start(for: .seconds(3))
    let status = life.status
    #expect(status.lastWake != nil && status.nextWake != nil)
    #expect(try status.coded == status)
  }
}
