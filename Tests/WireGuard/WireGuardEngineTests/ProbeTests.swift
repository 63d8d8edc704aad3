import Testing

@testable import WireGuardEngine

/// `probe`: whether a peer can be reached at another address, while the session goes on (an extension of ours for the client of
/// `roamward-gateway`, docs/decisions/0060).
@Suite struct ProbeTests {
  private static let elsewhere = datagramAddress("203.0.113.9:9")

  private func probe(_ pair: Pair, _ address: DatagramAddress) {
    var change = PeerChange(pair.b.publicKey)
    change.updatesOnly = true
    change.probe = address
    pair.a.apply(EngineChange(peers: [change]), at: pair.network.now)
  }

  private func moveElsewhere(_ pair: Pair) {
    var change = PeerChange(pair.b.publicKey)
    change.endpoint = Self.elsewhere
    pair.a.apply(EngineChange(peers: [change]), at: pair.network.now)
  }

  @Test("an answer moves the peer to the address that was probed, and packets pass in both directions at once") func answered() {
    let pair = Pair()
    pair.connect()
    pair.network.run(for: 20)
    moveElsewhere(pair)
    let before = pair.a.peer(pair.b).lastHandshakeSeconds
    probe(pair, pair.b.address)
    #expect(pair.a.outbox.map(\.to) == [pair.b.address] && kinds(pair.a.outbox.map(\.bytes)) == [1])
    pair.network.run(for: 0.1)
    #expect(pair.a.peer(pair.b).endpoint == pair.b.address && pair.a.peer(pair.b).lastHandshakeSeconds > before)
    pair.network.send(pair.a, [pair.aToB])
    pair.network.send(pair.b, [pair.bToA])
    pair.network.run(for: 0.1)
    #expect(pair.a.delivered.count == 1 && pair.b.delivered.count == 2)
  }

  @Test("without an answer every packet passes meanwhile, and the next initiation goes to the endpoint") func unanswered() {
    let pair = Pair()
    pair.connect()
    pair.network.run(for: 20)
    probe(pair, Self.elsewhere)
    for _ in 0..<40 {
      pair.network.send(pair.a, [pair.aToB])
      pair.network.send(pair.b, [pair.bToA])
      pair.network.run(for: 0.2)
    }
    #expect(pair.b.delivered.count == 41 && pair.a.delivered.count == 40)
    #expect(pair.a.peer(pair.b).endpoint == pair.b.address)
    // The session is new, by the initiation that followed.
    #expect(kinds(pair.a.sent).filter { $0 == 1 }.count == 3)
  }

  @Test("nothing is sent soon after a handshake, during another one, and to a peer without an endpoint") func notNow() {
    let pair = Pair()
    pair.connect()
    let sent = pair.a.sent.count
    probe(pair, Self.elsewhere)
    #expect(pair.a.sent.count == sent)
    let waiting = Pair()
    waiting.network.filter = { _, _ in false }
    waiting.network.send(waiting.a, [waiting.aToB])
    waiting.network.run(for: 7)
    #expect(kinds(waiting.a.sent) == [1, 1])
    probe(waiting, Self.elsewhere)
    #expect(kinds(waiting.a.sent) == [1, 1])
    let unknown = Pair(bKnowsA: false)
    var change = PeerChange(unknown.a.publicKey)
    change.probe = Self.elsewhere
    unknown.b.apply(EngineChange(peers: [change]), at: unknown.network.now)
    #expect(unknown.b.sent.isEmpty)
  }
}
