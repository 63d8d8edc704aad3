import AgentCore
import ControlProtocol
import KernelModel
import LinuxPlatform
import NetworkTypes
import RoamwardCore
import Simulation
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
    let life = WatchedAgent(on: cafe)
    life.machine.dns.names = [Sample.domain("vpn.example"): [Sample.address("2001:db8::9"), Sample.address("203.0.113.9")]]
    life.machine.policies = PolicySet(tunnels: [Sample.tunnel(rules: always, wireGuard: Sample.wireGuard(endpoint: "vpn.example:51820"))])
    life.start()
    #expect(life.machine.dns.lookups == ["vpn.example on wlan0 by 198.51.100.53"])
    // The café has no IPv6 gateway.
    #expect(life.machine.state.observed.wireGuard["corp"]?.peers.first?.endpoint == Sample.endpoint("203.0.113.9:51820"))
  }

  @Test("a name that does not resolve is the reason; one that did once keeps its address") func unresolved() throws {
    let life = WatchedAgent(on: cafe)
    life.machine.policies = PolicySet(tunnels: [Sample.tunnel(rules: always, wireGuard: Sample.wireGuard(endpoint: "vpn.example:51820"))])
    life.start(for: .milliseconds(100))
    let failure = try #require(life.status.tunnels.first?.failure)
    #expect(failure == "the endpoint vpn.example cannot be resolved: no such name")
    life.machine.dns.names = [Sample.domain("vpn.example"): [Sample.address("203.0.113.9")]]
    life.machine.run(for: .seconds(2))
    life.machine.dns.names = [:]
    life.move(to: Sample.network(Sample.wired()))
    #expect(life.status.tunnels.first?.state == "connected")
  }

  @Test("a name that does not resolve on another network is looked up there again, a few times, and its new address is used")
  func stale() throws {
    let life = WatchedAgent(on: cafe)
    life.machine.dns.names = [Sample.domain("vpn.example"): [Sample.address("203.0.113.9")]]
    life.machine.policies = PolicySet(tunnels: [Sample.tunnel(rules: always, wireGuard: Sample.wireGuard(endpoint: "vpn.example:51820"))])
    life.start()
    func endpoint() -> Endpoint? { life.machine.state.observed.wireGuard["corp"]?.peers.first?.endpoint }
    life.machine.dns.names = [:]
    life.move(to: Sample.network(Sample.wired(servers: ["192.0.2.53"])))
    #expect(life.status.tunnels.first?.state == "connected" && endpoint() == Sample.endpoint("203.0.113.9:51820"))
    life.machine.dns.names = [Sample.domain("vpn.example"): [Sample.address("203.0.113.11")]]
    life.machine.run(for: .seconds(4))
    #expect(life.status.tunnels.first?.state == "connected" && endpoint() == Sample.endpoint("203.0.113.11:51820"))
    // Without any answer it is asked eight times, and then no more on this network.
    life.machine.dns.names = [:]
    life.move(to: cafe)
    let before = life.machine.dns.lookups.count
    life.machine.run(for: .seconds(1200))
    #expect(life.machine.dns.lookups.count - before == 8)
    #expect(life.status.tunnels.first?.state == "connected" && life.states.suffix(2) == ["corp reasserting", "corp connected"])
  }

  @Test("name servers that come later than the network itself are asked", arguments: [nil, "203.0.113.10"])
  func laterServers(whatTheLastOnesSaid: String?) throws {
    let life = WatchedAgent(on: cafe)
    life.machine.dns.names = [Sample.domain("vpn.example"): [Sample.address("203.0.113.9")]]
    life.machine.policies = PolicySet(tunnels: [Sample.tunnel(rules: always, wireGuard: Sample.wireGuard(endpoint: "vpn.example:51820"))])
    life.start()
    func endpoint() -> Endpoint? { life.machine.state.observed.wireGuard["corp"]?.peers.first?.endpoint }
    life.machine.dns.names = whatTheLastOnesSaid.map { [Sample.domain("vpn.example"): [Sample.address($0)]] } ?? [:]
    life.move(to: Sample.network(Sample.wired(servers: ["198.51.100.53"])))
    life.machine.run(for: .seconds(600))
    let before = life.machine.dns.lookups.count
    life.machine.dns.names = [Sample.domain("vpn.example"): [Sample.address("203.0.113.11")]]
    life.machine.network = Sample.network(Sample.wired(servers: ["192.0.2.53"]))
    life.agent.factsCame()
    life.machine.run(for: .seconds(2))
    #expect(life.machine.dns.lookups.dropFirst(before) == ["vpn.example on eth0 by 192.0.2.53"])
    #expect(life.status.tunnels.first?.state == "connected" && endpoint() == Sample.endpoint("203.0.113.11:51820"))
  }

  @Test("back on a network while the look-up on the other is under way: it is asked there at once, and that look-up is forgotten")
  func backBeforeTheLookUp() {
    let life = WatchedAgent(on: cafe)
    life.machine.dns.names = [Sample.domain("vpn.example"): [Sample.address("203.0.113.9")]]
    life.machine.policies = PolicySet(tunnels: [Sample.tunnel(rules: always, wireGuard: Sample.wireGuard(endpoint: "vpn.example:51820"))])
    life.start()
    life.machine.dns.silentServers = [Sample.address("192.0.2.53")]
    life.move(to: Sample.network(Sample.wired(servers: ["192.0.2.53"])))
    #expect(life.status.tunnels.first?.state == "reasserting" && life.machine.log.renewals == 0)
    life.move(to: cafe)
    #expect(life.status.tunnels.first?.state == "connected" && life.machine.log.renewals == 1)
    life.machine.run(for: .seconds(10))
    #expect(life.machine.log.renewals == 1 && life.states == ["corp connecting", "corp connected", "corp reasserting", "corp connected"])
  }

  @Test("a kernel without WireGuard gets a userspace device, which takes its time") func userspace() {
    let life = WatchedAgent(on: cafe)
    life.machine.engine = .engine(.userspace)
    life.machine.policies = PolicySet(tunnels: [Sample.tunnel(rules: always)])
    life.start()
    #expect(life.states == ["corp connecting", "corp connected"])
  }

  @Test("an engine is kept ready while a WireGuard tunnel is down; then its link is made and configured in one pass") func readyEngine() {
    let life = WatchedAgent(on: Sample.network(Sample.wired()))
    life.machine.engine = .engine(.userspace)
    let rules = [Sample.rule(.not(.interface([.wifi])), .disconnect), Sample.rule(.always, .connect)]
    life.machine.policies = PolicySet(tunnels: [Sample.tunnel(rules: rules)])
    life.start()
    #expect(life.machine.isEngineReady && life.agent.isAtRest)
    life.machine.network = cafe
    life.agent.networkChanged()
    life.machine.run(for: .seconds(1))
    #expect(life.machine.log.places.contains("after start the engine of corp at once"))
    #expect(life.states == ["corp connecting", "corp connected"])
    #expect(!life.machine.isEngineReady, "it is taken, and there is no other tunnel")
    life.move(to: Sample.network(Sample.wired()))
    life.machine.run(for: .seconds(60))
    #expect(life.states.last == "corp disconnected" && life.machine.isEngineReady)
    life.agent.stop {}
    #expect(!life.machine.isEngineReady)
  }

  @Test("without a WireGuard tunnel no engine is kept ready") func noReadyEngine() {
    let life = WatchedAgent(command(), on: Sample.network(Sample.wired()))
    life.start()
    #expect(!life.machine.isEngineReady)
  }

  @Test("no engine at all is said with its cure") func noEngine() throws {
    let life = WatchedAgent(on: cafe)
    life.machine.engine = .none(reason: "cure: install roamward-wireguard")
    life.machine.policies = PolicySet(tunnels: [Sample.tunnel(rules: always)])
    life.start(for: .milliseconds(100))
    #expect(life.status.tunnels.first?.failure == "cure: install roamward-wireguard")
  }

  @Test("commands: up, then status until it is well, then down") func commands() {
    let life = WatchedAgent(on: cafe)
    life.machine.programs.results = [.status: [.failed(reason: "not yet"), .failed(reason: "not yet"), .succeeded]]
    life.machine.policies = PolicySet(tunnels: [command(status: ["status"])])
    life.start(for: .seconds(5))
    #expect(life.machine.programs.runs == ["ssl up", "ssl status", "ssl status", "ssl status"])
    #expect(life.states == ["ssl connecting", "ssl connected"])
    life.policiesChange()
    #expect(life.machine.programs.runs.last == "ssl down" && life.states.last == "ssl disconnected")
  }

  @Test("a network that changes again and again while `down` takes its time: there is one `down` for each `up`") func flappingUnderDown() {
    let life = WatchedAgent(on: cafe)
    life.machine.programs.times = [.up: .seconds(3), .down: .seconds(10)]
    life.machine.policies = PolicySet(tunnels: [command()])
    life.start(for: .seconds(1))
    for i in 1...4 { life.move(to: Sample.network(Sample.wifi("Place \(i)", gateway: "192.0.2.\(i)"))) }
    life.machine.run(for: .seconds(60))
    #expect(life.machine.programs.runs == ["ssl up", "ssl down", "ssl up"])
    #expect(life.status.tunnels.first?.state == "connected")
  }

  @Test("a command that fails is undone and tried again later") func failingCommand() {
    let life = WatchedAgent(on: cafe)
    life.machine.programs.results = [.up: [.failed(reason: "up: no licence"), .succeeded]]
    life.machine.policies = PolicySet(tunnels: [command()])
    life.start(for: .milliseconds(500))
    #expect(life.status.tunnels.first?.failure == "up: no licence")
    life.machine.run(for: .seconds(1))
    #expect(life.machine.programs.runs == ["ssl up", "ssl down", "ssl up"])
    #expect(life.states.last == "ssl connected")
  }
}
