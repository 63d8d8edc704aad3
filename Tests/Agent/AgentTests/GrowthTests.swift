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

  /// A life whose rest is over, and the number of turns that it has had.
  private func life(_ count: Int) throws -> RecordedLife {
    let life = try RecordedLife(policies(count), on: network(0))
    life.machine.run(for: .seconds(2))
    life.flush()
    return life
  }

  @Test("a change of network, with its record") func network() throws {
    let exponent = try growthExponent(from: 100) { count in
      let life = try life(count)
      var turn = 0
      return {
        turn += 1
        life.move(to: network(turn))
        life.machine.run(for: .seconds(2))
        life.flush()
      }
    }
    #expect(exponent < linearGrowth)
  }

  @Test("one policy changes") func reload() throws {
    let exponent = try growthExponent(from: 100) { count in
      let life = try life(count)
      var turn = 0
      return {
        turn += 1
        life.machine.policies = policies(count, changing: turn)
        life.agent.policiesChanged()
        life.machine.run(for: .seconds(2))
        life.flush()
      }
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
