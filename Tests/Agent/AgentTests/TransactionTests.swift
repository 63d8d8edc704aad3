import AgentCore
import ControlProtocol
import KernelModel
import LinuxPlatform
import NetworkTypes
import RoamwardCore
import Simulation
import TestKit
import Testing

@Suite("A step that fails") struct TransactionTests {
  /// Whether no rule leads where a route is missing, and no name server is inside a tunnel that is not there: asked after every step.
  private func unsafe(_ state: ObservedState, complete: ObservedState) -> String? {
    for rule in state.kernel.rules {
      let wanted = Set(complete.kernel.routes.filter { $0.table == rule.table && $0.destination.family == rule.family })
      let missing = wanted.subtracting(state.kernel.routes)
      if !missing.isEmpty { return "\(rule) leads to a table without \(missing)" }
    }
    if state.resolvConf.isOurs, state.kernel.rules.isEmpty { return "the name servers are those of a tunnel that nothing leads into" }
    return nil
  }

  /// The steps of coming up at the café.
  private func steps(of day: DayOut) -> (steps: [Step], complete: ObservedState) {
    let run = DayOutRun(day)
    run.machine.network = DayOut.cafe
    run.life.start()
    return (run.machine.log.applied, run.machine.state.observed)
  }

  @Test("for good: nothing half-made stays, and at no moment does a rule lead where something is missing", arguments: DayOut.withoutLookups)
  func permanent(_ day: DayOut) throws {
    let (steps, complete) = steps(of: day)
    #expect(steps.count >= 2)
    for failing in steps {
      let run = DayOutRun(day)
      run.machine.network = DayOut.cafe
      run.machine.failingSteps = { $0 == failing ? "not today" : nil }
      run.machine.whenApplied = { _ in
        if let trouble = unsafe(run.machine.state.observed, complete: complete) { Issue.record("\(failing) failed: \(trouble)") }
      }
      run.life.start(for: .milliseconds(900))
      let status = run.life.status
      switch failing {
      case .replaceFirewall, .writeResolvConf, .setLinkResolver, .setRecord:
        #expect(status.tunnels.contains { $0.isInPlace }, "\(failing)")
      default:
        let tunnel = status.tunnels.first { !$0.isInPlace }
        #expect(try #require(tunnel, "\(failing)").failure?.contains("not today") == true, "\(failing)")
        // The other tunnel, where there is one, stands; of this one there is nothing.
        #expect(run.machine.state.observed.kernel.rules.count < complete.kernel.rules.count, "\(failing)")
      }
      run.machine.failingSteps = { _ in nil }
      run.machine.run(for: .seconds(120))
      run.sendPacket()
      let (found, expected) = (run.machine.state.observed.comparable, run.expected())
      #expect(
        found == expected,
        "\(failing), once it works: \(Plan(from: found, to: DesiredState()).steps) \(found.kernel.links) \(expected.kernel.links)")
    }
  }

  @Test("on the way down: the rest goes all the same, and it is tried again until it is gone", arguments: DayOut.withoutLookups)
  func down(_ day: DayOut) {
    let whole = DayOutRun(day)
    whole.machine.network = DayOut.cafe
    whole.life.start()
    let count = whole.machine.log.applied.count
    whole.life.move(to: DayOut.home)
    for failing in whole.machine.log.applied[count...] {
      let run = DayOutRun(day)
      run.machine.network = DayOut.cafe
      run.life.start()
      run.machine.failingSteps = { $0 == failing ? "not today" : nil }
      run.life.move(to: DayOut.home)
      run.machine.failingSteps = { _ in nil }
      run.machine.run(for: .seconds(5))
      #expect(run.machine.state.observed.comparable == run.expected(), "\(failing)")
    }
  }

  @Test("a link that is taken down between the look and the step is no failure of the tunnel") func torn() throws {
    let run = DayOutRun(DayOut.all[0])
    run.machine.network = DayOut.cafe
    run.life.start()
    let route = try #require(run.machine.state.observed.kernel.routes.first)
    run.machine.state.apply([.removeRoute(route)])
    var isTorn = true
    run.machine.failingSteps = { step in
      guard case .addRoute = step, isTorn else { return nil }
      isTorn = false
      run.machine.state.takeDown("corp")
      return "Network is down"
    }
    run.life.agent.networkChanged()
    run.machine.run(for: .milliseconds(600))
    #expect(!isTorn && run.life.states == ["corp connecting", "corp connected"])
    #expect(run.machine.state.observed.comparable == run.expected())
  }

  @Test("an engine that ends between the look and the step is the loss of the link, also if the link goes later", arguments: [0, 1])
  func endedEngine(looksOfLink: Int) throws {
    let run = DayOutRun(DayOut.all[1])
    run.machine.network = DayOut.cafe
    run.life.start()
    run.machine.peersAnswer = false
    run.machine.state.endEngine(of: "corp")
    var failed = 0
    run.machine.failingSteps = { step in
      guard case .configureWireGuard = step, failed <= looksOfLink else { return nil }
      if failed == looksOfLink { run.machine.state.apply([.deleteLink("corp", .userspace)]) }
      failed += 1
      return "no engine runs for corp"
    }
    run.life.agent.networkChanged()
    run.machine.run(for: .milliseconds(600))
    #expect(failed == looksOfLink + 1)
    #expect(try run.life.tunnel().state == "reasserting")
    #expect(try run.life.tunnel().failure?.contains("link is gone") == true)
    run.machine.peersAnswer = true
    run.machine.run(for: .seconds(1))
    #expect(try run.life.tunnel().state == "connected")
    #expect(run.machine.state.observed.comparable == run.expected())
  }

  @Test("a backend that dies is seen, made anew at once, and with patience when it dies again") func backend() throws {
    let run = DayOutRun(DayOut.all[1])
    run.machine.network = DayOut.cafe
    run.life.start()
    run.machine.peersAnswer = false
    run.machine.state.apply([.deleteLink("corp", .userspace)])
    run.life.agent.networkChanged()
    run.machine.run(for: .milliseconds(600))
    #expect(try run.life.tunnel().state == "reasserting")
    #expect(try run.life.tunnel().failure?.contains("link is gone") == true)
    run.machine.peersAnswer = true
    run.machine.run(for: .seconds(1))
    #expect(try run.life.tunnel().state == "connected")
    run.machine.state.apply([.deleteLink("corp", .userspace)])
    run.life.agent.networkChanged()
    run.machine.run(for: .milliseconds(600))
    #expect(try run.life.tunnel().state == "connecting")
    run.machine.run(for: .seconds(2))
    #expect(try run.life.tunnel().state == "connected")
  }
}

extension StatusReport.Tunnel {
  fileprivate var isInPlace: Bool { ["connected", "armed"].contains(state) }
}
