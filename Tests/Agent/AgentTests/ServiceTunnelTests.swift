import AgentCore
import ControlProtocol
import KernelModel
import NetworkTypes
import RoamwardCore
import SeededRandom
import Simulation
import TestKit
import Testing

@Suite("Tunnels that are services of the machine")
struct ServiceTunnelTests {
  private static let cafe = Sample.network(
    Sample.wifi("Cafe", servers: ["198.51.100.53"], gateway: "198.51.100.1", address: "198.51.100.23/24"))
  private static let home = Sample.network(Sample.wired())
  static let services: [ServiceProviderConfiguration.Service] = [
    .unit("work.service"), .profile("Work"), .tailscale(exitNode: nil),
  ]

  private func tunnel(_ service: ServiceProviderConfiguration.Service) -> TunnelPolicy {
    let rules = [Sample.rule(.interface([.wifi]), .connect), Sample.rule(.always, .disconnect)]
    return TunnelPolicy(
      name: "work", provider: .service(ServiceProviderConfiguration(service)),
      onDemand: OnDemand(rules: rules, timing: Timing(releaseDelay: .zero)), location: Sample.place())
  }

  @Test("rules start and stop it", arguments: services) func rules(service: ServiceProviderConfiguration.Service) {
    let life = WatchedAgent(on: Self.cafe)
    life.machine.policies = PolicySet(tunnels: [tunnel(service)])
    life.start()
    #expect(life.states == ["work connecting", "work connected"] && life.machine.programs.services.running == [service])
    let isUnit = service == Self.services[0]
    #expect(life.machine.programs.services.marks == (isUnit ? ["work.service": Ownership.mark] : [:]))
    #expect(life.machine.programs.services.dropIns == (isUnit ? ["work": "work.service"] : [:]))
    life.move(to: Self.home)
    #expect(life.states.last == "work disconnected" && life.machine.programs.services.running == [])
    #expect(life.machine.programs.services.orders == ["start \(service.name)", "stop \(service.name)"])
    #expect(isClean(life.machine))
  }

  private func isClean(_ machine: SimulatedMachine) -> Bool {
    let services = machine.programs.services
    return machine.disk.startedCommands.isEmpty && services.slices.isEmpty && services.dropIns.isEmpty
  }

  /// A unit that takes everything, under a kill switch.
  private func guarded(_ unit: String = "work.service") -> TunnelPolicy {
    var tunnel = tunnel(.unit(unit))
    tunnel.provider = .service(ServiceProviderConfiguration(.unit(unit), interface: "tun0"))
    tunnel.routes = RoutePolicy(include: [.everything(.v4), .everything(.v6)])
    tunnel.killSwitch = .on
    return tunnel
  }

  @Test("the kill switch knows the group of a unit before it starts") func firewall() {
    let life = WatchedAgent(guarded(), on: Self.cafe)
    life.start()
    let services = life.machine.programs.services
    #expect(services.running == [.unit("work.service")] && services.marks == ["work.service": Ownership.mark])
    #expect(services.unknownToFirewall == [])
    let table = life.machine.log.applied.compactMap { if case .replaceFirewall(let table) = $0 { table } else { nil } }.last
    #expect(table?.guards.isEmpty == false && table?.providers.last?.level == 1)
  }

  @Test("where sockets cannot be marked, a unit with a kill switch does not start, and its traffic stays blocked") func unmarked() {
    let life = WatchedAgent(guarded(), on: Self.cafe)
    life.machine.programs.services.markObstacle = "work.service: its sockets cannot be marked: no bpf(2)"
    life.start(for: .milliseconds(100))
    #expect(life.status.tunnels.first?.failure == "work.service: its sockets cannot be marked: no bpf(2)")
    #expect(life.machine.programs.services.running == [])
    if case .table(_, _, let isGuarding) = life.machine.state.observed.firewall { #expect(isGuarding) } else { Issue.record("no table") }
    life.policiesChange(to: tunnel(.unit("work.service")))
    life.machine.run(for: .seconds(60))
    #expect(life.machine.programs.services.running == [.unit("work.service")] && life.machine.programs.services.marks == [:])
  }

  @Test("a unit inside another tunnel has the mark of that one") func inner() {
    let outer = TunnelPolicy(
      name: "outer", provider: .service(ServiceProviderConfiguration(.profile("Work"))), onDemand: OnDemand(), location: Sample.place())
    var inner = tunnel(.unit("work.service"))
    inner.through = OuterTunnel("outer", location: Sample.place())
    let life = WatchedAgent(outer, inner, on: Self.cafe)
    life.start(for: .seconds(5))
    let mark = life.machine.programs.services.marks["work.service"]
    #expect(mark.map { $0 & Ownership.wayMask } == Ownership.innerMark(of: nil) && mark != Ownership.innerMark(of: nil))
  }

  @Test(
    "killed before and after everything that it does, nothing of a unit is left, nor runs it without its mark", arguments: [true, false])
  func killed(hasPolicy: Bool) {
    func live(_ fuse: Int?) -> WatchedAgent {
      let life = WatchedAgent(guarded(), on: Self.cafe)
      life.machine.fuse = fuse.map { Fuse($0) }
      life.start()
      if !life.machine.isAgentDead { life.move(to: Self.home) }
      if !life.machine.isAgentDead { life.move(to: Self.cafe) }
      return life
    }
    for place in 1...live(nil).machine.log.places.count {
      let life = live(place)
      let words = "place \(place): \(life.machine.log.places.last ?? "")"
      #expect(life.machine.isAgentDead, "\(words)")
      life.machine.fuse = nil
      life.machine.network = Self.cafe
      if !hasPolicy { life.machine.policies = PolicySet(tunnels: []) }
      let next = Agent(platform: life.machine.platform, settle: .milliseconds(500))
      next.start()
      life.machine.run(for: .seconds(30))
      let services = life.machine.programs.services
      #expect(services.marks == (hasPolicy ? ["work.service": Ownership.mark] : [:]), "\(words)")
      #expect(services.unknownToFirewall == [], "\(words)")
      if !hasPolicy { #expect(isClean(life.machine) && services.running == [], "\(words)") }
      next.stop {}
      life.machine.run(for: .seconds(10))
      #expect(isClean(life.machine) && life.machine.programs.services.running == [], "\(words)")
    }
  }

  @Test("one that does not start is told with its own reason, stopped, and tried again later") func fails() {
    let service = Self.services[0]
    let life = WatchedAgent(on: Self.cafe)
    life.machine.programs.services.obstacles[service] = "work.service: it has failed (exit-code); `systemctl status work.service` shows why"
    life.machine.policies = PolicySet(tunnels: [tunnel(service)])
    life.start(for: .milliseconds(100))
    #expect(life.status.tunnels.first?.failure == life.machine.programs.services.obstacles[service])
    life.machine.run(for: .seconds(60))
    let starts = life.machine.programs.services.orders.count { $0.hasPrefix("start") }
    #expect((3...8).contains(starts))
    life.machine.programs.services.obstacles = [:]
    life.machine.run(for: .seconds(60))
    #expect(life.states.last == "work connected")
  }

  @Test("one that ends by itself has failed, and is started again") func ends() {
    let service = Self.services[1]
    let life = WatchedAgent(on: Self.cafe)
    life.machine.policies = PolicySet(tunnels: [tunnel(service)])
    life.start()
    life.machine.endService(service, reason: "Work: no answer in time")
    life.machine.run(for: .milliseconds(100))
    #expect(life.status.tunnels.first?.failure == "Work: no answer in time")
    life.machine.run(for: .seconds(30))
    #expect(life.states.last == "work connected" && life.machine.programs.services.running == [service])
  }

  @Test("an agent that was killed leaves a note, and the next one stops the service before anything else") func crash() {
    let life = WatchedAgent(on: Self.cafe)
    life.machine.policies = PolicySet(tunnels: [tunnel(Self.services[0])])
    life.start()
    #expect(life.machine.disk.startedCommands["work"]?.down == ["/usr/bin/systemctl", "--no-ask-password", "stop", "work.service"])
    let next = Agent(platform: life.machine.platform, settle: .milliseconds(500))
    next.start()
    life.machine.run(for: .seconds(1))
    #expect(life.machine.programs.runs == ["work down"])
    #expect(next.status(at: 0, process: 2).tunnels.first?.state == "connected")
  }

  private func restart(_ life: WatchedAgent, _ agent: Agent) -> Agent {
    var isDone = false
    agent.stop(keepingBlock: true, handingOver: true) { isDone = true }
    life.machine.run(for: .seconds(2))
    #expect(isDone)
    let next = Agent(platform: life.machine.platform, settle: .milliseconds(500))
    next.start()
    life.machine.run(for: .seconds(3))
    return next
  }

  @Test("a restart leaves it running; one that the next agent would not have started so is stopped", arguments: services)
  func handOver(service: ServiceProviderConfiguration.Service) {
    let life = WatchedAgent(on: Self.cafe)
    life.machine.policies = PolicySet(tunnels: [tunnel(service)])
    life.start()
    var agent = restart(life, life.agent)
    #expect(agent.connectedTunnels == ["work"] && life.machine.programs.runs.isEmpty)
    agent = restart(life, agent)
    #expect(agent.connectedTunnels == ["work"] && life.machine.programs.runs.isEmpty)
    #expect(!life.machine.programs.services.orders.contains("stop \(service.name)"))
    #expect(life.machine.programs.services.marks.values.allSatisfy { $0 == Ownership.mark })
    #expect(life.machine.programs.services.slices.count == (service == Self.services[0] ? 1 : 0))
    // It ended between the agents, and its rules want it: it is started.
    life.machine.endService(service, reason: "ended")
    agent = restart(life, agent)
    #expect(agent.connectedTunnels == ["work"] && life.machine.programs.services.running == [service])
    // Another one.
    life.machine.policies = PolicySet(tunnels: [tunnel(.unit("other.service"))])
    agent = restart(life, agent)
    #expect(life.machine.programs.runs == ["work down"] && agent.connectedTunnels == ["work"])
    #expect(life.machine.programs.services.orders.last == "start other.service")
    life.machine.policies = PolicySet(tunnels: [])
    agent = restart(life, agent)
    #expect(life.machine.programs.runs == ["work down", "work down"] && isClean(life.machine))
    withExtendedLifetime(agent) {}
  }

  @Test("a stop still stops one that was taken over") func stopAfterHandOver() {
    let life = WatchedAgent(on: Self.cafe)
    life.machine.policies = PolicySet(tunnels: [tunnel(Self.services[0])])
    life.start()
    let agent = restart(life, life.agent)
    var isDone = false
    agent.stop { isDone = true }
    life.machine.run(for: .seconds(5))
    #expect(isDone && life.machine.programs.services.running.isEmpty && isClean(life.machine))
  }

  @Test("one that does not stop is told, and the note of it stays for a clean-up") func clings() {
    let service = Self.services[0]
    let life = WatchedAgent(on: Self.cafe)
    life.machine.policies = PolicySet(tunnels: [tunnel(service)])
    life.machine.programs.services.clinging[service] = "the job to stop it: timeout"
    life.start()
    life.move(to: Self.home)
    #expect(life.states.last == "work disconnected" && life.machine.disk.startedCommands["work"] != nil)
    let text = "work.service is not stopped: the job to stop it: timeout"
    #expect(life.events.contains { if case .providerLog(_, "warning", _, let line) = $0 { line.contains(text) } else { false } })
  }

  @Test("in random lives it runs while it is wanted, and at the end nothing is left", arguments: 1...20)
  func lives(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let life = WatchedAgent(on: Self.cafe)
    life.machine.policies = PolicySet(
      tunnels: Self.services.enumerated().map { i, service in
        var tunnel = tunnel(service)
        tunnel.name = "work\(i)"
        return tunnel
      })
    life.start()
    var isAtCafe = true
    for _ in 0..<40 {
      switch random.next() % 5 {
      case 0:
        isAtCafe.toggle()
        life.machine.network = isAtCafe ? Self.cafe : Self.home
        life.agent.networkChanged()
      case 1: life.machine.endService(random.pick(Self.services), reason: "it has ended")
      case 2: life.machine.programs.services.obstacles = random.chance(0.5) ? [random.pick(Self.services): "no"] : [:]
      default: life.machine.run(for: .milliseconds(Int64(random.next() % 20_000)))
      }
    }
    life.machine.programs.services.obstacles = [:]
    life.machine.run(for: .seconds(400))
    #expect(life.machine.programs.services.running == (isAtCafe ? Set(Self.services) : []))
    life.agent.stop {}
    life.machine.run(for: .seconds(10))
    #expect(life.machine.programs.services.running == [] && isClean(life.machine))
  }
}
