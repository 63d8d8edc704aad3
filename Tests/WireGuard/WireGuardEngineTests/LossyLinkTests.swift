import NetworkTypes
import SeededRandom
import Testing

@testable import WireGuardEngine

/// Two engines over a way that loses, doubles, reorders and corrupts. Row F27 of the fault matrix.
@Suite struct LossyLinkTests {
  /// A conversation of one seed: what was delivered must have been sent, once at most, unaltered; and nothing is ever stuck.
  static func converse(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let pair = Pair(seed: seed)
    pair.network.faults = SimulatedNetwork.Faults(
      loss: random.chance(0.2) ? 0 : Double(random.next() % 40) / 100, duplication: Double(random.next() % 30) / 100,
      reordering: Double(random.next() % 50) / 100, corruption: Double(random.next() % 20) / 100)
    var sent: (a: Set<[UInt8]>, b: Set<[UInt8]>) = ([], [])
    var number: UInt8 = 0
    for _ in 0..<12 {
      for _ in 0..<(random.next() % 4) {
        number &+= 1
        let length = 40 + Int(random.next() % 200)
        let packet = innerPacket(from: "10.0.0.1", to: "10.0.0.2", length: length, fill: number)
        sent.a.insert(packet)
        pair.network.send(pair.a, [packet])
      }
      for _ in 0..<(random.next() % 4) {
        number &+= 1
        let packet = innerPacket(from: "fd00::2", to: "fd00::1", length: 60 + Int(random.next() % 200), fill: number)
        sent.b.insert(packet)
        pair.network.send(pair.b, [packet])
      }
      // Now and then a long pause, so that sessions age.
      pair.network.run(for: random.chance(0.15) ? Double(random.next() % 200) : Double(random.next() % 3_000) / 1_000)
    }
    for (delivered, sent) in [(pair.b.delivered, sent.a), (pair.a.delivered, sent.b)] {
      try #require(Set(delivered).count == delivered.count, "seed \(seed): delivered twice")
      try #require(Set(delivered).isSubset(of: sent), "seed \(seed): delivered what nobody sent")
    }
    // When the way is good again, both reach one another within the time that a handshake may take.
    pair.network.faults = SimulatedNetwork.Faults()
    let last = innerPacket(from: "10.0.0.1", to: "10.0.0.2", length: 300, fill: 1)
    let back = innerPacket(from: "10.0.0.2", to: "10.0.0.1", length: 300, fill: 2)
    for _ in 0..<25 where !(pair.b.delivered.contains(last) && pair.a.delivered.contains(back)) {
      pair.network.send(pair.a, [last])
      pair.network.send(pair.b, [back])
      pair.network.run(for: 1)
    }
    try #require(pair.b.delivered.contains(last) && pair.a.delivered.contains(back), "seed \(seed): the tunnel is stuck")
    // Sessions, indices and timers do not pile up.
    for node in [pair.a, pair.b] {
      try #require(node.engine.owners.count <= 4, "seed \(seed)")
      try #require(node.engine.shards[0].state.pointee.sessions.count <= 3, "seed \(seed)")
      try #require(node.engine.queue.count < 60, "seed \(seed): \(node.engine.queue.count)")
    }
  }

  @Test("F27: loss, duplication, reordering and bit flips: nothing altered, nothing twice, and the tunnel lives", arguments: UInt64(0)..<20)
  func seeds(hundred: UInt64) throws {
    for seed in UInt64(0)..<15 { try Self.converse(seed: hundred * 100 + seed) }
  }
}
