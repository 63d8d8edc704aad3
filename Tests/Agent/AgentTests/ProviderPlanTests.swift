import AgentCore
import ControlProtocol
import KernelModel
import NetworkTypes
import RoamwardCore
import SeededRandom
import Simulation
import TestKit
import Testing

/// The plan's starts and stops of providers, against those that the agent asks for.
@Suite struct ProviderPlanTests {
  private static let cafe = Sample.network(Sample.wifi("Cafe", gateway: "198.51.100.1", address: "198.51.100.23/24"))

  private static func tunnel(_ name: String, _ provider: ProviderConfiguration, _ action: Action = .connect) -> TunnelPolicy {
    var tunnel = Sample.tunnel(name, rules: [Sample.rule(.always, action)])
    tunnel.provider = provider
    tunnel.routes = RoutePolicy(include: [Sample.prefix("192.168.99.0/24")])
    return tunnel
  }

  private static func command(_ up: String, link: String? = nil) -> ProviderConfiguration {
    .command(CommandProviderConfiguration(up: [up], down: ["\(up)-down"], interface: link))
  }

  private static func kinds(_ name: String) -> [ProviderConfiguration] {
    [
      command("up"), command("up2"), command("up", link: "\(name)0"), .service(.init(.unit("\(name)1.service"))),
      .service(.init(.unit("\(name)2.service"))), .service(.init(.profile("\(name)1"))), .service(.init(.profile("\(name)2"))),
      .wireGuard(WireGuardProviderConfiguration(path: "/etc/a.conf", configuration: Sample.wireGuard())),
    ]
  }

  @Test("random changes of random policies: what the plan says before is what is asked for after", arguments: 0..<12)
  func sameAsAgent(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let life = WatchedAgent(on: Self.cafe)
    func policies() -> PolicySet {
      let names = ["a", "b", "c"].filter { _ in Int.random(in: 0..<4, using: &random) > 0 }
      return PolicySet(
        tunnels: names.map { name in
          let kind = Self.kinds(name).randomElement(using: &random) ?? Self.command("up")
          return Self.tunnel(name, kind, Int.random(in: 0..<4, using: &random) == 0 ? .disconnect : .connect)
        })
    }
    life.machine.policies = policies()
    life.start()
    life.machine.run(for: .seconds(60))
    for _ in 0..<12 {
      let old = life.machine.policies
      let new = policies()
      life.machine.policies = new
      let actions = try life.preview.actions
      let before = (life.machine.programs.runs.count, life.machine.programs.services.orders.count)
      life.agent.policiesChanged()
      life.machine.run(for: .seconds(100))
      let runs = life.machine.programs.runs.dropFirst(before.0).filter { $0.hasSuffix(" up") || $0.hasSuffix(" down") }
      let done = runs + life.machine.programs.services.orders.dropFirst(before.1)
      let planned = actions.compactMap { action -> String? in
        switch (action.isStart ? new : old).tunnel(named: action.tunnel)?.provider {
        case .command: "\(action.tunnel) \(action.isStart ? "up" : "down")"
        case .service(let service): "\(action.isStart ? "start" : "stop") \(service.service.name)"
        default: nil
        }
      }
      #expect(planned.count == actions.count && planned.sorted() == done.sorted(), "\(old.tunnels) to \(new.tunnels)")
      #expect(try life.preview.actions.isEmpty && life.preview.others.all.isEmpty)
    }
  }

  @Test("another program, another kind, no policy: each end and each start is told, and our link is no other VPN") func changed() throws {
    let life = WatchedAgent(Self.tunnel("corp", Self.command("up", link: "cmd0")), on: Self.cafe)
    let first = try life.preview
    life.start()
    #expect(
      first.later.map(\.description).contains { $0.hasPrefix("ip route add 192.168.99.0/24 dev cmd0") }
        && first.later.contains { if case .addRule = $0 { true } else { false } })
    func plan(_ tunnel: TunnelPolicy?) throws -> [String] {
      life.machine.policies = PolicySet(tunnels: tunnel.map { [$0] } ?? [])
      let preview = try life.preview
      #expect(preview.others.all.isEmpty)
      return preview.actions.map { String($0.description.prefix { $0 != "," }) }
    }
    #expect(try life.tunnel().state == "connected")
    #expect(try plan(Self.tunnel("corp", Self.command("up2", link: "cmd0"))) == ["stop: corp: runs `up-down`", "start: corp: runs `up2`"])
    let unit = ProviderConfiguration.service(.init(.unit("vpn.service")))
    let start = "start: corp: asks systemd to start vpn.service; what that changes is not known here"
    #expect(try plan(Self.tunnel("corp", unit)) == ["stop: corp: runs `up-down`", start])
    let wireGuard = Self.kinds("corp").last ?? unit
    #expect(try plan(Self.tunnel("corp", wireGuard)) == ["stop: corp: runs `up-down`"])
    #expect(try plan(nil) == ["stop: corp: runs `up-down`"])
    #expect(try plan(Self.tunnel("corp", Self.command("up", link: "cmd0"))) == [])
  }
}
