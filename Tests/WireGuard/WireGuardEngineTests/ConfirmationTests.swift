import NetworkTypes
import Testing

@testable import WireGuardEngine

/// A responder's session is used for sending from the packet on that confirms it, also before control has looked. A peer that has restarted
/// knows no older one. The kernel and wireguard-go promote the session before they deliver the packet.
@Suite struct ConfirmationTests {
  /// `a` has restarted, and `b` has opened the first packet of the new session. Neither `b`'s sending section
  /// nor its control has looked since.
  private static func confirmed(endpoint: DatagramAddress? = nil) -> Pair {
    let pair = Pair()
    pair.connect()
    pair.a.up(false, at: pair.network.now)
    pair.a.up(at: pair.network.now)
    var held: [UInt8] = []
    pair.network.filter = { from, bytes in
      guard from == pair.a.address, bytes[0] == 4 else { return true }
      held = bytes
      return false
    }
    pair.connect()
    pair.network.filter = { _, _ in true }
    pair.b.sent = []
    pair.b.open(held, from: endpoint ?? pair.a.address, at: pair.network.now)
    #expect(pair.b.delivered == [pair.aToB, pair.aToB])
    return pair
  }

  @Test("the first answer to a peer that has restarted is sent in the new session, each of 10 times") func answers() {
    let pair = Pair()
    pair.connect()
    pair.b.answer = { [bToA = pair.bToA] in $0.count > 50 ? bToA : nil }
    for i in 1...10 {
      pair.a.up(false, at: pair.network.now)
      pair.a.up(at: pair.network.now)
      pair.network.send(pair.a, [pair.aToB])
      pair.network.run(for: 0.1)
      #expect(pair.b.delivered.count == 1 + i)
      #expect(pair.a.delivered.count == i, "answer \(i)")
    }
  }

  @Test("so is a keepalive of control's") func keepalive() {
    let pair = Self.confirmed()
    var change = PeerChange(pair.a.publicKey)
    change.persistentKeepalive = 25
    pair.b.apply(EngineChange(peers: [change]), at: pair.network.now)
    pair.network.run(for: 0.1)
    #expect(kinds(pair.b.sent) == [4])
    #expect(pair.a.keepalives == 1)
  }

  @Test("control that looks later neither begins the session's counter anew nor goes back to the one before") func control() {
    let pair = Self.confirmed()
    pair.b.send([pair.bToA], at: pair.network.now, asksControl: false)
    pair.b.advance(at: pair.network.now)
    pair.b.send([pair.bToA], at: pair.network.now)
    #expect(pair.b.sent.map { $0[8] } == [0, 1])
    pair.network.run(for: 0.1)
    #expect(pair.a.delivered == [pair.bToA, pair.bToA])
    #expect(pair.a.engine.drops.replayed == 0)
  }

  @Test("an endpoint that is set by hand meanwhile does not undo it") func endpoint() {
    let pair = Self.confirmed(endpoint: datagramAddress("192.0.2.77:7"))
    var change = PeerChange(pair.a.publicKey)
    change.endpoint = pair.a.address
    pair.b.apply(EngineChange(peers: [change]), at: pair.network.now)
    pair.network.send(pair.b, [pair.bToA])
    pair.network.run(for: 0.1)
    #expect(pair.a.delivered == [pair.bToA])
  }

  @Test("after another private key, or down and up, nothing is sent in it") func retired() {
    for isDown in [false, true] {
      let pair = Self.confirmed()
      if isDown {
        pair.b.up(false, at: pair.network.now)
        pair.b.up(at: pair.network.now)
      } else {
        pair.b.apply(EngineChange(privateKey: .some(.some(Entropy.system.ephemeral()))), at: pair.network.now)
      }
      pair.b.send([pair.bToA], at: pair.network.now)
      #expect(kinds(pair.b.sent) == [1], "\(isDown)")
    }
  }

  @Test("the session of another handshake meanwhile waits for a first packet of its own") func anotherHandshake() {
    let pair = Self.confirmed()
    let time = SimulatedNode.time(pair.network.now + .seconds(6))
    let initiation = Self.initiation(of: pair.a, to: pair.b, at: time)
    let response = Self.response(of: pair.b, to: initiation, from: pair.a, at: time)
    pair.b.send([pair.bToA], at: time.moment)
    let answer = pair.b.outbox.removeLast().bytes
    #expect(kinds([response, answer]) == [2, 4])
    #expect(answer[4..<8] != response[8..<12])
    pair.a.receive(answer, from: pair.b.address, at: time.moment)
    #expect(pair.a.delivered == [pair.bToA])
  }

  @Test("a session that has begun as initiator meanwhile is not given up for it") func initiator() {
    let pair = Self.confirmed()
    let time = SimulatedNode.time(pair.network.now + .seconds(6))
    let response = Self.response(of: pair.a, to: Self.initiation(of: pair.b, to: pair.a, at: time), from: pair.b, at: time)
    var effects: [EngineEffect] = []
    _ = response.withUnsafeBytes { pair.b.engine.receiveHandshake($0, from: pair.a.address, at: time, effects: &effects) }
    pair.b.send([pair.bToA], at: time.moment)
    #expect(pair.b.sent.last?[4..<8] == response[4..<8])
  }

  // Neither looks at anything besides, such as deadlines.

  private static func initiation(of node: SimulatedNode, to other: SimulatedNode, at time: EngineTime) -> [UInt8] {
    var effects: [EngineEffect] = []
    node.engine.control {
      if let peer = node.engine.peers[other.publicKey] { node.engine.initiate(peer, isRetry: false, at: time, effects: &effects) }
    }
    guard case .transmit(let message, _, _)? = effects.last else { fatalError("no initiation") }
    return message
  }

  private static func response(
    of node: SimulatedNode, to initiation: [UInt8], from other: SimulatedNode, at time: EngineTime
  ) -> [UInt8] {
    var effects: [EngineEffect] = []
    _ = initiation.withUnsafeBytes { node.engine.receiveHandshake($0, from: other.address, at: time, effects: &effects) }
    guard case .transmit(let message, _, _)? = effects.last else { fatalError("no response") }
    return message
  }
}
