import NetworkTypes
import SeededRandom
import Synchronization
import Testing

@testable import WireGuardEngine

/// A peer that moves: NAT that gives it another port, another network, another of our addresses. Kernel and wireguard-go send the first
/// answer to where the peer is now.
@Suite struct PeerMoveTests {
  /// `b` answers each packet as soon as it is delivered.
  private static func answering(_ pair: Pair) {
    // Not the pair: it would keep itself.
    pair.b.answer = { [bToA = pair.bToA] in $0.count > 50 ? bToA : nil }
    pair.connect()
  }

  @Test("the first answer goes to the peer's new address, each of 30 times") func rebinding() {
    let pair = Pair()
    Self.answering(pair)
    #expect(pair.a.delivered.count == 1)
    for i in 1...30 {
      pair.a.address = datagramAddress("192.0.2.\(i % 3 + 1):\(2000 + i)")
      pair.network.send(pair.a, [pair.aToB])
      pair.network.run(for: 0.1)
      #expect(pair.a.delivered.count == 1 + i, "answer \(i)")
      #expect(pair.b.peer(pair.a).endpoint == pair.a.address)
    }
  }

  @Test("the answer leaves from the address that the packet came to, when the way there is asked for") func localAddress() {
    let pair = Pair()
    pair.connect()
    var source = pair.a.address
    for i in 1...10 {
      source.local = DatagramAddress.LocalAddress(high: 0, low: UInt64(i), link: 3)
      pair.a.send([pair.aToB], at: pair.network.now)
      let datagram = pair.a.outbox.removeFirst().bytes
      pair.b.answer = { [bToA = pair.bToA] _ in bToA }
      pair.b.receive(datagram, from: source, at: pair.network.now)
      #expect(pair.b.outbox.map(\.to) == [source])
      pair.b.outbox = []
    }
  }

  @Test("the way to a peer is asked for when it moves, not for a packet") func questions() {
    final class Count: Sendable { let value = Atomic<Int>(0) }
    let asked = Count()
    let a = SimulatedNode("a", "192.0.2.1:1001")
    let b = SimulatedNode("b", "198.51.100.2:1002") {
      asked.value.add(1, ordering: .relaxed)
      return $0
    }
    let network = SimulatedNetwork([a, b])
    for node in [a, b] { node.start(at: network.now) }
    a.addPeer(b, "10.0.0.2/32", at: network.now)
    b.addPeer(a, "10.0.0.1/32", endpoint: false, at: network.now)
    b.answer = { _ in innerPacket(from: "10.0.0.2", to: "10.0.0.1") }
    for move in 1...20 {
      a.address = datagramAddress("192.0.2.1:\(1000 + move)")
      for _ in 0..<20 {
        network.send(a, [innerPacket(from: "10.0.0.1", to: "10.0.0.2")])
        network.run(for: 0.1)
      }
      #expect(asked.value.load(ordering: .relaxed) == move)
    }
    #expect(a.delivered.count == 400)
  }

  @Test("an endpoint that is set by hand holds until the peer is heard again, also right after it has moved") func setByHand() {
    let pair = Pair()
    pair.connect()
    // The move is noted, and neither the sending section nor control has looked yet.
    pair.a.send([pair.aToB], at: pair.network.now)
    pair.b.open(pair.a.outbox.removeFirst().bytes, from: datagramAddress("192.0.2.77:7"), at: pair.network.now)
    var change = PeerChange(pair.a.publicKey)
    change.endpoint = datagramAddress("203.0.113.9:9")
    pair.b.apply(EngineChange(peers: [change]), at: pair.network.now)
    #expect(pair.b.peer(pair.a).endpoint == change.endpoint)
    pair.b.advance(at: pair.network.now)
    pair.b.send([pair.bToA], at: pair.network.now)
    #expect(pair.b.outbox.map(\.to) == [change.endpoint])
    pair.b.outbox = []
    pair.network.send(pair.a, [pair.aToB])
    pair.network.run(for: 0.1)
    #expect(pair.b.peer(pair.a).endpoint == pair.a.address)
  }

  @Test(
    "random lives: moves, restarts, rekeys, batches, reordering, duplicates: no answer goes to an address or session that the peer left",
    arguments: 1...8)
  func lives(seed: Int) {
    var random = SplitMix64(seed: UInt64(seed))
    let pair = Pair(seed: UInt64(seed))
    pair.connect()
    pair.network.takesTogether = seed.isMultiple(of: 2)
    pair.network.faults.duplication = 0.1
    pair.network.faults.reordering = 0.2
    var answers = 0
    for step in 0..<300 {
      // `b` still has the sessions that a restarted peer has forgotten.
      let restarts = random.chance(0.1)
      if restarts {
        pair.a.up(false, at: pair.network.now)
        pair.a.up(at: pair.network.now)
      }
      if random.chance(0.3) { pair.a.address = datagramAddress("192.0.2.\(1 + random.next() % 9):\(1000 + random.next() % 9)") }
      let here = pair.a.address
      pair.b.answer = { [bToA = pair.bToA] _ in
        answers += 1
        return bToA
      }
      pair.network.send(pair.a, (0...random.next() % 3).map { _ in pair.aToB })
      pair.network.run(for: random.chance(0.02) ? 130 : restarts ? 1 : 0.5)
      guard pair.a.delivered.count == answers, pair.b.peer(pair.a).endpoint == here else {
        Issue.record(
          "step \(step): \(pair.a.delivered.count) of \(answers) answers arrived; endpoint \(pair.b.peer(pair.a)), peer at \(here)")
        return
      }
    }
    #expect(answers > 300)
  }
}
