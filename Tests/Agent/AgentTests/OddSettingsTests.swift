import AgentCore
import ControlProtocol
import KernelModel
import NetworkTypes
import RoamwardCore
import SeededRandom
import Simulation
import TestKit
import Testing

/// Reading back shows what is desired, for every valid file.
@Suite("Odd settings") struct OddSettingsTests {
  @Test("a tunnel of any valid file connects, nothing of it is repaired, and a stop leaves nothing") func settled() throws {
    for seed in UInt64(0)..<400 {
      var random = SplitMix64(seed: seed)
      let tunnel = odd(&random)
      let life = WatchedAgent(tunnel, on: Sample.network(Sample.wifi("Cafe")))
      let before = life.machine.state.observed
      life.start(for: .seconds(30))
      let found = try life.tunnel()
      #expect(found.state == "connected", "seed \(seed): \(found)")
      #expect(life.status.counters.repairs == 0, "seed \(seed)")
      let writes = life.machine.log.applied.count
      life.machine.run(for: .seconds(60))
      #expect(life.machine.log.applied.count == writes, "seed \(seed): \(life.machine.log.applied.suffix(4))")
      life.agent.stop {}
      life.machine.run(for: .seconds(30))
      #expect(life.machine.state.observed == before, "seed \(seed)")
    }
  }

  private func odd(_ random: inout SplitMix64) -> TunnelPolicy {
    let prefixes = [
      "0.0.0.0/0", "0.0.0.0/1", "128.0.0.0/1", "0.0.0.0/2", "64.0.0.0/2", "128.0.0.0/2", "192.0.0.0/2", "::/0", "::/1", "8000::/1",
      "10.77.0.0/16", "10.77.0.0/24", "10.77.0.2/32", "fd00:77::/48", "fd00:77::/64", "203.0.113.10/32", "203.0.113.0/24", "224.0.0.0/4",
    ]
    let addresses = ["10.77.0.2/32", "10.77.0.2/24", "10.77.0.3/24", "fd00:77::2/64", "fd00:77::2/128", "fd00:77::3/128"]
    let peers = (0..<1 + Int(random.next() % 3)).map { number in
      WireGuardPeer(
        publicKey: Sample.key(UInt8(3 + number)),
        endpoint: Sample.endpoint(random.pick(["203.0.113.10:51820", "[::ffff:203.0.113.10]:51821"])),
        allowedIPs: (0..<1 + Int(random.next() % 6)).map { _ in Sample.prefix(random.pick(prefixes)) })
    }
    var file = Sample.wireGuard(addresses: (0..<1 + Int(random.next() % 4)).map { _ in random.pick(addresses) })
    file.peers = peers
    if random.chance(0.2) { file.mtu = 1000 }
    var tunnel = Sample.tunnel(rules: [Sample.rule(.always, .connect)], wireGuard: file)
    if random.chance(0.3) {
      tunnel.routes = RoutePolicy(
        include: PrefixList((0..<1 + Int(random.next() % 5)).map { _ in Sample.prefix(random.pick(prefixes)) }),
        exclude: random.chance(0.5) ? [Sample.prefix(random.pick(prefixes))] : [])
    }
    if random.chance(0.3) { tunnel.killSwitch = .on }
    if random.chance(0.3) {
      tunnel.dns = DNSPolicy(
        servers: [Sample.address("10.77.0.1"), Sample.address("10.77.0.1")], searchDomains: [Sample.domain("corp.example")])
    }
    return tunnel
  }
}
