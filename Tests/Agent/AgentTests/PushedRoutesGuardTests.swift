import AgentCore
import KernelModel
import RoamwardCore
import Simulation
import TestKit
import Testing

/// The kill switch of a tunnel whose routes its server sends, before they are known again.
@Suite("A kill switch for routes that the server sends") struct PushedRoutesGuardTests {
  private func life(_ killSwitch: KillSwitch) -> WatchedAgent {
    let life = WatchedAgent(InstalledProviderTests.policy(killSwitch: killSwitch), on: Sample.network(Sample.wifi("Cafe")))
    life.machine.providers.settings = ["plain": InstalledProviderTests.pushed]
    life.start(for: .seconds(3))
    #expect(life.agent.connectedTunnels == ["plain"])
    return life
  }

  private func next(_ life: WatchedAgent) -> Agent {
    let agent = Agent(platform: life.machine.platform, settle: .milliseconds(500))
    agent.start()
    life.machine.run(for: .seconds(20))
    return agent
  }

  @Test("a restarted agent leaves nothing open meanwhile", arguments: [KillSwitch.on, .always]) func restart(_ killSwitch: KillSwitch) {
    let life = life(killSwitch)
    let before = life.machine.log.applied.count
    var isDone = false
    life.agent.stop(keepingBlock: true, handingOver: true) { isDone = true }
    life.machine.run(for: .seconds(5))
    #expect(isDone)
    let agent = next(life)
    #expect(agent.connectedTunnels == ["plain"])
    #expect(!life.machine.log.applied[before...].contains(.removeFirewall), "\(life.machine.log.applied[before...])")
  }

  @Test("nor does the one after an agent that was killed, at any place") func killed() {
    let undisturbed = life(.on)
    for place in 1...undisturbed.machine.log.places.count {
      let life = WatchedAgent(InstalledProviderTests.policy(killSwitch: .on), on: Sample.network(Sample.wifi("Cafe")))
      life.machine.providers.settings = ["plain": InstalledProviderTests.pushed]
      life.machine.fuse = Fuse(place)
      life.start(for: .seconds(3))
      life.machine.fuse = nil
      let before = life.machine.log.applied.count
      let agent = next(life)
      #expect(agent.connectedTunnels == ["plain"], "place \(place)")
      #expect(!life.machine.log.applied[before...].contains(.removeFirewall), "place \(place): \(life.machine.log.applied[before...])")
    }
  }

  @Test("nor does another run of the program") func again() {
    let life = life(.on)
    let before = life.machine.log.applied.count
    life.forget()
    life.machine.endProgram(of: "plain")
    life.machine.run(for: .seconds(60))
    #expect(life.agent.connectedTunnels == ["plain"] && life.states.last == "plain connected", "\(life.states)")
    #expect(!life.machine.log.applied[before...].contains(.removeFirewall), "\(life.machine.log.applied[before...])")
  }
}
