import Agent
import ControlProtocol
import NetworkTypes
import RoamwardCore
import TestKit
import Testing

@Suite struct ProviderTests {
  let cafe = Sample.network(Sample.wifi("Cafe", servers: ["198.51.100.53"], gateway: "198.51.100.1", address: "198.51.100.23/24"))
  let always = [Sample.rule(.always, .connect)]

  func command(status: [String] = []) -> TunnelPolicy {
    TunnelPolicy(
      name: "ssl", provider: .command(CommandProviderConfiguration(up: ["up"], down: ["down"], status: status)),
      onDemand: OnDemand(rules: always), location: Sample.place())
  }

  @Test("an endpoint's name is looked up on the underlay, with its servers") func resolves() {
    let world = SimulatedWorld()
    world.network = cafe
    world.names = [Sample.domain("vpn.example"): [Sample.address("2001:db8::9"), Sample.address("203.0.113.9")]]
    world.policies = PolicySet(tunnels: [Sample.tunnel(rules: always, wireGuard: Sample.wireGuard(endpoint: "vpn.example:51820"))])
    let agent = world.agent()
    agent.start()
    world.run(for: .seconds(1))
    #expect(world.lookups == ["vpn.example on wlan0 by 198.51.100.53"])
    // The café has no IPv6 gateway.
    #expect(world.state.observed.wireGuard["corp"]?.peers.first?.endpoint == Sample.endpoint("203.0.113.9:51820"))
  }

  @Test("a name that does not resolve is the reason; one that did once keeps its address") func unresolved() throws {
    let world = SimulatedWorld()
    world.network = cafe
    world.policies = PolicySet(tunnels: [Sample.tunnel(rules: always, wireGuard: Sample.wireGuard(endpoint: "vpn.example:51820"))])
    let agent = world.agent()
    agent.start()
    world.run(for: .milliseconds(100))
    let failure = try #require(agent.status(at: 0, process: 1).tunnels.first?.failure)
    #expect(failure == "the endpoint vpn.example cannot be resolved: no such name")
    world.names = [Sample.domain("vpn.example"): [Sample.address("203.0.113.9")]]
    world.run(for: .seconds(2))
    world.names = [:]
    world.move(to: Sample.network(Sample.wired()), agent)
    #expect(agent.status(at: 0, process: 1).tunnels.first?.state == "connected")
  }

  @Test("a kernel without WireGuard gets a userspace device, which takes its time") func userspace() {
    let world = SimulatedWorld()
    world.network = cafe
    world.engine = .engine(.userspace)
    world.policies = PolicySet(tunnels: [Sample.tunnel(rules: always)])
    let agent = world.agent()
    agent.start()
    world.run(for: .seconds(1))
    #expect(world.states == ["corp connecting", "corp connected"])
  }

  @Test("no engine at all is said with its cure") func noEngine() throws {
    let world = SimulatedWorld()
    world.network = cafe
    world.engine = .none(because: "cure: apt install wireguard-go")
    world.policies = PolicySet(tunnels: [Sample.tunnel(rules: always)])
    let agent = world.agent()
    agent.start()
    world.run(for: .milliseconds(100))
    #expect(agent.status(at: 0, process: 1).tunnels.first?.failure == "cure: apt install wireguard-go")
  }

  @Test("commands: up, then status until it is well, then down") func commands() {
    let world = SimulatedWorld()
    world.network = cafe
    world.commandResults = [.status: [.failed(because: "not yet"), .failed(because: "not yet"), .succeeded]]
    world.policies = PolicySet(tunnels: [command(status: ["status"])])
    let agent = world.agent()
    agent.start()
    world.run(for: .seconds(5))
    #expect(world.commands == ["ssl up", "ssl status", "ssl status", "ssl status"])
    #expect(world.states == ["ssl connecting", "ssl connected"])
    world.policies = PolicySet()
    agent.policiesChanged()
    world.run(for: .seconds(1))
    #expect(world.commands.last == "ssl down" && world.states.last == "ssl disconnected")
  }

  @Test("a command that fails is undone and tried again later") func failingCommand() {
    let world = SimulatedWorld()
    world.network = cafe
    world.commandResults = [.up: [.failed(because: "up: no licence"), .succeeded]]
    world.policies = PolicySet(tunnels: [command()])
    let agent = world.agent()
    agent.start()
    world.run(for: .milliseconds(500))
    #expect(agent.status(at: 0, process: 1).tunnels.first?.failure == "up: no licence")
    world.run(for: .seconds(1))
    #expect(world.commands == ["ssl up", "ssl down", "ssl up"])
    #expect(world.states.last == "ssl connected")
  }
}
