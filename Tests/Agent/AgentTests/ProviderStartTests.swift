import AgentCore
import ControlProtocol
import JSON
import NetworkTypes
import ProviderProtocol
import RoamwardCore
import Simulation
import TestKit
import Testing

/// Programs of providers that end, or say nothing, before their `hello`.
@Suite("Provider programs that never say hello") struct ProviderStartTests {
  private func life(code: Int32?, rules: [Rule] = [Sample.rule(.always, .connect)]) -> WatchedAgent {
    let life = WatchedAgent(InstalledProviderTests.policy(rules: rules), on: Sample.network(Sample.wifi("Cafe")))
    life.machine.providers.speechless = ["plain": code]
    return life
  }

  @Test(
    "one that ends is told at once with its code, and started again after growing pauses, never twice a second",
    arguments: [(0, "with code 0"), (1, "with code 1"), (126, "may not execute it"), (127, "`ldd /plain`"), (139, "by signal 11")])
  func ends(code: Int32, words: String) throws {
    let life = life(code: code)
    life.start(for: .milliseconds(100))
    let failure = try #require(try life.tunnel("plain").failure)
    #expect(failure.contains(words) && failure.contains("/plain") && failure.contains("provider-ended"))
    #expect(life.failures.count == 1 && life.machine.providers.starts == 1)
    life.machine.run(for: .seconds(11))
    // After 0, 1, 3 and 7 seconds.
    #expect(life.machine.providers.starts == 4)
    life.machine.run(for: .seconds(3600))
    #expect(life.machine.providers.starts < 70)
  }

  @Test("one that says nothing is told after ten seconds, and started again after a pause") func silent() throws {
    let life = life(code: nil)
    life.start(for: .seconds(9))
    #expect(life.failures.isEmpty && life.machine.providers.starts == 1)
    life.machine.run(for: .milliseconds(1500))
    #expect(try life.tunnel("plain").failure?.contains("sent no `hello` within 10") == true && life.machine.providers.starts == 1)
    life.machine.run(for: .seconds(100))
    #expect((5...9).contains(life.machine.providers.starts))
  }

  @Test("a repaired program connects at the next attempt") func repaired() throws {
    let life = life(code: 127)
    life.start(for: .seconds(2))
    life.machine.providers.speechless = [:]
    life.machine.run(for: .seconds(3))
    #expect(try life.tunnel("plain").state == "connected")
  }

  @Test("a message to a stopped tunnel is answered with the reason, and starts the program once") func message() throws {
    let life = life(code: 127, rules: [])
    life.start()
    var replies: [String] = []
    for _ in 0..<5 {
      life.agent.message("plain", ["type": "status", "value": .null]) { reply in
        if case .refused(let error) = reply { replies.append(error.message) }
      }
      life.machine.run(for: .milliseconds(100))
    }
    #expect(replies.count == 5 && replies.allSatisfy { $0.contains("`ldd /plain`") })
    #expect(life.machine.providers.starts == 1)
  }

  @Test("a message to a program that says nothing is answered after five seconds") func silentMessage() {
    let life = life(code: nil, rules: [])
    life.start()
    var replies: [String] = []
    life.agent.message("plain", ["type": "status", "value": .null]) { reply in
      if case .refused(let error) = reply { replies.append(error.message) }
    }
    life.machine.run(for: .milliseconds(4900))
    #expect(replies.isEmpty)
    life.machine.run(for: .milliseconds(200))
    #expect(replies.count == 1 && replies.first?.contains("not ready for messages") == true)
    life.machine.run(for: .seconds(30))
    #expect(life.machine.providers.starts == 1 && life.machine.providers.tunnels.isEmpty)
  }
}
