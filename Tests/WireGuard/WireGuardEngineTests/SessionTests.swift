import KeyMemory
import NetworkTypes
import Testing

@testable import WireGuardEngine

/// Whole conversations of two engines.
@Suite struct SessionTests {
  @Test("one packet makes a handshake, waits for it, and arrives; four messages do it") func firstPacket() throws {
    let pair = Pair()
    pair.connect()
    #expect(pair.b.delivered == [pair.aToB])
    #expect(kinds(pair.a.sent) == [1, 4] && kinds(pair.b.sent) == [2])
    #expect(pair.a.sent.map(\.count) == [148, 16 + 112 + 16])
    #expect(pair.b.sent.map(\.count) == [92])
    // 100 bytes are padded to 112, and arrive as 100.
    #expect(pair.b.delivered[0].count == 100)
  }

  @Test("data flows both ways, IPv4 and IPv6, with and without a preshared key", arguments: [false, true]) func bothWays(psk: Bool) {
    let pair = Pair(psk: psk ? Entropy.system.ephemeral() : nil)
    pair.connect()
    let six = innerPacket(from: "fd00::1", to: "fd00::2", length: 1419)
    let back = innerPacket(from: "fd00::2", to: "fd00::1", length: 41)
    pair.network.send(pair.a, [six])
    pair.network.send(pair.b, [back, pair.bToA])
    pair.network.run(for: 0.1)
    #expect(pair.b.delivered == [pair.aToB, six])
    #expect(pair.a.delivered == [back, pair.bToA])
    #expect(pair.a.sent.filter { $0[0] == 1 }.count == 1)
  }

  @Test("different preshared keys never make a session") func wrongPresharedKey() {
    let pair = Pair()
    var change = PeerChange(pair.b.publicKey)
    change.presharedKey = .some(.some(Entropy.system.ephemeral()))
    pair.a.apply(EngineChange(peers: [change]), at: pair.network.now)
    pair.network.send(pair.a, [pair.aToB])
    pair.network.run(for: 30)
    #expect(pair.b.delivered.isEmpty)
    #expect(pair.a.engine.drops.refusedHandshakes > 3)
  }

  @Test("a stranger's initiation gets no answer at all") func silence() {
    let pair = Pair()
    let stranger = SimulatedNode("c", "203.0.113.3:3")
    pair.network.nodes.append(stranger)
    stranger.start(at: pair.network.now)
    stranger.addPeer(pair.b, "10.0.0.2/32", at: pair.network.now)
    pair.network.send(stranger, [innerPacket(from: "10.0.0.3", to: "10.0.0.2")])
    pair.network.run(for: 60)
    #expect(stranger.sent.count > 5)
    #expect(pair.b.sent.isEmpty)
  }

  @Test("both begin at the same moment: both reach one another, with no third handshake") func simultaneous() {
    let pair = Pair()
    pair.a.send([pair.aToB], at: pair.network.now)
    pair.b.send([pair.bToA], at: pair.network.now)
    pair.network.run(for: 1)
    #expect(pair.a.delivered == [pair.bToA] && pair.b.delivered == [pair.aToB])
    for _ in 0..<20 {
      pair.network.send(pair.a, [pair.aToB])
      pair.network.send(pair.b, [pair.bToA])
      pair.network.run(for: 0.05)
    }
    #expect(pair.a.delivered.count == 21 && pair.b.delivered.count == 21)
    #expect((pair.a.sent + pair.b.sent).filter { $0[0] == 1 }.count == 2)
  }

  @Test("packets under way in the old session arrive after the new one began") func oldSession() {
    let pair = Pair()
    pair.connect()
    pair.network.run(for: 121)
    // Sealed in the old session, and slow.
    pair.b.send([pair.bToA], at: pair.network.now)
    let late = pair.b.outbox.removeFirst()
    pair.network.send(pair.a, [pair.aToB])
    pair.network.run(for: 1)
    #expect(pair.a.sent.filter { $0[0] == 1 }.count == 2)
    pair.a.receive(late.bytes, from: pair.b.address, at: pair.network.now)
    #expect(pair.a.delivered == [pair.bToA])
  }

  @Test("statistics count whole messages, as the kernel does; the handshake's time is the wall's") func statistics() {
    let pair = Pair()
    pair.connect()
    let a = pair.a.peer(pair.b)
    let b = pair.b.peer(pair.a)
    #expect(a.sentBytes == 148 + 144 && a.receivedBytes == 92)
    #expect(b.receivedBytes == 148 + 144 && b.sentBytes == 92)
    #expect(a.lastHandshakeSeconds == 1_700_000_001 && b.lastHandshakeSeconds == 1_700_000_001)
    #expect(b.endpoint == pair.a.address)
  }

  @Test("more than 128 packets without a session: the last 128 arrive, in order") func staging() {
    let pair = Pair()
    let packets = (0..<200).map { innerPacket(from: "10.0.0.1", to: "10.0.0.2", fill: UInt8($0)) }
    pair.network.send(pair.a, packets)
    pair.network.run(for: 1)
    #expect(pair.b.delivered == Array(packets.suffix(128)))
  }

  @Test("where what waited for a session has been dropped for want of room, the session is confirmed all the same") func droppedStaged() {
    let pair = Pair()
    pair.network.send(pair.a, [pair.aToB])
    pair.a.staged = [:]
    pair.network.run(for: 0.1)
    #expect(pair.b.keepalives == 1)
    pair.network.send(pair.b, [pair.bToA])
    pair.network.run(for: 0.1)
    #expect(pair.a.delivered == [pair.bToA])
  }

  @Test("a peer that restarted, and knows nothing of the session, is reached again by a new handshake") func restart() {
    let pair = Pair()
    pair.connect()
    pair.b.up(false, at: pair.network.now)
    pair.b.up(at: pair.network.now)
    pair.network.send(pair.a, [pair.aToB])
    pair.network.run(for: 14)
    #expect(pair.b.delivered.count == 1)
    pair.network.run(for: 3)
    pair.network.send(pair.a, [pair.aToB])
    pair.network.run(for: 1)
    #expect(pair.b.delivered.count == 2)
  }

  @Test("another private key: the old session only receives, and the next packet begins a handshake with the new key") func keyChange() {
    let pair = Pair()
    pair.connect()
    let secret = Entropy.system.ephemeral()
    pair.a.apply(EngineChange(privateKey: .some(.some(secret))), at: pair.network.now)
    pair.network.send(pair.b, [pair.bToA])
    pair.network.run(for: 0.1)
    #expect(pair.a.delivered == [pair.bToA])
    // The other side learns of it.
    var peer = PeerChange(Curve25519.publicKey(of: secret))
    peer.allowedIPs = [IPPrefix("10.0.0.1/32")!]
    pair.b.apply(EngineChange(replacesPeers: true, peers: [peer]), at: pair.network.now)
    pair.network.send(pair.a, [pair.aToB])
    pair.network.run(for: 0.1)
    #expect(pair.b.delivered == [pair.aToB, pair.aToB])
    #expect(pair.a.sent.filter { $0[0] == 1 }.count == 2)
  }

  @Test("the peer of our own public key is refused, and goes when our key becomes its") func ownKey() {
    let pair = Pair()
    pair.a.apply(EngineChange(peers: [PeerChange(pair.a.publicKey)]), at: pair.network.now)
    #expect(pair.a.engine.state.peers.map(\.publicKey) == [pair.b.publicKey])
    pair.a.apply(EngineChange(privateKey: .some(.some(pair.b.secret))), at: pair.network.now)
    #expect(pair.a.engine.state.peers.isEmpty)
    #expect(pair.a.effects.contains { if case .removed = $0 { true } else { false } })
  }

  @Test("UAPI's words: update_only, replace_allowed_ips, remove, replace_peers, keys taken away") func settings() {
    let pair = Pair()
    let stranger = SimulatedNode("c", "203.0.113.3:3")
    var change = PeerChange(stranger.publicKey)
    change.updatesOnly = true
    pair.a.apply(EngineChange(peers: [change]), at: pair.network.now)
    #expect(pair.a.engine.state.peers.count == 1)

    change = PeerChange(pair.b.publicKey)
    change.replacesAllowedIPs = true
    change.allowedIPs = [IPPrefix("10.0.1.0/24")!, IPPrefix("10.0.2.0/24")!]
    change.removedAllowedIPs = [IPPrefix("10.0.1.0/24")!]
    change.presharedKey = .some(.some(Entropy.system.ephemeral()))
    pair.a.apply(EngineChange(peers: [change]), at: pair.network.now)
    #expect(pair.a.peer(pair.b).allowedIPs == [IPPrefix("10.0.2.0/24")!])
    #expect(pair.a.peer(pair.b).presharedKey != nil)

    change = PeerChange(pair.b.publicKey)
    change.presharedKey = .some(SecretBytes())
    pair.a.apply(EngineChange(peers: [change]), at: pair.network.now)
    #expect(pair.a.peer(pair.b).presharedKey == nil)
    #expect(pair.a.peer(pair.b).allowedIPs == [IPPrefix("10.0.2.0/24")!])

    // An allowed IP moves to the peer that is given it last.
    pair.a.addPeer(stranger, "10.0.2.0/24", at: pair.network.now)
    #expect(pair.a.peer(pair.b).allowedIPs.isEmpty)
    #expect(pair.a.peer(stranger).allowedIPs == [IPPrefix("10.0.2.0/24")!])

    change = PeerChange(pair.b.publicKey)
    change.removes = true
    pair.a.apply(EngineChange(peers: [change]), at: pair.network.now)
    #expect(pair.a.engine.state.peers.map(\.publicKey) == [stranger.publicKey])
    pair.a.apply(EngineChange(privateKey: .some(nil), replacesPeers: true), at: pair.network.now)
    #expect(pair.a.engine.state.peers.isEmpty && pair.a.engine.state.publicKey == nil)
  }

  @Test("a responder whose session was never confirmed begins one itself for the packet that waits") func unconfirmed() {
    let pair = Pair()
    // The initiator's first packet in the session is lost, and it has nothing more to say.
    pair.network.filter = { from, bytes in !(from == pair.a.address && bytes[0] == 4) }
    pair.connect()
    pair.network.send(pair.b, [pair.bToA])
    pair.network.filter = { _, _ in true }
    pair.network.run(for: 6)
    #expect(pair.a.delivered == [pair.bToA])
  }

  @Test("the same private key said again, with or without the bits that are always set, ends no session") func sameKey() {
    let pair = Pair()
    pair.connect()
    var unclamped = pair.a.secret.withUnsafeBytes { Array($0) }
    unclamped[0] |= 7
    pair.a.apply(EngineChange(privateKey: .some(SecretBytes(bytes: unclamped))), at: pair.network.now)
    pair.network.send(pair.a, [pair.aToB])
    pair.network.run(for: 0.1)
    #expect(pair.b.delivered.count == 2)
    #expect(pair.a.sent.filter { $0[0] == 1 }.count == 1)
  }
}
