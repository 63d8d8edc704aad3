import AgentCore
import ControlProtocol
import KernelModel
import NetworkTypes
import RoamwardCore
import Simulation
import TestKit
import Testing

/// `disconnect-on-sleep`, on a machine in virtual time.
@Suite struct SleepTests {
  static let home = Sample.network(Sample.wifi("Home"))
  static let cafe = Sample.network(Sample.wifi("Cafe", gateway: "198.51.100.1", address: "198.51.100.23/24"))

  private static func corp(_ action: Action = .connect, sleeps: Bool = true) -> TunnelPolicy {
    var tunnel = Sample.tunnel("corp", rules: [Sample.rule(.always, action)])
    tunnel.disconnectsOnSleep = sleeps
    return tunnel
  }

  /// The machine announces a sleep. Returns whether the agent lets it sleep within a second.
  private func announce(_ life: WatchedAgent) -> Bool {
    var isReady = false
    life.agent.fallsAsleep { isReady = true }
    life.machine.run(for: .seconds(1))
    return isReady
  }

  private func wake(_ life: WatchedAgent, after time: Duration = .seconds(3600)) {
    life.machine.sleep(for: time)
    life.agent.woke()
    life.machine.run(for: .seconds(2))
  }

  @Test("the tunnel is down before the sleep, with the reason, and up again after it") func disconnects() throws {
    let life = WatchedAgent(Self.corp(), on: Self.cafe)
    life.start()
    #expect(try life.tunnel().state == "connected" && life.agent.delaysSleep)
    #expect(announce(life))
    let tunnel = try life.tunnel()
    #expect(tunnel.state == "disconnected" && tunnel.code == .sleep && tunnel.failure == nil)
    #expect(tunnel.reason == "the machine goes to sleep (disconnect-on-sleep)")
    #expect(life.machine.state.observed.kernel.links.isEmpty && life.machine.state.observed.kernel.ownRoutes.isEmpty)
    #expect(life.events.contains { if case .state("corp", _, "disconnected", .sleep, _) = $0 { true } else { false } })
    wake(life)
    #expect(try life.tunnel().state == "connected" && life.tunnel().code == .ruleMatched)
  }

  @Test("without the key the tunnel stays, nothing is done, and the machine need not wait") func without() throws {
    let life = WatchedAgent(Self.corp(sleeps: false), on: Self.cafe)
    life.start()
    let (steps, passes, looks) = (life.machine.log.applied.count, life.status.counters.evaluations, life.machine.log.observations)
    var isReady = false
    life.agent.fallsAsleep { isReady = true }
    #expect(isReady && !life.agent.delaysSleep && life.status.counters.evaluations == passes)
    #expect(life.machine.log.applied.count == steps && life.machine.log.observations == looks)
    #expect(try life.tunnel().state == "connected")
  }

  @Test("the rules decide after the sleep, on the network that is there then") func otherNetwork() throws {
    var policy = Self.corp(.disconnect)
    policy.onDemand.rules = [Sample.rule(.ssid([Sample.ssid("Cafe")]), .connect), Sample.rule(.always, .disconnect)]
    let life = WatchedAgent(policy, on: Self.cafe)
    life.start()
    #expect(try life.tunnel().state == "connected")
    #expect(announce(life))
    life.machine.network = Self.home
    wake(life)
    life.machine.run(for: .seconds(10))
    #expect(try life.tunnel().state == "disconnected" && life.tunnel().code == .ruleMatched)
    #expect(life.states.last == "corp disconnected", "it did not start in between")
  }

  @Test("a manual override lasts, but does not keep the tunnel up in the sleep") func override() throws {
    let life = WatchedAgent(Self.corp(.disconnect), on: Self.cafe)
    life.start()
    try life.agent.override("corp", OverrideRequest(wantsUp: true, until: .resume))
    life.machine.run(for: .seconds(1))
    #expect(try life.tunnel().state == "connected")
    #expect(announce(life))
    #expect(try life.tunnel().state == "disconnected" && life.tunnel().code == .sleep && life.tunnel().override == "up")
    wake(life)
    #expect(try life.tunnel().state == "connected" && life.tunnel().code == .manualOverride)
  }

  @Test("its kill switch blocks until the tunnel is up again", arguments: [KillSwitch.on, .always]) func killSwitch(_ mode: KillSwitch)
    throws
  {
    var policy = Self.corp()
    policy.killSwitch = mode
    let life = WatchedAgent(policy, on: Self.cafe)
    life.start()
    #expect(life.status.firewall.situation == .guarded && life.status.firewall.blocking.isEmpty)
    #expect(announce(life))
    #expect(life.status.firewall.situation == .guarded && life.status.firewall.blocking == ["corp"])
    life.machine.peersAnswer = false
    wake(life)
    #expect(life.status.firewall.blocking == ["corp"])
    life.machine.peersAnswer = true
    life.machine.run(for: .seconds(60))
    #expect(try life.tunnel().state == "connected" && life.status.firewall.blocking.isEmpty)
  }

  @Test("a tunnel that goes through it is down first, and says the same") func inner() throws {
    let life = InnerTunnelTests()
    var outer = life.outer(.connect)
    outer.disconnectsOnSleep = true
    let agent = life.life(life.inner(), outer)
    agent.start(for: .seconds(2))
    #expect(try agent.tunnel("inner").state == "connected")
    #expect(announce(agent))
    #expect(try agent.tunnel("inner").state == "disconnected" && agent.tunnel("inner").code == .sleep)
    #expect(try agent.tunnel("outer").state == "disconnected")
    let ends = agent.states.filter { $0.hasSuffix(" disconnected") }
    #expect(ends == ["inner disconnected", "outer disconnected"])
    wake(agent)
    agent.machine.run(for: .seconds(2))
    #expect(try agent.tunnel("inner").state == "connected" && agent.tunnel("outer").state == "connected")
  }

  @Test("a provider ends for the reason `sleep`") func provider() throws {
    var policy = InstalledProviderTests.policy()
    policy.disconnectsOnSleep = true
    let life = InstalledProviderTests().life(policy)
    life.start()
    #expect(life.states.last == "plain connected")
    #expect(announce(life))
    #expect(life.machine.providers.stops == ["plain sleep"])
    wake(life)
    #expect(life.states.last == "plain connected")
  }

  @Test("programs of a command tunnel end before the machine may sleep") func command() throws {
    var policy = TunnelPolicy(
      name: "corp", provider: .command(CommandProviderConfiguration(up: ["up"], down: ["down"])),
      onDemand: OnDemand(rules: [Sample.rule(.always, .connect)]), location: Sample.place())
    policy.disconnectsOnSleep = true
    let life = WatchedAgent(policy, on: Self.cafe)
    life.machine.programs.times[.down] = .seconds(3)
    life.start()
    #expect(!announce(life), "`down` takes three seconds")
    life.machine.run(for: .seconds(3))
    #expect(life.machine.programs.runs.suffix(1) == ["corp down"] && life.machine.programs.running.isEmpty)
    #expect(try life.tunnel().state == "disconnected")
    var isReady = false
    life.agent.fallsAsleep { isReady = true }
    #expect(isReady, "it is down already")
  }

  @Test("the clocks show the end of a sleep that logind does not report; a sleep that does not come ends after two minutes") func ends()
    throws
  {
    let life = WatchedAgent(Self.corp(), on: Self.cafe)
    life.start()
    #expect(announce(life))
    life.machine.sleep(for: .seconds(30))
    life.agent.networkChanged()
    life.machine.run(for: .seconds(2))
    #expect(try life.tunnel().state == "connected")
    #expect(announce(life))
    life.machine.run(for: .seconds(110))
    #expect(try life.tunnel().state == "disconnected" && life.status.nextWake?.reason == "sleep")
    life.machine.run(for: .seconds(15))
    #expect(try life.tunnel().state == "connected")
  }

  @Test("neither a look-up nor another network starts the tunnel while the machine goes to sleep") func whileFalling() throws {
    var policy = DayOut.watched(idle: .seconds(60))
    policy.disconnectsOnSleep = true
    let life = WatchedAgent(policy, on: DayOut.cafe)
    life.machine.state.installNameServer()
    life.start()
    life.machine.lookUp(Sample.domain("git.corp.example"))
    life.machine.run(for: .seconds(1))
    #expect(try life.tunnel().state == "connected")
    #expect(announce(life))
    life.machine.lookUp(Sample.domain("git.corp.example"))
    life.machine.run(for: .seconds(1))
    life.move(to: Self.home)
    life.move(to: DayOut.cafe)
    #expect(try life.tunnel().state == "disconnected")
    wake(life)
    life.machine.lookUp(Sample.domain("git.corp.example"))
    life.machine.run(for: .seconds(2))
    #expect(try life.tunnel().state == "connected")
  }
}
