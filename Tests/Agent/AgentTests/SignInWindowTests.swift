import AgentCore
import ControlProtocol
import JSON
import KernelModel
import NetworkTypes
import ProviderProtocol
import RoamwardCore
import Simulation
import TestKit
import Testing

/// The window in the kill switch for the page at which a person signs in, on the simulated machine.
@Suite struct SignInWindowTests {
  private static let browser = "/user.slice/browser.scope"

  /// A tunnel that waits for a person at https://login.example, behind its kill switch.
  private func life(hosts: [String] = ["cdn.example", "mfa.example:8443", "gone.example"]) -> WatchedAgent {
    var policy = InstalledProviderTests.policy(killSwitch: .on)
    if case .installed(var provider) = policy.provider {
      provider.signInHosts = hosts.compactMap { Endpoint.webServer($0) }
      policy.provider = .installed(provider)
    }
    let life = WatchedAgent(policy, on: Sample.network(Sample.wifi("Cafe")))
    life.machine.providers.questions = ["plain": Question(kind: .url, prompt: "Sign in", url: "https://login.example/device?code=1")]
    life.machine.programs.controlGroups = [Self.browser]
    for (name, address) in [("login", "203.0.113.1"), ("cdn", "203.0.113.2"), ("mfa", "203.0.113.3"), ("own", "203.0.113.4")] {
      life.machine.dns.names[Sample.domain("\(name).example")] = [Sample.address(address)]
    }
    life.start()
    return life
  }

  private func open(_ life: WatchedAgent, hosts: [String]? = nil) -> Reply? {
    var reply: Reply?
    let request = ReleaseRequest(isPortal: true, programs: Self.browser, signIn: "plain", hosts: hosts)
    life.agent.openSignIn(of: "plain", request) { reply = $0 }
    life.machine.run(for: .seconds(6))
    return reply
  }

  @Test("it opens the page's server, those of the policy and those of the request; of the policy's, names without an address are left out")
  func servers() throws {
    let life = life()
    #expect(try life.tunnel("plain").questions.first?.hosts == ["cdn.example", "mfa.example:8443", "gone.example"])
    guard case .done(let reply)? = open(life, hosts: ["own.example:8080"]) else {
      Issue.record("it is refused")
      return
    }
    let sites = ["203.0.113.1:443", "203.0.113.2:443", "203.0.113.3:8443", "203.0.113.4:8080"]
    #expect(reply["sites"]?.array?.compactMap(\.string) == sites)
    #expect(reply["left-out"]?.array?.count == 1 && reply["left-out"]?.array?.first?.string?.hasPrefix("gone.example ") == true)
    #expect(life.status.firewall.situation == .portal && life.status.firewall.sites == sites)
  }

  @Test("a name of the request without an address is a mistake of the person, and opens nothing") func mistake() {
    let life = life()
    guard case .refused(let error)? = open(life, hosts: ["typo.example"]) else {
      Issue.record("it is opened")
      return
    }
    #expect(error.message.contains("typo.example"))
    #expect(life.status.firewall.situation == .guarded)
  }

  @Test("changed hosts of the policy are in force at the next window, and the tunnel's start goes on") func changed() throws {
    let life = life(hosts: [])
    #expect(try life.tunnel("plain").questions.first?.hosts == [])
    let before = life.states
    var policy = life.machine.policies.tunnels[0]
    if case .installed(var provider) = policy.provider {
      provider.signInHosts = ["cdn.example"].compactMap { Endpoint.webServer($0) }
      policy.provider = .installed(provider)
    }
    life.policiesChange(to: policy)
    #expect(life.states == before && life.machine.providers.stops.isEmpty)
    #expect(try life.tunnel("plain").questions.first?.hosts == ["cdn.example"])
    guard case .done(let reply)? = open(life) else {
      Issue.record("it is refused")
      return
    }
    #expect(reply["sites"]?.array?.compactMap(\.string) == ["203.0.113.1:443", "203.0.113.2:443"])
  }
}
