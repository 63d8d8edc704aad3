import AgentCore
import ControlProtocol
import KernelModel
import NetworkTypes
import RoamwardCore
import SeededRandom
import Simulation
import TestKit
import Testing

/// A restarted agent leaves its WireGuard tunnels to the next one, which takes them over.
@Suite("A restart hands tunnels over") struct HandOverTests {
  private static let days = DayOut.all.filter { day in
    day.policies.contains { $0.provider.isWireGuard } && !day.looksUp && !day.sendsPackets
  }

  private func restart(_ run: DayOutRun, _ agent: Agent) -> Bool {
    var isDone = false
    agent.stop(keepingBlock: true, handingOver: true) { isDone = true }
    run.machine.run(for: .seconds(5))
    return isDone
  }

  private func takesAway(_ step: Step, link: String, table: UInt32) -> Bool {
    switch step {
    case .deleteLink(link, _), .removeAddress(_, link), .removeFirewall: true
    case .removeRoute(let route): route.table == table
    case .removeRule(let rule): rule.table == table
    default: false
    }
  }

  @Test("no link, route or rule of a tunnel that is up goes away, and its peer has to answer again", arguments: days)
  func keeps(_ day: DayOut) throws {
    let run = DayOutRun(day)
    run.life.start()
    run.life.move(to: DayOut.cafe)
    let isUp = try run.life.tunnel().state == "connected"
    let since = try run.life.tunnel().since
    let before = run.machine.log.applied.count
    #expect(restart(run, run.life.agent))
    let left = run.machine.disk.handOver.tunnels["corp"]
    #expect((left != nil) == isUp)
    let next = Agent(platform: run.machine.platform, settle: .milliseconds(500))
    next.start()
    run.machine.run(for: .seconds(30))
    let steps = run.machine.log.applied[before...]
    if isUp {
      let table = Ownership.tables.lowerBound + (left?.slot ?? 0)
      #expect(!steps.contains { takesAway($0, link: "corp", table: table) }, "\(steps)")
      #expect(steps.contains { if case .renewSessions("corp", _) = $0 { true } else { false } })
      #expect(next.status(at: 0, process: 1).tunnels.first { $0.name == "corp" }?.since == since)
    }
    #expect(run.machine.disk.handOver.tunnels.isEmpty)
    #expect(run.machine.state.observed.comparable == run.expected())
    #expect(run.stop(next) && run.isClean)
  }

  @Test("a peer that answers no more is given up as usual") func silent() throws {
    let run = DayOutRun(DayOut.all[0])
    run.life.start()
    run.life.move(to: DayOut.cafe)
    #expect(restart(run, run.life.agent))
    run.machine.peersAnswer = false
    let next = run.restart()
    #expect(next.status(at: 0, process: 1).tunnels.first?.state == "reasserting")
    run.machine.run(for: .seconds(4))
    #expect(next.status(at: 0, process: 1).tunnels.first?.failure?.contains("since the agent was restarted") == true)
  }

  @Test("what the next agent does not want, or would make otherwise, is removed") func others() {
    for change in ["no policy", "another key", "another engine", "home", "no network"] {
      let run = DayOutRun(DayOut.all[0])
      run.life.start()
      run.life.move(to: DayOut.cafe)
      #expect(restart(run, run.life.agent))
      switch change {
      case "no policy": run.machine.policies = PolicySet(tunnels: [DayOut.command("10.99.0.0/16")])
      case "another key":
        var tunnel = run.day.policies[0]
        tunnel.name = "other"
        run.machine.policies = PolicySet(tunnels: [tunnel])
      case "another engine": run.machine.engine = .engine(.userspace)
      case "home": run.machine.network = DayOut.home
      default: run.machine.network = NetworkSnapshot()
      }
      let next = run.restart()
      if change == "no network" {
        #expect(next.status(at: 0, process: 1).tunnels.first?.state == "reasserting", "\(change)")
        run.machine.network = DayOut.cafe
        next.networkChanged()
        run.machine.run(for: .seconds(30))
      }
      if change != "another engine" { #expect(run.machine.state.observed.comparable == run.expected(), "\(change)") }
      #expect(run.stop(next) && run.isClean, "\(change): \(run.machine.state.observed)")
    }
  }

  @Test("killed before and after everything that both agents do, the next one makes what is wanted", arguments: days)
  func killed(_ day: DayOut) {
    func live(_ run: DayOutRun) {
      run.life.start()
      run.life.move(to: DayOut.cafe)
      if !run.machine.isAgentDead { _ = restart(run, run.life.agent) }
      if run.machine.isAgentDead { return }
      Agent(platform: run.machine.platform, settle: .milliseconds(500)).start()
      run.machine.run(for: .seconds(5))
    }
    let undisturbed = DayOutRun(day)
    live(undisturbed)
    let expectations = Expectations()
    for place in 1...undisturbed.machine.log.places.count {
      let run = DayOutRun(day, fuse: place)
      live(run)
      if run.machine.network != DayOut.cafe { continue }
      let wasGuarding = run.isGuarding
      let before = run.machine.log.applied.count
      run.machine.fuse = nil
      let agent = run.restart()
      let words = "place \(place): \(run.machine.log.places.last ?? "")"
      #expect(run.machine.state.observed.comparable == expectations.state(after: run), "\(words)")
      if wasGuarding { #expect(!run.machine.log.applied[before...].contains(.removeFirewall), "\(words)") }
      #expect(run.stop(agent) && run.isClean, "\(words)")
    }
  }

  @Test("in random lives with several tunnels, restarts change nothing of what is wanted in the end") func lives() {
    for seed in UInt64(1)...200 {
      var random = SplitMix64(seed: seed)
      var tunnels: [TunnelPolicy] = []
      for i in 0..<Int.random(in: 1...4, using: &random) {
        var tunnel =
          [DayOut.split("10.\(i).0.0/16"), DayOut.full([.off, .on, .always].randomElement(using: &random) ?? .off)]
          .randomElement(using: &random) ?? DayOut.split("10.9.0.0/16")
        tunnel.name = "t\(i)"
        tunnel.precedence = Bool.random(using: &random) ? .enterprise : .personal
        tunnels.append(tunnel)
      }
      let day = DayOut(
        testDescription: "seed \(seed)", policies: tunnels, changed: tunnels,
        engine: .engine(Bool.random(using: &random) ? .kernel : .userspace))
      let run = DayOutRun(day)
      run.life.start()
      var agent = run.life.agent
      for _ in 0..<8 {
        if Bool.random(using: &random) {
          run.machine.network = [DayOut.home, DayOut.cafe, DayOut.hotel, NetworkSnapshot()].randomElement(using: &random) ?? DayOut.home
          if Bool.random(using: &random) { agent.networkChanged() }
          run.machine.run(for: .milliseconds(Int.random(in: 0...3000, using: &random)))
        }
        if Bool.random(using: &random) {
          run.machine.policies = PolicySet(tunnels: tunnels.filter { _ in Int.random(in: 0..<4, using: &random) > 0 })
        }
        run.machine.peersAnswer = Int.random(in: 0..<4, using: &random) > 0
        #expect(restart(run, agent), "seed \(seed)")
        agent = Agent(platform: run.machine.platform, settle: .milliseconds(500))
        agent.start()
        run.machine.run(for: .milliseconds(Int.random(in: 0...3000, using: &random)))
      }
      run.machine.peersAnswer = true
      run.machine.network = DayOut.cafe
      agent.networkChanged()
      run.machine.run(for: .seconds(180))
      #expect(run.machine.state.observed.comparable.routed == run.expected().routed, "seed \(seed)")
      #expect(run.stop(agent) && run.isClean, "seed \(seed)")
    }
  }
}

extension ObservedState {
  /// Links and routes, without the numbers of tables: the slot of a tunnel depends on the order in which tunnels came up.
  fileprivate var routed: [String] {
    kernel.links.map(\.name).sorted() + kernel.routes.map { "\($0)".replacing(#/table \d+/#, with: "") }.sorted()
  }
}
