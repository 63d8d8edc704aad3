import AgentCore
import ControlProtocol
import KernelModel
import LinuxPlatform
import NetworkTypes
import RoamwardCore
import Simulation
import TestKit
import Testing

/// The reads of the machine by a start: programs wait for it.
@Suite("The cost of a start") struct StartCostTests {
  private func agent(_ tunnel: TunnelPolicy, keeper: ObservedResolver? = nil) -> WatchedAgent {
    var cafe = DayOut.cafe
    cafe.links[0].dnsServers = .known([Sample.address("198.51.100.53")])
    let agent = WatchedAgent(tunnel, on: cafe)
    agent.machine.engine = .engine(.userspace)
    if let keeper { agent.machine.state.keepResolver(keeper, file: .untouchable(reason: "a link")) }
    agent.machine.state.installNameServer()
    agent.start(for: .seconds(5))
    return agent
  }

  @Test(
    "an answer is seen in the device alone; the question is released when the routes are made, unless another program has changed something",
    arguments: [true, false])
  func lookUp(isUndisturbed: Bool) throws {
    let agent = agent(DayOut.watched())
    var looks: Int?
    var released: (looks: Int, isRouted: Bool)?
    agent.machine.isAsObserved = { isUndisturbed }
    agent.machine.failingSteps = { [machine = agent.machine] step in
      if case .setNameServer(let settings) = step, settings.watches.contains(where: { $0.progress == .connected }), released == nil {
        released = (machine.log.observations, !machine.state.observed.kernel.ownRules.isEmpty)
      }
      return nil
    }
    agent.whenTold = { event in
      if case .state(_, _, let to, _, _) = event, to == "connected" { looks = agent.machine.log.observations }
    }
    agent.machine.peersAnswer = false
    agent.machine.lookUp(try #require(DomainName("git.corp.example")))
    agent.machine.run(for: .milliseconds(20))
    let (before, reads) = (agent.machine.log.observations, agent.machine.log.samples)
    agent.machine.peersAnswer = true
    agent.machine.run(for: .seconds(1))
    #expect(agent.machine.log.samples > reads)
    let release = try #require(released)
    #expect(release.isRouted)
    #expect(isUndisturbed ? release.looks == before : release.looks > before)
    // The second shows that its names go to it.
    #expect(looks == before + 2)
  }

  @Test("a look-up finds the device ready: it gets peers and addresses by one step each, then their protection; nothing is read before")
  func readyDevice() throws {
    let agent = agent(DayOut.watched())
    agent.machine.peersAnswer = false
    let (steps, looks, reads) = (agent.machine.log.applied.count, agent.machine.log.observations, agent.machine.log.samples)
    var before: (looks: Int, reads: Int)?
    agent.machine.whenApplied = { step in
      if case .renewSessions = step { before = (agent.machine.log.observations, agent.machine.log.samples) }
    }
    agent.machine.lookUp(try #require(DomainName("git.corp.example")))
    agent.machine.run(for: .milliseconds(20))
    #expect(before?.looks == looks && before?.reads == reads)
    let kinds = agent.machine.log.applied[steps...].filter { !$0.isOfResolver }.map { step in
      switch step {
      case .renewSessions("corp", let device): "peers \(device.peers.count)"
      case .addAddress(_, "corp"): "address"
      case .replaceFirewall(let table) where table.isOpen: "protection of \(table.insides.count)"
      default: "\(step)"
      }
    }
    #expect(kinds == ["peers 1", "address", "protection of 1"], "while the engine calls its peer")
  }

  @Test("the first packet into an armed tunnel reads its device, and makes one observation") func packet() throws {
    let agent = agent(DayOut.armed("10.0.0.0/8"), keeper: DayOut.resolved)
    #expect(try agent.tunnel().state == "armed")
    let before = agent.machine.log.observations
    agent.machine.sendPacket(into: "corp")
    agent.machine.run(for: .seconds(1))
    #expect(try agent.tunnel().state == "connected" && agent.machine.log.observations == before + 1)
  }

  @Test("while an engine starts, the kernel gives its link what it can; the device is configured right before the link is up")
  func order() throws {
    let configuration = Sample.wireGuard()
    func configure(_ link: String, _ engine: WireGuardEngine) -> Step {
      .configureWireGuard(
        link: link, WireGuardDevice(engine: engine, privateKey: configuration.privateKey, publicKey: configuration.publicKey, peers: []))
    }
    func steps(_ link: String, _ engine: WireGuardEngine) -> [Step] {
      [configure(link, engine), .setMTU(link: link, mtu: 1420, was: 1500), .setUp(link: link)]
    }
    let (corp, lab) = (steps("corp", .userspace), steps("lab", .userspace))
    #expect((corp + lab).engineStepsLate == [corp[1], corp[0], corp[2], lab[1], lab[0], lab[2]])
    #expect([corp[0], corp[1]].engineStepsLate == [corp[1], corp[0]] && [corp[0]].engineStepsLate == [corp[0]])
    #expect(steps("corp", .kernel).engineStepsLate == steps("corp", .kernel), "the kernel's WireGuard waits for nothing")
  }

  @Test("a provider that asks for its device with its settings gets it of the link that they have made, without another pass")
  func device() throws {
    func observations(wantsDevice: Bool) throws -> Int {
      let agent = WatchedAgent(InstalledProviderTests.policy(), on: DayOut.cafe)
      if wantsDevice { agent.machine.providers.wantDevice = ["plain"] }
      agent.start(for: .seconds(1))
      #expect(try agent.tunnel("plain").state == "connected" && agent.machine.providers.devices == (wantsDevice ? ["plain"] : []))
      return agent.machine.log.observations
    }
    #expect(try observations(wantsDevice: true) == observations(wantsDevice: false))
  }

  @Test("an awaited device is polled within a millisecond of the pass that made it, and each millisecond at first") func poll() throws {
    let agent = agent(DayOut.watched())
    agent.machine.peersAnswer = false
    agent.machine.lookUp(try #require(DomainName("git.corp.example")))
    agent.machine.run(for: .milliseconds(1))
    #expect(agent.status.counters.polls >= 1)
    agent.machine.run(for: .milliseconds(4))
    #expect(agent.status.counters.polls >= 4)
  }
}
