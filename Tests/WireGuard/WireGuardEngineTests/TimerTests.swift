import NetworkTypes
import Testing

@testable import WireGuardEngine

/// Each timer of section 6 of the paper, in simulated time.
@Suite struct TimerTests {
  /// When the initiator sent messages of a kind, in seconds after `start`.
  private func times(_ kind: UInt8, of node: SimulatedNode, in network: SimulatedNetwork, _ body: () -> Void) -> [Double] {
    var times: [Double] = []
    network.filter = { from, bytes in
      if from == node.address, bytes[0] == kind { times.append(network.now.inSeconds) }
      return true
    }
    body()
    network.filter = { _, _ in true }
    return times
  }

  @Test("nothing is armed at rest: not without peers, not with them, and not ten minutes after the last packet") func idle() {
    let pair = Pair()
    #expect(pair.a.engine.nextDeadline == nil && pair.b.engine.nextDeadline == nil)
    pair.connect()
    pair.network.send(pair.b, [pair.bToA])
    pair.network.run(for: 600)
    #expect(pair.a.engine.nextDeadline == nil && pair.b.engine.nextDeadline == nil)
    // One keepalive that answers the last packet, and the wiping of keys on both sides.
    #expect(pair.network.wakeUps.map(\.reason).filter { $0 == .keepalive }.count == 1)
    #expect(pair.network.wakeUps.map(\.reason).filter { $0 == .forgetKeys }.count == 2)
    #expect(pair.network.wakeUps.count == 3)
  }

  @Test("REKEY_TIMEOUT, REKEY_ATTEMPT_TIME: an initiation every 5 s and up to 333 ms, for 90 s; then what waited is dropped, and silence")
  func retransmission() {
    let pair = Pair()
    pair.network.nodes = [pair.a]
    let start = pair.network.now.inSeconds
    let sent = times(1, of: pair.a, in: pair.network) {
      pair.network.send(pair.a, [pair.aToB])
      pair.network.run(for: 300)
    }
    #expect(sent.count == 18)
    let gaps = zip(sent, sent.dropFirst()).map { $1 - $0 }
    #expect(gaps.allSatisfy { $0 >= 5 && $0 <= 5.334 })
    #expect(Set(gaps).count > 10, "the jitter is random")
    #expect(pair.a.effects.last { if case .dropStaged = $0 { true } else { false } } != nil)
    #expect(pair.a.staged.isEmpty)
    let giveUp = pair.network.wakeUps.last { $0.reason == .retransmit }!.at.inSeconds - start
    #expect(giveUp >= 90 && giveUp <= 96.1)
    // Something new to send begins anew.
    let again = times(1, of: pair.a, in: pair.network) {
      pair.network.send(pair.a, [pair.aToB])
      pair.network.run(for: 1)
    }
    #expect(again.count == 1)
  }

  @Test("each initiation has a new ephemeral key, index and a later timestamp") func freshness() {
    let pair = Pair()
    pair.network.nodes = [pair.a]
    pair.network.send(pair.a, [pair.aToB])
    pair.network.run(for: 60)
    let sent = pair.a.sent
    #expect(sent.count > 8)
    #expect(Set(sent.map { Array($0[4..<8]) }).count == sent.count)
    #expect(Set(sent.map { Array($0[8..<40]) }).count == sent.count)
  }

  @Test("KEEPALIVE_TIMEOUT: 10 s after data came in and nothing went out, an empty packet; and no answer to that one") func keepalive() {
    let pair = Pair()
    pair.connect()
    let start = pair.network.now.inSeconds
    pair.network.send(pair.a, [pair.aToB])
    let sent = times(4, of: pair.b, in: pair.network) { pair.network.run(for: 100) }
    // Two packets came in; the first, 100 ms before, counts.
    #expect(sent.count == 2)
    #expect(abs(sent[0] - (start - 0.1 + 0.03 + 10)) < 0.05)
    // More came in after the first: it is acknowledged once more, 10 s later.
    #expect(abs(sent[1] - sent[0] - 10) < 0.01)
    #expect(pair.a.keepalives == 2)
    #expect(times(4, of: pair.a, in: pair.network) { pair.network.run(for: 50) }.isEmpty)
  }

  @Test("KEEPALIVE_TIMEOUT: data sent in the meantime is acknowledgement enough") func noKeepalive() {
    let pair = Pair()
    pair.connect()
    pair.network.run(for: 5)
    pair.network.send(pair.b, [pair.bToA])
    pair.network.run(for: 5.5)
    #expect(pair.a.keepalives == 0)
    #expect(pair.network.wakeUps.filter { $0.node == "b" }.isEmpty)
  }

  @Test("KEEPALIVE_TIMEOUT + REKEY_TIMEOUT: 15 s after data went out and nothing came in, a new handshake") func unanswered() {
    let pair = Pair()
    pair.connect()
    pair.network.run(for: 30)
    let start = pair.network.now.inSeconds
    var sent: [Double] = []
    defer { pair.network.filter = { _, _ in true } }
    pair.network.filter = { from, bytes in
      if from == pair.a.address, bytes[0] == 1 { sent.append(pair.network.now.inSeconds - start) }
      return from != pair.b.address
    }
    pair.network.send(pair.a, [pair.aToB])
    pair.network.run(for: 17)
    #expect(sent.count == 1)
    #expect(sent[0] >= 15 && sent[0] <= 15.334)
    #expect(pair.network.wakeUps.last?.reason == .unanswered)
  }

  @Test("REKEY_AFTER_TIME: the initiator, and it alone, begins anew with the first packet after 120 s") func rekeyAfterTime() {
    let pair = Pair()
    pair.connect()
    let start = pair.network.now.inSeconds
    var initiations: [(Double, DatagramAddress)] = []
    defer { pair.network.filter = { _, _ in true } }
    pair.network.filter = { from, bytes in
      if bytes[0] == 1 { initiations.append((pair.network.now.inSeconds - start, from)) }
      return true
    }
    for _ in 0..<(130 * 2) {
      pair.network.send(pair.a, [pair.aToB])
      pair.network.send(pair.b, [pair.bToA])
      pair.network.run(for: 0.5)
    }
    #expect(initiations.count == 1)
    #expect(initiations[0].0 >= 119.9 && initiations[0].0 < 120.6)
    #expect(initiations[0].1 == pair.a.address)
    #expect(pair.a.delivered.count == 260 && pair.b.delivered.count == 261, "and nothing is lost")
  }

  @Test("REJECT_AFTER_TIME - KEEPALIVE_TIMEOUT - REKEY_TIMEOUT: an initiator that only receives begins anew after 165 s")
  func rekeyOnReceive() {
    let pair = Pair()
    pair.connect()
    let start = pair.network.now.inSeconds
    var initiations: [(Double, DatagramAddress)] = []
    defer { pair.network.filter = { _, _ in true } }
    pair.network.filter = { from, bytes in
      if bytes[0] == 1 { initiations.append((pair.network.now.inSeconds - start, from)) }
      // Its keepalives would begin a handshake at 120 s already.
      return true
    }
    // A flow of a minute, ten before the limit.
    pair.network.run(for: 160)
    for _ in 0..<9 {
      pair.network.send(pair.b, [pair.bToA])
      pair.network.run(for: 1)
    }
    #expect(initiations.count == 1)
    #expect(initiations[0].0 >= 164.9 && initiations[0].0 < 166.1)
    #expect(initiations[0].1 == pair.a.address)
  }

  @Test("REJECT_AFTER_TIME: after 180 s nothing is sent or taken in the session") func reject() {
    let pair = Pair()
    pair.connect()
    pair.b.send([pair.bToA], at: pair.network.now)
    let late = pair.b.outbox.removeLast()
    let early = pair.network.now + .seconds(179)
    let after = pair.network.now + .seconds(180)
    pair.network.nodes = [pair.a]
    pair.network.run(until: after)
    #expect(pair.a.receive(late.bytes, from: pair.b.address, at: after) == .dropped)
    #expect(pair.a.engine.drops.expired == 1)
    let before = pair.a.sent.count
    pair.a.send([pair.aToB], at: after)
    #expect(kinds(Array(pair.a.sent[before...])) == [1])
    #expect(pair.a.staged.values.map(\.count) == [1])
    // A moment before, it was taken.
    #expect(pair.a.receive(late.bytes, from: pair.b.address, at: early) != .dropped)
  }

  @Test("REJECT_AFTER_TIME * 3: keys are wiped, and their indices forgotten") func forgetting() {
    let pair = Pair()
    pair.connect()
    #expect(pair.a.engine.owners.count == 1 && pair.b.engine.owners.count == 1)
    pair.network.run(for: 541)
    #expect(pair.network.wakeUps.filter { $0.reason == .forgetKeys }.map { ($0.at.inSeconds).rounded() } == [541, 541])
    #expect(pair.a.engine.owners.isEmpty && pair.b.engine.owners.isEmpty)
    let peer = pair.a.engine.peers[pair.b.publicKey]!
    #expect(peer.current == nil && peer.previous == nil && peer.next == nil && peer.initiation == nil)
  }

  @Test("persistent keepalive: a packet at once and then every interval, as long as nothing else is sent") func persistent() {
    let pair = Pair(keepalive: 25)
    pair.network.run(for: 0.1)
    #expect(kinds(pair.a.sent) == [1, 4])
    let start = pair.network.now.inSeconds
    let sent = times(4, of: pair.a, in: pair.network) { pair.network.run(for: 100) }
    #expect(sent.map { ($0 - start + 0.08).rounded() } == [25, 50, 75, 100])
    #expect(pair.a.engine.nextDeadline?.reason == .persistentKeepalive)
    var change = PeerChange(pair.b.publicKey)
    change.persistentKeepalive = 0
    pair.a.apply(EngineChange(peers: [change]), at: pair.network.now)
    #expect(pair.a.engine.nextDeadline?.reason == .forgetKeys)
  }

  @Test("persistent keepalive tries on and on where the peer does not answer, and not at all without an endpoint") func persistentAlone() {
    let pair = Pair(keepalive: 25)
    pair.network.nodes = [pair.a]
    pair.network.run(for: 3600)
    #expect(pair.a.sent.count > 100)
    let mute = Pair()
    mute.b.addPeer(mute.a, endpoint: false, keepalive: 5, at: mute.network.now)
    let third = SimulatedNode("c", "203.0.113.3:3")
    mute.b.addPeer(third, "10.0.0.3/32", endpoint: false, keepalive: 5, at: mute.network.now)
    mute.network.nodes = [mute.b]
    mute.b.sent = []
    var change = PeerChange(mute.a.publicKey)
    change.removes = true
    mute.b.apply(EngineChange(peers: [change]), at: mute.network.now)
    mute.network.run(for: 100)
    #expect(mute.b.sent.isEmpty && mute.b.engine.nextDeadline == nil)
  }

  @Test("a private key or an endpoint that comes late: the persistent keepalive begins at once") func persistentLate() {
    let (a, b) = (SimulatedNode("a", "192.0.2.1:1001"), SimulatedNode("b", "198.51.100.2:1002"))
    let now = Moment.seconds(1)
    a.up(at: now)
    a.addPeer(b, keepalive: 1, at: now)
    #expect(a.sent.isEmpty)
    a.apply(EngineChange(privateKey: .some(.some(a.secret))), at: now)
    #expect(kinds(a.sent) == [1])
    // Said again, it begins nothing.
    a.apply(EngineChange(privateKey: .some(.some(a.secret))), at: .seconds(20))
    #expect(kinds(a.sent) == [1])

    let c = SimulatedNode("c", "203.0.113.3:3")
    c.start(at: now)
    c.addPeer(b, endpoint: false, keepalive: 25, at: now)
    #expect(c.sent.isEmpty)
    c.addPeer(b, at: now)
    #expect(kinds(c.sent) == [1])
  }

  @Test("what waits for a session goes by a private key that comes late, or another, at once") func stagedLate() {
    let pair = Pair()
    pair.a.apply(EngineChange(privateKey: .some(nil)), at: pair.network.now)
    pair.network.send(pair.a, [pair.aToB])
    #expect(pair.a.sent.isEmpty)
    pair.a.apply(EngineChange(privateKey: .some(.some(pair.a.secret))), at: pair.network.now)
    pair.network.run(for: 0.1)
    #expect(pair.b.delivered == [pair.aToB])

    // Under a key that the peer does not know nothing comes; then under the right one, without waiting for the next try.
    let other = Pair()
    other.a.apply(EngineChange(privateKey: .some(.some(Entropy.system.ephemeral()))), at: other.network.now)
    other.network.send(other.a, [other.aToB])
    other.network.run(for: 0.1)
    #expect(other.b.delivered.isEmpty)
    other.a.apply(EngineChange(privateKey: .some(.some(other.a.secret))), at: other.network.now)
    other.network.run(for: 0.1)
    #expect(other.b.delivered == [other.aToB])
  }

  @Test("REKEY_AFTER_MESSAGES: the packet after 2^60 asks for a new session, and goes out") func rekeyAfterMessages() {
    let pair = Pair()
    pair.connect()
    pair.network.run(for: 6)
    pair.a.engine.peers[pair.b.publicKey]!.current!.sending.pointee.counter = ProtocolConstants.rekeyAfterMessages
    pair.a.sent = []
    pair.network.send(pair.a, [pair.aToB])
    #expect(kinds(pair.a.sent) == [4])
    pair.network.send(pair.a, [pair.aToB])
    #expect(kinds(pair.a.sent) == [4, 4, 1])
    pair.network.run(for: 0.1)
    #expect(pair.a.engine.peers[pair.b.publicKey]!.current!.sending.pointee.counter < 5)
    #expect(pair.b.delivered.count == 3)
  }

  @Test("timestamps grow while the wall clock stands still or goes back, and are whitened") func timestamps() {
    var last = Timestamp.zero
    let walls: [(Int64, UInt32)] = [(100, 5), (100, 5), (100, 20_000_000), (50, 0), (50, 999_999_999), (101, 0), (101, 1)]
    for (seconds, nanoseconds) in walls {
      let next = Timestamp(
        EngineTime(moment: Moment(nanoseconds: 0), wallSeconds: seconds, wallNanoseconds: nanoseconds), after: last)
      #expect(next > last)
      #expect(next.nanoseconds < 1_000_000_000 && next.nanoseconds % (1 << 24) == 0)
      last = next
    }
    for _ in 0..<200 {
      let next = Timestamp(EngineTime(moment: Moment(nanoseconds: 0), wallSeconds: 0, wallNanoseconds: 0), after: last)
      #expect(next > last)
      last = next
    }
  }

  @Test("what is sent and received in the same nanosecond keeps its order: the later one waits for an answer") func sameInstant() {
    for sendsFirst in [true, false] {
      let pair = Pair()
      pair.connect()
      pair.network.run(for: 30)
      let now = pair.network.now
      pair.a.send([pair.aToB], at: now)
      let datagram = pair.a.outbox.removeLast().bytes
      if sendsFirst { pair.b.send([pair.bToA], at: now) }
      pair.b.receive(datagram, from: pair.a.address, at: now)
      if !sendsFirst { pair.b.send([pair.bToA], at: now) }
      let peer = pair.b.engine.peers[pair.a.publicKey]!
      #expect((peer.unacknowledgedSince != nil) == sendsFirst)
      #expect((peer.unansweredSince != nil) == !sendsFirst)
      #expect(pair.b.engine.nextDeadline?.reason == (sendsFirst ? .keepalive : .unanswered))
    }
  }
}
