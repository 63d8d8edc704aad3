import AgentCore
import ControlProtocol
import HostServices
import KernelModel
import LinuxPlatform
import NetworkTypes
import RoamwardCore
import Simulation
import TestKit
import Testing

/// The end of the agent, and the state that it leaves: none on a stop, the kill switch on a restart.
@Suite("The end of the agent") struct StopTests {
  /// The type of systemd's job for the unit when the signal comes.
  enum End: String, CaseIterable, Sendable {
    case stop, restart, upgrade, powerOff, signal
    /// systemd is too busy to say which.
    case unsaid

    var job: UnitJob.Answer {
      switch self {
      case .stop, .powerOff: .job("stop")
      case .restart, .upgrade: .job("restart")
      case .signal: .none
      case .unsaid: .unanswered
      }
    }
  }

  static let cafe = Sample.network(Sample.wifi("Cafe", gateway: "198.51.100.1", address: "198.51.100.23/24"))

  static func corp(_ killSwitch: KillSwitch) -> TunnelPolicy {
    var tunnel = Sample.tunnel(
      rules: [Sample.rule(.ssid([Sample.ssid("Home")]), .disconnect), Sample.rule(.always, .connect)],
      routes: RoutePolicy(include: [.everything(.v4), .everything(.v6)]))
    tunnel.killSwitch = killSwitch
    return tunnel
  }

  static let program: TunnelPolicy = {
    var tunnel = Sample.tunnel("office", rules: [Sample.rule(.always, .connect)])
    tunnel.provider = .command(CommandProviderConfiguration(up: ["/bin/up"], down: ["/bin/down"], interface: "office0"))
    return tunnel
  }()

  /// Whether the kill switch of the firewall blocks.
  func guards(_ machine: SimulatedMachine) -> Bool {
    if case .table(_, _, let isGuarding) = machine.state.observed.firewall { isGuarding } else { false }
  }

  private func end(_ life: WatchedAgent, _ end: End) -> Bool {
    var isStopped = false
    life.agent.stop(keepingBlock: end.job.keepsBlock) { isStopped = true }
    life.machine.run(for: .seconds(6))
    return isStopped
  }

  private func isClean(_ machine: SimulatedMachine) -> Bool {
    machine.state.observed.kernel.links.isEmpty && machine.state.observed.kernel.rules.isEmpty && machine.disk.startedCommands.isEmpty
      && machine.programs.running.isEmpty
  }

  @Test(
    "leaves nothing but what a kill switch holds back, and that only for the agent after it, or for always", arguments: KillSwitch.allCases,
    End.allCases)
  func ends(killSwitch: KillSwitch, how: End) throws {
    let life = WatchedAgent(Self.corp(killSwitch), Self.program, on: Self.cafe)
    life.start()
    #expect(guards(life.machine) == (killSwitch != .off))
    var opened = 0
    life.machine.whenApplied = { if $0 == .removeFirewall { opened += 1 } }
    #expect(end(life, how) && isClean(life.machine))
    let isKept = killSwitch == .always || killSwitch == .on && how.job.keepsBlock
    #expect(guards(life.machine) == isKept && (opened == 0 || !isKept))
    guard isKept else { return }
    // The next one opens nothing before it has judged, and only where the rules want nothing.
    let next = WatchedAgent(Self.corp(killSwitch), on: Self.cafe)
    next.machine.state = life.machine.state
    next.machine.whenApplied = { #expect($0 != .removeFirewall) }
    next.start()
    #expect(try next.tunnel().state == "connected" && guards(next.machine))
  }

  @Test("while what a killed agent has left is being ended, waits for that", arguments: KillSwitch.allCases, End.allCases)
  func inRecovery(killSwitch: KillSwitch, how: End) throws {
    let first = WatchedAgent(Self.corp(killSwitch), Self.program, on: Self.cafe)
    first.start()
    let next = WatchedAgent(Self.corp(killSwitch), Self.program, on: Self.cafe)
    next.machine.state = first.machine.state
    next.machine.disk.startedCommands = first.machine.disk.startedCommands
    next.machine.disk.unfinishedLinks = first.machine.disk.unfinishedLinks
    next.machine.programs.times[.down] = .seconds(2)
    next.agent.start()
    next.machine.run(for: .milliseconds(300))
    #expect(end(next, how) && isClean(next.machine))
    #expect(guards(next.machine) == (killSwitch == .always || killSwitch == .on && how.job.keepsBlock))
  }

  @Test("stopped at home, where nothing is held back, a restart begins with nothing held back that the rules do not want") func atHome() {
    let home = Sample.network(Sample.wifi("Home"))
    let life = WatchedAgent(Self.corp(.on), on: home)
    life.start()
    #expect(end(life, .restart) && !guards(life.machine))
    let next = WatchedAgent(Self.corp(.on), on: home)
    next.machine.state = life.machine.state
    next.start()
    #expect(!guards(next.machine))
  }

  /// A tunnel with a name server, where Debian's resolvconf manages resolv.conf.
  private static func besideResolvconf() -> WatchedAgent {
    var tunnel = corp(.off)
    tunnel.dns = DNSPolicy(servers: [Sample.address("10.0.0.53")])
    let life = WatchedAgent(tunnel, on: cafe)
    let facts = ResolverFacts(target: "/run/resolvconf/resolv.conf", resolvconf: .debian)
    life.machine.state.keepResolver(ObservedResolver(facts: facts), file: .untouchable(reason: "a link"))
    return life
  }

  @Test("what another program still writes for us is finished, and seen, first; one that hangs is not waited for longer than four seconds")
  func slowResolver() {
    for (time, isLost) in [(Duration.seconds(2), false), (.seconds(60), true)] {
      let life = Self.besideResolvconf()
      life.start()
      #expect(life.machine.state.observed.resolver.records.count == 1)
      life.machine.resolver.time = time
      var end: Moment?
      let begun = life.machine.now
      life.agent.stop { end = end ?? life.machine.now }
      life.machine.run(for: .seconds(10))
      // The record goes at once; the file is written when the program has ended.
      #expect(end.map { $0 >= begun + (isLost ? .seconds(4) : time) && $0 <= begun + .seconds(5) } == true)
      #expect(life.machine.state.observed.resolver.records.isEmpty)
    }
  }

  @Test("a clean-up waits for such a program for 15 seconds: no agent follows that would finish the change")
  func slowResolverAtCleanUp() {
    for (time, end) in [(Duration.seconds(10), Duration.seconds(10)), (.seconds(60), .seconds(15))] {
      let killed = Self.besideResolvconf()
      killed.start()
      let life = Self.besideResolvconf()
      life.machine.state = killed.machine.state
      #expect(life.machine.state.observed.resolver.records.count == 1)
      life.machine.resolver.time = time
      var ended: Moment?
      let begun = life.machine.now
      life.agent.cleanUp { ended = ended ?? life.machine.now }
      life.machine.run(for: .seconds(30))
      #expect(ended.map { $0 >= begun + end && $0 <= begun + end + .seconds(1) } == true, "\(String(describing: ended))")
      #expect(life.machine.state.observed.resolver.records.isEmpty)
    }
  }
}
