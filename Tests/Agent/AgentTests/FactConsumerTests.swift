import AgentCore
import ControlProtocol
import KernelModel
import NetworkTypes
import ProviderProtocol
import RoamwardCore
import Simulation
import TestKit
import Testing

/// Everything in the agent that needs the network's name servers, each alone: no rule and no other tunnel asks for them. The simulated
/// machine gives only the facts that were requested, as the real one does.
@Suite("Consumers of facts") struct FactConsumerTests {
  enum Consumer: CaseIterable {
    case endpoint, provider, innerTunnel, guarded, signIn

    var policies: [TunnelPolicy] {
      let connect = [Sample.rule(.always, .connect)]
      let named = Sample.wireGuard(endpoint: "vpn.corp.example:51820")
      switch self {
      case .endpoint: return [Sample.tunnel(rules: connect, wireGuard: named)]
      case .provider: return [InstalledProviderTests.policy(needing: [.device, .resolve])]
      case .innerTunnel:
        var inner = Sample.tunnel(rules: connect, wireGuard: named)
        let outer = InstalledProviderTests.policy()
        inner.through = OuterTunnel(outer.name, location: inner.location)
        return [inner, outer]
      case .guarded: return [Sample.tunnel(rules: [Sample.rule(.always, .disconnect)])]
      case .signIn: return [InstalledProviderTests.policy(killSwitch: .on)]
      }
    }
  }

  /// `late`: the name servers come 300 ms after the start.
  private func lookups(of consumer: Consumer, late: Bool) -> [String] {
    var link = Sample.wifi("Cafe")
    link.dnsServers = late ? .unknown(reason: "it has not answered yet") : .known([Sample.address("192.0.2.53")])
    let life = life(of: consumer, on: link)
    life.start(for: .milliseconds(300))
    begin(consumer, in: life)
    if late {
      #expect(life.machine.dns.lookups.isEmpty)
      link.dnsServers = .known([Sample.address("192.0.2.53")])
      life.machine.network = Sample.network(link)
      life.agent.factsCame()
    }
    life.machine.run(for: .seconds(1))
    return life.machine.dns.lookups
  }

  private func life(of consumer: Consumer, on link: LinkFacts) -> WatchedAgent {
    let life = WatchedAgent(on: Sample.network(link))
    life.machine.policies = PolicySet(tunnels: consumer.policies)
    life.machine.dns.otherNames = Sample.address("203.0.113.10")
    life.machine.providers.names = consumer == .provider ? ["plain": Sample.domain("vpn.corp.example")] : [:]
    life.guards = GuardPlatform(
      namespace: 7, found: { [] }, claim: { _ in }, makeGroup: { ProviderGroup(number: UInt64($0), level: 4) }, admit: { _ in },
      watch: { _, _ in }, end: { _, _ in }, usage: { _ in nil })
    if consumer == .signIn {
      life.machine.providers.questions = ["plain": Question(kind: .url, prompt: "Sign in", url: "https://vpn.corp.example/")]
      life.machine.programs.controlGroups = ["/browser.scope"]
    }
    return life
  }

  private func begin(_ consumer: Consumer, in life: WatchedAgent) {
    switch consumer {
    case .guarded:
      life.agent.beginGuard(GuardRequest(program: "vpn", endpoints: ["vpn.corp.example:1194"], namespace: 7), process: 4711) { _ in }
    case .signIn:
      life.agent.openSignIn(of: "plain", ReleaseRequest(isPortal: true, programs: "/browser.scope", signIn: "plain")) { _ in }
    default: break
    }
  }

  @Test("a name is looked up by the network's servers, though nothing else needs them", arguments: Consumer.allCases, [false, true])
  func asked(_ consumer: Consumer, late: Bool) {
    let link = consumer == .innerTunnel ? "-" : "wlan0"
    #expect(lookups(of: consumer, late: late).uniqued() == ["vpn.corp.example on \(link) by 192.0.2.53"])
  }

  @Test("name servers that come after those of the last network are asked at once, for every consumer", arguments: Consumer.allCases)
  func replaced(_ consumer: Consumer) {
    let last = Sample.address("198.51.100.53")
    var link = Sample.wifi("Cafe")
    link.dnsServers = .known([last])
    let life = life(of: consumer, on: link)
    life.machine.dns.silentServers = [last]
    life.start(for: .milliseconds(300))
    begin(consumer, in: life)
    life.machine.run(for: .milliseconds(300))
    #expect(life.machine.dns.lookups.allSatisfy { $0.hasSuffix("by 198.51.100.53") } && !life.machine.dns.lookups.isEmpty)
    link.dnsServers = .known([Sample.address("192.0.2.53")])
    life.machine.network = Sample.network(link)
    life.agent.factsCame()
    life.machine.run(for: .milliseconds(100))
    #expect(life.machine.dns.lookups.last?.hasSuffix("by 192.0.2.53") == true, "\(life.machine.dns.lookups)")
  }

  @Test("a provider that connects by a name connects on a plain network, and says so") func provider() throws {
    var link = Sample.wifi("Cafe")
    link.dnsServers = .known([Sample.address("192.0.2.53")])
    let life = WatchedAgent(InstalledProviderTests.policy(needing: [.device, .resolve]), on: Sample.network(link))
    life.machine.providers.names = ["plain": Sample.domain("vpn.corp.example")]
    life.machine.dns.otherNames = Sample.address("203.0.113.10")
    life.start()
    #expect(try life.tunnel("plain").state == "connected" && life.failures.isEmpty)
  }
}
