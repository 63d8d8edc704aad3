import AgentCore
import KernelModel
import LinuxPlatform
import NetworkTypes
import RoamwardCore
import Simulation
import TestKit
import Testing

/// Preparations that make a start shorter.
@Suite("Starts") struct StartsTests {
  @Test(
    "an agent with nothing to do plans the start of a tunnel and its end, and changes nothing",
    arguments: [Sample.tunnel("corp", rules: []), DayOut.watched()])
  func warmUp(tunnel: TunnelPolicy) {
    let agent = WatchedAgent(tunnel, on: DayOut.cafe)
    agent.machine.engine = .engine(.userspace)
    agent.machine.state.installNameServer()
    agent.start(for: .seconds(5))
    let steps = WarmUp.plans(
      DesiredTunnels(
        PolicySet(tunnels: [tunnel]), on: NetworkSnapshot(), PlanInputs(), in: SimulatedState().observed, engine: .userspace),
      of: "corp", on: UnderlayFit(NetworkSnapshot()), in: SimulatedState().observed)
    #expect(steps.contains { if case .addWireGuardLink("corp", .userspace) = $0 { true } else { false } }, "\(steps)")
    #expect(steps.contains { if case .addAddress = $0 { true } else { false } })
    #expect(steps.contains { if case .addRoute = $0 { true } else { false } })
    #expect(steps.contains { if case .addRule = $0 { true } else { false } })
    #expect(steps.contains { if case .removeRule = $0 { true } else { false } })
    // A watched tunnel has its device already.
    #expect(agent.agent.warmUpSteps ?? 0 > 10)
    let kernel = agent.machine.state.observed.kernel
    #expect(kernel.rules.isEmpty && kernel.addresses.allSatisfy { $0.link != "corp" })
  }

  @Test("a start with thousands of routes is not warmed up: it would hold up the agent") func largeWarmUp() {
    var tunnel = Sample.tunnel("corp", rules: [])
    tunnel.routes = RoutePolicy(include: PrefixList((0..<1001).compactMap { IPPrefix("10.\($0 / 250).\($0 % 250).0/24") }))
    let agent = WatchedAgent(tunnel, on: DayOut.cafe)
    agent.machine.engine = .engine(.userspace)
    agent.start(for: .seconds(5))
    #expect(agent.machine.isEngineReady && agent.agent.warmUpSteps == nil)
  }

  private func device(keepalive: UInt16) -> WireGuardDevice {
    let configuration = Sample.wireGuard()
    let peers = configuration.peers.map { peer in
      WireGuardPeer(
        publicKey: peer.publicKey, presharedKey: nil, endpoint: nil, allowedIPs: peer.allowedIPs, persistentKeepalive: keepalive)
    }
    return WireGuardDevice(
      engine: .userspace, privateKey: configuration.privateKey, publicKey: configuration.publicKey, peers: peers)
  }

  /// The number of reads until the state is returned, and its handshake; the peer answers at the third read.
  private func reads(_ calling: CallingDevices, answersAt answer: Int = 3) -> (reads: Int, handshake: Int64?) {
    let key = device(keepalive: 1).peers[0].publicKey
    var (count, now) = (0, Moment(nanoseconds: 0))
    let state = calling.state(of: "corp", by: { now }, pause: { now = now + .microseconds(100) }) { _ in
      count += 1
      var peer = WireGuardState.Peer(publicKey: key)
      peer.lastHandshake = count >= answer ? 7 : 0
      return WireGuardState(engine: .userspace, peers: [peer])
    }
    return (count, state?.lastHandshake)
  }

  @Test("a device that calls its peer is read until the answer, for a moment; any other one once") func calling() {
    let calls = CallingDevices([.renewSessions(link: "corp", device(keepalive: 1))])
    #expect(reads(calls) == (3, 7))
    let far = reads(calls, answersAt: .max)
    #expect(far.reads == 16 && far.handshake == nil)
    #expect(reads(CallingDevices([.configureWireGuard(link: "corp", device(keepalive: 0))])) == (1, nil))
    #expect(reads(CallingDevices([.renewSessions(link: "other", device(keepalive: 1))])) == (1, nil))
    #expect(reads(CallingDevices()) == (1, nil))
    #expect(calls.state(of: "corp") { _ in nil } == nil)
  }

  @Test("the events of a tunnel's link are subscribed to from the first observation on") func names() {
    let life = WatchedAgent(Sample.tunnel("corp", rules: []), on: NetworkSnapshot())
    life.start()
    #expect(life.machine.log.request?.wireGuardLinks == ["corp"])
  }
}
