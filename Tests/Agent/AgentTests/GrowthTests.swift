import AgentCore
import ControlProtocol
import JSON
import NetworkTypes
import RoamwardCore
import Simulation
import TestKit
import Testing

/// Nothing that an event costs the agent is quadratic in the number of tunnels.
@Suite("Growth with tunnels", .serialized) struct TunnelGrowthTests {
  private func policies(_ count: Int, changing changed: Int = 0) -> PolicySet {
    PolicySet(
      tunnels: (0..<count).map { number in
        let ssid = Sample.ssid("Site\(number)\(number == 7 ? "-\(changed)" : "")")
        // Each network has another rule decide, so that each decision is news.
        return Sample.tunnel(
          "site\(number)",
          rules: [
            Sample.rule(.ssid([ssid]), .connect), Sample.rule(.ssid([Sample.ssid("Hotel")]), .disconnect),
            Sample.rule(.always, .disconnect),
          ])
      })
  }

  private func network(_ turn: Int) -> NetworkSnapshot { Sample.network(Sample.wifi(turn % 2 == 0 ? "Cafe" : "Hotel")) }

  /// A life that has come to rest.
  private func life(_ count: Int) throws -> RecordedLife {
    let life = try RecordedLife(policies(count), on: network(0))
    life.machine.run(for: .seconds(2))
    life.flush()
    return life
  }

  /// Of an event, which has a number, with its record.
  private func growth(of event: @escaping (RecordedLife, _ tunnels: Int, _ turn: Int) -> Void) throws -> Double {
    try growthExponent(from: 100) { count in
      let life = try life(count)
      var turn = 0
      return {
        turn += 1
        event(life, count, turn)
        life.machine.run(for: .seconds(2))
        life.flush()
      }
    }
  }

  @Test("a change of network") func network() throws {
    let exponent = try growth { life, _, turn in life.move(to: network(turn)) }
    #expect(exponent < linearGrowth)
  }

  @Test("one policy changes") func reload() throws {
    let exponent = try growth { life, count, turn in
      life.machine.policies = policies(count, changing: turn)
      life.agent.policiesChanged()
    }
    #expect(exponent < linearGrowth)
  }

  @Test("the status") func status() throws {
    let exponent = try growthExponent(from: 100) { count in
      let life = try life(count)
      return { #expect(!JSON(encoding: life.agent.status(at: 0, process: 1)).text().isEmpty) }
    }
    #expect(exponent < linearGrowth)
  }
}
