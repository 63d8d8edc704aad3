import NetworkTypes
import Testing

@testable import WireGuardEngine

@Suite("Shards")
struct ShardTests {
  /// A hub with many peers, each with a session.
  private struct Star {
    let hub: SimulatedNode
    let spokes: [SimulatedNode]
    let network: SimulatedNetwork

    init(_ count: Int, receivers: Int) {
      hub = SimulatedNode("hub", "198.51.100.1:51820", receivers: receivers)
      spokes = (1...count).map { SimulatedNode("spoke\($0)", "192.0.2.\($0):1000") }
      network = SimulatedNetwork([hub] + spokes)
      for node in [hub] + spokes { node.start(at: network.now) }
      for (i, spoke) in spokes.enumerated() {
        hub.addPeer(spoke, "10.0.1.\(i + 1)/32", endpoint: false, at: network.now)
        spoke.addPeer(hub, "10.0.0.1/32", at: network.now)
      }
      for (i, spoke) in spokes.enumerated() { network.send(spoke, [Self.packet(i)]) }
      network.run(for: 1)
    }

    static func packet(_ spoke: Int) -> [UInt8] { innerPacket(from: "10.0.1.\(spoke + 1)", to: "10.0.0.1") }
  }

  @Test("peers are spread evenly, and all their local indices carry the shard") func indices() throws {
    let star = Star(12, receivers: 3)
    let engine = star.hub.engine
    #expect(engine.shardCount == 4)
    #expect(engine.shards.map(\.peerCount) == [3, 3, 3, 3])
    #expect(star.hub.delivered.count == 12)
    for (index, owner) in engine.owners {
      let peer = try #require(engine.peer(at: owner))
      #expect(Int(index & 3) == peer.shard)
    }
    // The rest is random.
    #expect(Set(engine.owners.keys.map { $0 >> 2 }).count == engine.owners.count)
    for (number, shard) in engine.shards.enumerated() { #expect(shard.state.pointee.sessions.count == 3, "\(number)") }
    var gone = PeerChange(star.spokes[1].publicKey)
    gone.removes = true
    star.hub.apply(EngineChange(peers: [gone]), at: star.network.now)
    #expect(engine.shards.map(\.peerCount) == [3, 2, 3, 3])
    var new = PeerChange(star.spokes[1].publicKey)
    new.allowedIPs = [.host(address("10.0.1.2"))]
    star.hub.apply(EngineChange(peers: [new]), at: star.network.now)
    #expect(engine.shards.map(\.peerCount) == [3, 3, 3, 3])
  }

  @Test("a session belongs to its shard: elsewhere its records are unknown") func otherShard() {
    let star = Star(4, receivers: 4)
    let engine = star.hub.engine
    let spoke = star.spokes[2]
    spoke.sent = []
    spoke.send([Star.packet(2)], at: star.network.now)
    var record = [UInt8](repeating: 0, count: 48) + spoke.sent[0] + [UInt8](repeating: 0, count: 512)
    var plaintext = [UInt8](repeating: 0, count: 64 + 2_048)
    let count = spoke.sent[0].count
    record.withUnsafeMutableBytes { record in
      plaintext.withUnsafeMutableBytes { plaintext in
        let own = ReceiveBatch.shard(of: record.address(48), count: count, shardCount: 4)
        #expect(own == engine.peers[spoke.publicKey]?.shard)
        for shard in [0, 1, 2, 3].sorted(by: { $0 != own && $1 == own }) {
          _ = engine.receive(shard: shard, at: star.network.now) { batch in
            let opened = batch.open(record.address(48), count: count, from: spoke.address, into: plaintext.address(64))
            if shard == own {
              if case .packet = opened {} else { Issue.record("\(opened)") }
            } else {
              #expect(opened == .dropped)
            }
          }
        }
      }
    }
    #expect(engine.drops.unknownIndex == 3)
  }

  @Test("a record without a receiver is for the first shard") func noReceiver() {
    var initiation = [UInt8](repeating: 0xff, count: 148)
    initiation.replaceSubrange(0..<4, with: [1, 0, 0, 0])
    initiation.withUnsafeBytes { #expect(ReceiveBatch.shard(of: $0.address(0), count: 148, shardCount: 64) == 0) }
    [4, 0, 0, 0, 0xff].withUnsafeBytes { #expect(ReceiveBatch.shard(of: $0.address(0), count: 5, shardCount: 64) == 0) }
  }

  @Test("tables whose indices all have the same lowest bits find what is in them, and nothing else") func table() {
    var table = IndexTable(commonBits: 6)
    defer { table.deallocate() }
    let states = UnsafeMutablePointer<ReceivingSession>.allocate(capacity: 200)
    defer { states.deallocate() }
    let key: [UInt8] = []
    key.withUnsafeBytes { key in
      for i in 0..<200 {
        (states + i).initialize(
          to: ReceivingSession(
            key: UnsafeRawPointer(states), localIndex: UInt32(i) << 6 | 5, peer: PeerIndex(slot: 0), createdAt: 0, isInitiator: true,
            awaitsConfirmation: false))
        table.insert(states + i)
      }
    }
    for i in 0..<200 { #expect(table[UInt32(i) << 6 | 5] == states + i) }
    #expect(table[4] == nil && table[200 << 6 | 5] == nil)
    for i in 0..<200 {
      table.remove(UInt32(i) << 6 | 5)
      states[i].window.deallocate()
    }
    #expect(table.count == 0)
  }
}
