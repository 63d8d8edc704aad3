import AgentCore
import ControlProtocol
import KernelModel
import NetworkTypes
import ProviderProtocol
import RoamwardCore
import Simulation
import TestKit
import Testing

/// Connected providers that say nothing, judged by the agent itself.
@Suite("Providers that say nothing") struct SilentProviderTests {
  private func life(needing needs: Set<ProviderProgram.Need> = [.device, .udp]) throws -> WatchedAgent {
    let life = WatchedAgent(InstalledProviderTests.policy(needing: needs), on: Sample.network(Sample.wifi("Cafe")))
    life.machine.providers.servers = ["plain": Sample.endpoint("203.0.113.10:9999")]
    life.machine.providers.ownAddresses = ["plain": Sample.address("192.0.2.23")]
    life.start()
    #expect(try life.tunnel("plain").state == "connected")
    return life
  }

  /// Packets into the link for so many seconds, one a second; those before `dies` have an answer.
  private func exchange(_ life: WatchedAgent, seconds: Int, answered dies: Int = 0, _ each: (Int) -> Void = { _ in }) {
    for second in 1...seconds {
      let count = life.machine.providers.packets["plain"] ?? (0, 0)
      life.machine.providers.packets["plain"] = (count.received + (second <= dies ? 1 : 0), count.sent + 1)
      life.machine.run(for: .seconds(1))
      each(second)
    }
  }

  @Test("packets without an answer: reasserting within 25 s, failed within 60 s, and started again", arguments: [0, 1, 2, 3, 4, 7])
  func traffic(delay: Int) throws {
    let life = try life()
    life.machine.providers.packets["plain"] = (10, 10)
    life.machine.run(for: .seconds(60 + delay))
    var (doubted, failed) = (0, 0)
    exchange(life, seconds: 60) { second in
      if doubted == 0, life.states.last == "plain reasserting" { doubted = second }
      if failed == 0, !life.failures.isEmpty { failed = second }
    }
    #expect((1...25).contains(doubted) && (1...60).contains(failed), "\(doubted) \(failed)")
    #expect(life.failures.first?.contains("nothing has come back through plain") == true)
    life.machine.run(for: .seconds(3))
    #expect(try life.tunnel("plain").state == "connected" && life.machine.providers.starts == 2)
  }

  @Test("an answer, no traffic, and what the kernel sends of its own accord are no silence") func answered() throws {
    let life = try life()
    exchange(life, seconds: 120, answered: 120)
    life.machine.run(for: .seconds(600))
    for _ in 1...3 {
      life.machine.providers.packets["plain"]?.sent += 2
      life.machine.run(for: .seconds(5))
    }
    life.machine.run(for: .seconds(600))
    #expect(life.failures.isEmpty && life.states.last == "plain connected")
    exchange(life, seconds: 30)
    #expect(try life.tunnel("plain").state == "reasserting")
    exchange(life, seconds: 6, answered: 6)
    #expect(try life.tunnel("plain").state == "connected" && life.failures.isEmpty)
  }

  @Test("a provider that opens its sockets itself is not judged") func own() throws {
    let life = WatchedAgent(InstalledProviderTests.policy(needing: [.device, .tcp, .sockets]), on: Sample.network(Sample.wifi("Cafe")))
    life.start()
    exchange(life, seconds: 120)
    #expect(life.failures.isEmpty && life.states.last == "plain connected")
  }

  @Test("a socket whose address is gone: a provider that opens no other on the next network is started again there") func roams() throws {
    let life = try life()
    life.machine.providers.ownAddresses = ["plain": Sample.address("198.51.100.23")]
    life.move(to: Sample.network(Sample.wired()))
    life.machine.run(for: .seconds(7))
    #expect(life.failures.count == 1 && life.failures.first?.contains("192.0.2.23") == true)
    #expect(try life.tunnel("plain").state == "connected")
  }
}
