import AgentCore
import ControlProtocol
import Glibc
import JSON
import KernelModel
import NetworkTypes
import ProviderProtocol
import RoamwardCore
import SeededRandom
import Simulation
import TestKit
import Testing

/// A restarted agent leaves the programs of its tunnels to the next one: providers, commands, and tunnels through others.
@Suite("A restart hands programs over") struct ProgramHandOverTests {
  /// `LIVES` has more of them lived.
  private static let seeds = getenv("LIVES").flatMap { UInt64(String(cString: $0)) } ?? 20
  private static let cafe = Sample.network(Sample.wifi("Cafe"))

  private static func command(_ up: String = "up") -> TunnelPolicy {
    TunnelPolicy(
      name: "ssl",
      provider: .command(CommandProviderConfiguration(up: [up], down: ["down"], status: ["status"], interface: "vpn0")),
      onDemand: OnDemand(rules: [Sample.rule(.always, .connect)]), routes: RoutePolicy(include: [Sample.prefix("10.99.0.0/16")]),
      location: Sample.place())
  }

  /// The same tunnel with another option.
  private static func other(_ policy: TunnelPolicy) -> TunnelPolicy {
    guard case .installed(var installed) = policy.provider else { return policy }
    installed.options = ["server": "other"]
    var policy = policy
    policy.provider = .installed(installed)
    return policy
  }

  private static func inner() -> TunnelPolicy {
    var tunnel = Sample.tunnel(
      rules: [Sample.rule(.always, .connect)], wireGuard: Sample.wireGuard(keepalive: 25),
      routes: RoutePolicy(include: [Sample.prefix("10.77.0.0/16")]))
    tunnel.name = "lab"
    tunnel.through = OuterTunnel("plain", location: Sample.place())
    return tunnel
  }

  private func life(_ tunnels: TunnelPolicy...) -> WatchedAgent {
    let life = WatchedAgent(on: Self.cafe)
    life.machine.policies = PolicySet(tunnels: tunnels)
    life.machine.providers.settings = ["plain": InstalledProviderTests.pushed]
    life.start(for: .seconds(3))
    return life
  }

  private func stop(_ life: WatchedAgent, _ agent: Agent? = nil) -> Bool {
    var isDone = false
    (agent ?? life.agent).stop(keepingBlock: true, handingOver: true) { isDone = true }
    life.machine.run(for: .seconds(5))
    return isDone
  }

  private func next(_ life: WatchedAgent, for duration: Duration = .seconds(5)) -> Agent {
    let agent = Agent(platform: life.machine.platform, settle: .milliseconds(500))
    agent.start()
    life.machine.run(for: duration)
    return agent
  }

  private func state(_ agent: Agent, _ tunnel: String = "plain") -> String? {
    agent.status(at: 0, process: 1).tunnels.first { $0.name == tunnel }?.state
  }

  @Test("a provider is started once, hears nothing of the restart, and its link and routes stay") func provider() {
    let life = life(InstalledProviderTests.policy())
    #expect(life.agent.connectedTunnels == ["plain"])
    let (before, heard) = (life.machine.state.observed, life.machine.providers.networks)
    let applied = life.machine.log.applied.count
    #expect(stop(life))
    let agent = Agent(platform: life.machine.platform, settle: .milliseconds(500))
    var changes: [String] = []
    agent.announcer.receive = { if case .state(_, let from, let to, _, let reason) = $0 { changes.append("\(from) \(to): \(reason)") } }
    agent.start()
    life.machine.run(for: .seconds(5))
    #expect(state(agent) == "connected")
    // Its reason is that of the rules.
    #expect(changes == ["disconnected connected: rule 1: always"])
    #expect(life.machine.providers.starts == 1 && life.machine.providers.stops.isEmpty && life.machine.providers.networks == heard)
    #expect(life.machine.state.observed.comparable == before.comparable)
    #expect(life.machine.log.applied.count == applied, "\(life.machine.log.applied[applied...])")
    var isDone = false
    agent.stop { isDone = true }
    life.machine.run(for: .seconds(5))
    #expect(isDone && life.machine.providers.stops == ["plain shutdown"] && life.machine.state.observed.kernel.links.isEmpty)
  }

  @Test("a provider of ours goes on after the upgrade that moves its program to libexec") func moved() {
    func policy(_ path: String) -> TunnelPolicy {
      var policy = InstalledProviderTests.policy()
      guard case .installed(var installed) = policy.provider else { return policy }
      installed.program = ProviderProgram(name: "plain", path: path, user: "roamward-provider", needs: installed.program.needs)
      policy.provider = .installed(installed)
      return policy
    }
    let life = life(policy("/usr/sbin/roamward-openvpn"))
    #expect(stop(life))
    life.machine.policies = PolicySet(tunnels: [policy("/usr/libexec/roamward/roamward-openvpn")])
    #expect(state(next(life)) == "connected")
    #expect(life.machine.providers.starts == 1 && life.machine.providers.stops.isEmpty)
  }

  @Test("what the provider says between the agents is read by the next one, and another network is told") func between() {
    let life = life(InstalledProviderTests.policy())
    #expect(stop(life))
    #expect(life.machine.sayUnread("plain", .reasserting(code: "server", text: "the server is silent")))
    life.machine.network = Sample.network(Sample.wifi("Hotel", gateway: "203.0.113.1", address: "203.0.113.23/24"))
    let agent = next(life)
    #expect(state(agent) == "reasserting")
    #expect(life.machine.providers.starts == 1 && life.machine.providers.networks.count == 1)
  }

  @Test(
    "a program that the next agent would not have started so is replaced",
    arguments: ["definition", "version", "no channel", "garbage", "link gone", "policy gone"])
  func replaced(_ change: String) throws {
    let life = life(InstalledProviderTests.policy(killSwitch: .on))
    if change == "no channel" { life.machine.providers.keepsChannels = false }
    #expect(stop(life))
    switch change {
    case "definition":
      var policy = InstalledProviderTests.policy(killSwitch: .on)
      guard case .installed(var installed) = policy.provider else { return }
      installed.options = ["server": "other"]
      policy.provider = .installed(installed)
      life.machine.policies = PolicySet(tunnels: [policy])
    case "version":
      let note = try #require(life.machine.disk.handOver.tunnels["plain"]?.provider)
      life.machine.disk.handOver.tunnels["plain"]?.provider = note.replacing("\"version\":1", with: "\"version\":9")
    case "garbage": life.machine.disk.handOver.tunnels["plain"]?.provider = "{"
    case "link gone": life.machine.state.apply([.deleteLink("plain", .userspace)])
    case "policy gone": life.machine.policies = PolicySet(tunnels: [])
    default: break
    }
    let steps = life.machine.log.applied.count
    let agent = next(life, for: .seconds(20))
    if change == "policy gone" {
      #expect(life.machine.providers.tunnels.isEmpty && life.machine.state.observed.kernel.links.isEmpty)
    } else {
      #expect(state(agent) == "connected" && life.machine.providers.starts == 2, "\(change)")
      // Nothing leaves outside meanwhile.
      #expect(!life.machine.log.applied[steps...].contains(.removeFirewall))
    }
    #expect(life.machine.disk.handOver.tunnels.isEmpty)
  }

  /// The steps after which the kill switch blocks less than the server has sent.
  private func holes(in steps: ArraySlice<Step>) -> [Step] {
    let pushed = InstalledProviderTests.pushed.includedRoutes
    return steps.filter { step in
      switch step {
      case .removeFirewall: return true
      case .replaceFirewall(let table):
        let prefixes = table.guards.first { $0.tunnel == "plain" }?.prefixes ?? []
        return !pushed.allSatisfy { wanted in prefixes.contains { $0.contains(wanted) } }
      default: return false
      }
    }
  }

  @Test(
    "the kill switch blocks at each moment what the server has sent", arguments: [KillSwitch.on, .always], ["same", "died", "definition"])
  func guarded(_ killSwitch: KillSwitch, _ change: String) {
    let life = life(InstalledProviderTests.policy(killSwitch: killSwitch))
    #expect(life.agent.connectedTunnels == ["plain"])
    let steps = life.machine.log.applied.count
    #expect(stop(life))
    switch change {
    case "died": life.machine.endLeftProgram(of: "plain")
    case "definition": life.machine.policies = PolicySet(tunnels: [Self.other(InstalledProviderTests.policy(killSwitch: killSwitch))])
    default: break
    }
    // Meanwhile it answers nothing, as while a server is looked for.
    if change != "same" { life.machine.peersAnswer = false }
    let agent = next(life)
    #expect(state(agent) == (change == "same" ? "connected" : "connecting"))
    life.machine.peersAnswer = true
    life.machine.run(for: .seconds(200))
    #expect(state(agent) == "connected" && life.machine.providers.tunnels == ["plain"])
    #expect(holes(in: life.machine.log.applied[steps...]).isEmpty, "\(holes(in: life.machine.log.applied[steps...]))")
  }

  @Test("a program that ended between the agents is started again; so is one whose channel was not kept") func died() {
    let life = life(InstalledProviderTests.policy(killSwitch: .on), Self.inner())
    life.machine.run(for: .seconds(20))
    #expect(stop(life))
    #expect(life.machine.disk.handOver.tunnels.count == 2)
    life.machine.endLeftProgram(of: "plain")
    let agent = next(life, for: .seconds(30))
    #expect(agent.connectedTunnels == ["lab", "plain"] && life.machine.providers.starts == 2)
  }

  @Test("a program whose definition was changed is asked to stop, before the one of the new definition starts") func orderly() {
    let life = life(InstalledProviderTests.policy())
    #expect(stop(life))
    life.machine.policies = PolicySet(tunnels: [Self.other(InstalledProviderTests.policy())])
    let agent = next(life)
    #expect(state(agent) == "connected" && life.machine.providers.starts == 2)
    #expect(life.machine.providers.stops == ["plain policy-changed"], "\(life.machine.providers.stops)")
  }

  @Test("no message starts a second program while its first one waits for the next agent") func messages() {
    let life = life(InstalledProviderTests.policy())
    var reply: Reply?
    life.agent.stop(keepingBlock: true, handingOver: true) {}
    life.agent.message("plain", ["type": "statistics", "value": .null]) { reply = $0 }
    life.machine.run(for: .seconds(5))
    #expect(life.machine.providers.starts == 1)
    guard case .refused(let error)? = reply else {
      Issue.record("\(String(describing: reply?.json))")
      return
    }
    #expect(error.message.contains("the agent is restarted"))
    #expect(state(next(life)) == "connected")
  }

  @Test("a command whose link is gone is ended and started again, also if it has no `status`", arguments: [true, false])
  func linkGone(_ hasStatus: Bool) {
    var policy = Self.command()
    if !hasStatus, case .command(var command) = policy.provider {
      command.status = []
      policy.provider = .command(command)
    }
    let life = life(policy)
    #expect(life.agent.connectedTunnels == ["ssl"])
    #expect(stop(life))
    life.machine.state.apply([.deleteLink("vpn0", .userspace)])
    let agent = next(life, for: .seconds(60))
    #expect(life.machine.programs.runs.filter { !$0.hasSuffix("status") } == ["ssl up", "ssl down", "ssl up"])
    #expect(state(agent, "ssl") == "connected")
  }

  @Test("a command runs on without another `up`; a changed one ends by its own `down` first") func commands() {
    let life = life(Self.command())
    #expect(stop(life))
    let agent = next(life)
    #expect(state(agent, "ssl") == "connected")
    #expect(life.machine.programs.runs.filter { !$0.hasSuffix("status") } == ["ssl up"])
    #expect(stop(life, agent))
    life.machine.policies = PolicySet(tunnels: [Self.command("other")])
    let changed = next(life, for: .seconds(20))
    #expect(state(changed, "ssl") == "connected")
    #expect(life.machine.programs.runs.filter { !$0.hasSuffix("status") } == ["ssl up", "ssl down", "ssl up"])
    #expect(stop(life, changed))
    life.machine.policies = PolicySet(tunnels: [])
    _ = next(life)
    #expect(life.machine.programs.runs.last == "ssl down" && life.machine.disk.startedCommands.isEmpty)
  }

  @Test("a tunnel through another one is left with it, and replaced with it") func nested() {
    let life = life(InstalledProviderTests.policy(), Self.inner())
    life.machine.run(for: .seconds(20))
    #expect(life.agent.connectedTunnels == ["lab", "plain"])
    let (before, applied) = (life.machine.state.observed, life.machine.log.applied.count)
    #expect(stop(life))
    #expect(life.machine.disk.handOver.outerFirst == ["plain", "lab"])
    let agent = next(life, for: .seconds(20))
    #expect(agent.connectedTunnels == ["lab", "plain"] && life.machine.providers.starts == 1)
    #expect(life.machine.state.observed.comparable == before.comparable)
    let steps = life.machine.log.applied[applied...]
    #expect(!steps.contains { if case .deleteLink = $0 { true } else { false } }, "\(steps)")
    life.machine.providers.keepsChannels = false
    #expect(stop(life, agent))
    #expect(life.machine.disk.handOver.tunnels.isEmpty)
    #expect(next(life, for: .seconds(30)).connectedTunnels == ["lab", "plain"])
  }

  @Test("killed before and after everything that both agents do, the next one makes what is wanted") func killed() {
    func run(_ fuse: Int?) -> WatchedAgent {
      let life = WatchedAgent(on: Self.cafe)
      life.machine.policies = PolicySet(tunnels: [InstalledProviderTests.policy(killSwitch: .on), Self.command(), Self.inner()])
      life.machine.providers.settings = ["plain": InstalledProviderTests.pushed]
      life.machine.fuse = fuse.map { Fuse($0) }
      life.start(for: .seconds(10))
      if !life.machine.isAgentDead { _ = stop(life) }
      if !life.machine.isAgentDead { _ = next(life) }
      return life
    }
    let undisturbed = run(nil)
    let wanted = ["lab", "plain", "ssl"]
    for place in 1...undisturbed.machine.log.places.count {
      let life = run(place)
      life.machine.fuse = nil
      let words = "place \(place): \(life.machine.log.places.last ?? "")"
      let agent = next(life, for: .seconds(40))
      #expect(agent.connectedTunnels == wanted, "\(words)")
      #expect(life.machine.state.observed.comparable.kernel.links.count == 3, "\(words)")
      var isDone = false
      agent.stop { isDone = true }
      life.machine.run(for: .seconds(10))
      #expect(isDone && life.machine.state.observed.kernel.links.isEmpty && life.machine.providers.tunnels.isEmpty, "\(words)")
      #expect(life.machine.disk.startedCommands.isEmpty && life.machine.disk.handOver.tunnels.isEmpty, "\(words)")
    }
  }

  /// A random event between two agents.
  private func happen(between life: WatchedAgent, _ random: inout SplitMix64) {
    switch Int.random(in: 0..<10, using: &random) {
    case 0, 1: life.machine.endLeftProgram(of: "plain")
    case 2: life.machine.state.apply([.deleteLink("vpn0", .userspace)])
    case 3: life.machine.state.apply([.deleteLink("plain", .userspace)])
    case 4:
      _ = life.machine.sayUnread("plain", .reasserting(code: "server", text: "the server is silent"))
      _ = life.machine.sayUnread("plain", .ready)
    case 5: _ = life.machine.sayUnread("plain", .failed(.init(code: "server", text: "the server is gone", help: .time)))
    default: break
    }
  }

  /// A stop for a restart; one in four agents is killed at one of its next steps.
  private func end(_ life: WatchedAgent, _ agent: Agent, _ random: inout SplitMix64) -> Bool {
    let isKilled = Int.random(in: 0..<4, using: &random) == 0
    if isKilled { life.machine.fuse = Fuse(life.machine.log.places.count + Int.random(in: 1...12, using: &random)) }
    defer { life.machine.fuse = nil }
    return stop(life, agent) || isKilled
  }

  @Test("in random lives with tunnels of several kinds, restarts and kills change nothing of what is wanted in the end") func lives() {
    for seed in 1...Self.seeds {
      var random = SplitMix64(seed: seed)
      let isGuarded = Bool.random(using: &random)
      let all = [InstalledProviderTests.policy(killSwitch: isGuarded ? .on : .off), Self.command(), Self.inner()]
      let life = WatchedAgent(on: Self.cafe)
      life.machine.policies = PolicySet(tunnels: all)
      life.machine.providers.settings = ["plain": InstalledProviderTests.pushed]
      life.start()
      var agent = life.agent
      for _ in 0..<6 {
        life.machine.run(for: .milliseconds(Int.random(in: 0...4000, using: &random)))
        life.machine.providers.keepsChannels = Int.random(in: 0..<4, using: &random) > 0
        life.machine.peersAnswer = Int.random(in: 0..<4, using: &random) > 0
        #expect(end(life, agent, &random), "seed \(seed)")
        if Bool.random(using: &random) {
          var tunnels = all
          if Bool.random(using: &random) { tunnels[1] = Self.command("other") }
          if Bool.random(using: &random) { tunnels[0] = Self.other(tunnels[0]) }
          life.machine.policies = PolicySet(tunnels: tunnels)
        }
        happen(between: life, &random)
        agent = next(life, for: .milliseconds(Int.random(in: 0...3000, using: &random)))
      }
      life.machine.peersAnswer = true
      life.machine.run(for: .seconds(240))
      #expect(agent.connectedTunnels == ["lab", "plain", "ssl"], "seed \(seed)")
      if isGuarded {
        let steps = life.machine.log.applied[...]
        let known = steps.firstIndex { if case .replaceFirewall = $0 { holes(in: [$0]).isEmpty } else { false } }
        #expect(known.map { holes(in: steps[$0...]).isEmpty } == true, "seed \(seed)")
      }
      var isDone = false
      agent.stop { isDone = true }
      life.machine.run(for: .seconds(10))
      #expect(isDone && life.machine.state.observed.kernel.links.isEmpty && life.machine.providers.tunnels.isEmpty, "seed \(seed)")
      #expect(life.machine.disk.startedCommands.isEmpty, "seed \(seed)")
    }
  }
}
