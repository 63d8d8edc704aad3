import AgentCore
import ControlProtocol
import KernelModel
import NetworkTypes
import RoamwardCore
import Simulation
import TestKit
import Testing

/// Causes that this machine knows in place of "the peer did not answer", on the simulated machine.
@Suite("Causes of a peer's silence") struct FailureCauseTests {
  private let cafe = Sample.network(Sample.wifi("Cafe", gateway: "198.51.100.1", address: "198.51.100.23/24"))
  private let always = [Sample.rule(.always, .connect)]
  private let gateway = Sample.address("203.0.113.10")

  private func life(_ change: (inout WireGuardQuickConfiguration) -> Void = { _ in }) -> WatchedAgent {
    var file = Sample.wireGuard(endpoint: "203.0.113.10:51820")
    change(&file)
    let life = WatchedAgent(Sample.tunnel(rules: always, wireGuard: file), on: cafe)
    life.machine.peersAnswer = false
    return life
  }

  @Test(
    "what the kernel says of the first packet is told at once, and again when a tunnel that was up goes silent",
    arguments: [
      (SendObstacle.noRoute, ReasonCode.endpointUnreachable), (.unreachable, .endpointUnreachable), (.prohibited, .endpointUnreachable),
      (.discarded, .endpointUnreachable), (.filtered, .sendRefused),
    ])
  func sent(_ obstacle: SendObstacle, _ code: ReasonCode) throws {
    let life = life()
    life.machine.sending.obstacles = [gateway: obstacle]
    life.start(for: .milliseconds(100))
    #expect(try life.tunnel().failureCode == code)
    life.machine.sending.obstacles = [:]
    life.machine.peersAnswer = true
    life.machine.run(for: .seconds(10))
    #expect(try life.tunnel().state == "connected" && life.tunnel().failureCode == nil)
  }

  @Test("what came back is told when the time of the peer is over") func echo() throws {
    let life = life()
    life.machine.sending.echoes = [gateway: .refused]
    life.start(for: .seconds(14))
    #expect(try life.tunnel().failureCode == nil)
    life.machine.run(for: .seconds(2))
    #expect(try life.tunnel().failureCode == .portClosed)
  }

  @Test("one of two endpoints that can be reached is no obstacle") func oneOfTwo() throws {
    let life = life {
      var other = $0.peers[0]
      other.publicKey = Sample.key(7)
      other.endpoint = Sample.endpoint("203.0.113.11:51820")
      $0.peers.append(other)
    }
    life.machine.sending.obstacles = [gateway: .filtered]
    life.start(for: .seconds(16))
    #expect(try life.tunnel().failureCode == .peerTimeout)
  }

  @Test("a clock that was set back, in this life or since an earlier one, is told beside a peer's silence", arguments: [true, false])
  func clock(beforeStart: Bool) throws {
    let life = life()
    let now = life.machine.wallClock
    if beforeStart { life.machine.disk.latestTime = now + .seconds(3600) }
    life.start(for: .seconds(16))
    #expect(try life.tunnel().failureCode == (beforeStart ? .clockBehind : .peerTimeout))
    life.machine.peersAnswer = true
    life.machine.run(for: .seconds(60))
    #expect(try life.tunnel().state == "connected", "an answer proves the clock")
  }

  @Test("a taken port is noted and another one used, unless a peer has no endpoint") func port() throws {
    let life = life { $0.listenPort = 47_001 }
    life.machine.peersAnswer = true
    life.machine.sending.portHolders = [47_001: "dnsmasq (process 4711)"]
    life.start()
    #expect(try life.tunnel().state == "connected")
    #expect(life.status.tunnels[0].notes.map(\.code) == [.portTaken])
    #expect(life.machine.state.observed.wireGuard["corp"]?.listenPort != 47_001)
    let bound = self.life {
      $0.listenPort = 47_001
      $0.peers[0].endpoint = nil
    }
    bound.machine.sending.portHolders = [47_001: "dnsmasq (process 4711)"]
    bound.start(for: .milliseconds(100))
    #expect(try bound.tunnel().failureCode == .portTaken)
    bound.machine.sending.portHolders = [:]
    bound.machine.run(for: .seconds(40))
    #expect(try bound.tunnel().failureCode != .portTaken)
  }

  @Test("a name without an address, and a name server that says nothing") func names() throws {
    for isSilent in [false, true] {
      let servers = ["198.51.100.53"]
      let life = WatchedAgent(
        Sample.tunnel(rules: always, wireGuard: Sample.wireGuard(endpoint: "vpn.example:51820")),
        on: Sample.network(Sample.wifi("Cafe", servers: servers)))
      life.machine.dns.silentServers = isSilent ? [Sample.address(servers[0])] : []
      life.start(for: .seconds(6))
      #expect(try life.tunnel().failureCode == (isSilent ? .endpointUnresolved : .nameUnknown))
    }
  }
}
