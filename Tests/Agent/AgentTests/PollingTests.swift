import AgentCore
import ControlProtocol
import KernelModel
import LinuxPlatform
import NetworkTypes
import RoamwardCore
import Simulation
import TestKit
import Testing

/// While a peer is awaited, its device alone is asked.
@Suite struct PollingTests {
  let cafe = Sample.network(Sample.wifi("Cafe"))
  let tunnel = Sample.tunnel(rules: [Sample.rule(.always, .connect)])

  @Test("a peer that does not answer costs a few looks at its device a second, and none at the machine") func silentPeer() throws {
    let life = WatchedAgent(tunnel, on: cafe)
    life.machine.peersAnswer = false
    life.start(for: .seconds(2))
    let early = life.status.counters
    #expect((30...70).contains(early.polls), "\(early.polls)")
    life.machine.run(for: .seconds(12))
    let late = life.status.counters
    #expect((44...52).contains(late.polls - early.polls), "four a second: \(late.polls - early.polls)")
    #expect(late.observations == early.observations && late.evaluations == early.evaluations && late.plans == early.plans)
    #expect(try life.tunnel().state == "connecting")
    life.machine.peersAnswer = true
    life.machine.run(for: .milliseconds(250))
    #expect(try life.tunnel().state == "connected" && life.agent.isAtRest)
  }

  @Test("on another network it asks eagerly again") func roams() throws {
    let life = WatchedAgent(tunnel, on: cafe)
    life.start()
    life.machine.peersAnswer = false
    life.move(to: Sample.network(Sample.wifi("Hotel", gateway: "203.0.113.1", address: "203.0.113.23/24")))
    life.machine.run(for: .seconds(5))
    life.move(to: cafe)
    life.machine.peersAnswer = true
    life.machine.run(for: .milliseconds(50))
    #expect(try life.tunnel().state == "connected")
  }

  @Test("a device that is gone is looked for at once, and made anew") func gone() throws {
    let life = WatchedAgent(tunnel, on: cafe)
    life.machine.peersAnswer = false
    life.start(for: .seconds(5))
    life.machine.state.apply([.deleteLink("corp", .kernel)])
    life.machine.run(for: .milliseconds(250))
    #expect(life.machine.state.observed.kernel.link(named: "corp") != nil)
    life.machine.peersAnswer = true
    life.machine.run(for: .milliseconds(250))
    #expect(try life.tunnel().state == "connected")
  }
}
