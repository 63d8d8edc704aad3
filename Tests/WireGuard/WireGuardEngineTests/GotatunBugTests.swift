import NetworkTypes
import Testing

@testable import WireGuardEngine

/// Bugs of another engine, from its changelog and its audit: none of them may occur here.
@Suite struct GotatunBugTests {
  @Test("Reject-After-Messages is enforced on both sides: the last counter is 2^64 - 2^13 - 2, then packets wait for a new session")
  func counterLimit() {
    let pair = Pair()
    pair.connect()
    pair.network.run(for: 6)
    let session = pair.a.engine.peers[pair.b.publicKey]!.current!
    session.sending.pointee.counter = ProtocolConstants.rejectAfterMessages - 2
    pair.a.sent = []
    pair.a.send([pair.aToB, pair.aToB, pair.aToB], at: pair.network.now)
    let counters = pair.a.sent.filter { $0[0] == 4 }.map { $0[8..<16].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
    #expect(counters == [UInt64.max - (1 << 13) - 2, UInt64.max - (1 << 13) - 1] as [UInt64])
    #expect(pair.a.staged.values.map(\.count) == [1])
    pair.network.run(for: 1)
    #expect(pair.b.delivered.count == 4, "the last one in the new session")
    // A packet at the limit is refused, though its tag is right.
    let forger = pair.a.engine.peers[pair.b.publicKey]!.current!
    forger.sending.pointee.counter = ProtocolConstants.rejectAfterMessages - 1
    var buffer = [UInt8](repeating: 0, count: 700)
    _ = buffer.withUnsafeMutableBytes { forger.sending.seal(0, at: $0.address(64)) }
    var record = Array(buffer[48..<80])
    record.replaceSubrange(8..<16, with: withUnsafeBytes(of: ProtocolConstants.rejectAfterMessages.littleEndian) { Array($0) })
    let expired = pair.b.engine.drops.expired
    #expect(pair.b.receive(record, from: pair.a.address, at: pair.network.now) == .dropped)
    #expect(pair.b.engine.drops.expired == expired + 1)
  }

  @Test("the counter has 64 bits: beyond 2^32 no nonce comes again") func wideCounter() {
    let pair = Pair()
    pair.connect()
    let packet = innerPacket(from: "10.0.0.1", to: "10.0.0.2", length: 64)
    let session = pair.a.engine.peers[pair.b.publicKey]!.current!
    var ciphers: Set<[UInt8]> = []
    for counter in [0, 1, 1 << 32, 1 << 32 + 1, 1 << 33, 1 << 48] as [UInt64] {
      session.sending.pointee.counter = counter
      pair.a.sent = []
      pair.network.send(pair.a, [packet])
      ciphers.insert(Array(pair.a.sent[0][16...]))
      pair.network.run(for: 0.05)
    }
    #expect(ciphers.count == 6)
    // The counter 0 was used by the first packet.
    #expect(pair.b.delivered.count == 1 + 5)
  }

  @Test("one address, however loud, forces cookies on nobody else") func ownShare() {
    let pair = Pair()
    let loud = DatagramAddress(IPAddress("203.0.113.66")!, port: 6)
    let now = pair.network.now
    for i in 0..<5_000 { pair.b.receive(signedNoise(for: pair.b), from: loud, at: now + .nanoseconds(200_000 * Int64(i))) }
    #expect(pair.b.engine.drops.overLoad > 4_000)
    #expect(!pair.b.engine.admission.isUnderLoad(at: (now + .seconds(1)).nanoseconds))
    pair.b.outbox = []
    pair.network.now = now + .seconds(1)
    pair.b.sent = []
    pair.network.send(pair.a, [pair.aToB])
    pair.network.run(for: 0.1)
    #expect(pair.b.delivered == [pair.aToB])
    #expect(kinds(pair.b.sent) == [2], "no cookie was asked for")
  }

  @Test("a cookie is for an address and a port, and for two minutes") func cookiePort() {
    var secret = CookieSecret()
    let message = signedNoise(for: SimulatedNode("x", "192.0.2.9:9"))
    let source = DatagramAddress(IPAddress("192.0.2.1")!, port: 1000)
    var proven = message
    let cookie = secret.cookie(for: source, at: 1, entropy: .system)
    proven.withUnsafeMutableBytes { cookie.mac(UnsafeRawBufferPointer(rebasing: $0[..<132])).store(to: $0.address(132)) }
    func isRight(_ source: DatagramAddress, _ now: UInt64) -> Bool {
      proven.withUnsafeBytes { secret.isSecondRight($0, from: source, at: now, entropy: .system) }
    }
    #expect(isRight(source, 2))
    #expect(!isRight(DatagramAddress(source.address, port: 1001), 2))
    #expect(!isRight(DatagramAddress(IPAddress("192.0.2.2")!, port: 1000), 2))
    #expect(isRight(source, 119_000_000_000))
    #expect(!isRight(source, 121_000_000_000))
    #expect(message.withUnsafeBytes { !secret.isSecondRight($0, from: source, at: 121_000_000_000, entropy: .system) })
  }

  @Test("an inner source that is within another peer's more specific allowed IPs is refused") func subsetSpoofing() {
    let hub = SimulatedNode("hub", "192.0.2.1:1")
    let wide = SimulatedNode("wide", "192.0.2.2:2")
    let narrow = SimulatedNode("narrow", "192.0.2.3:3")
    let network = SimulatedNetwork([hub, wide, narrow])
    for node in network.nodes { node.start(at: network.now) }
    hub.addPeer(wide, "10.0.0.0/24", at: network.now)
    hub.addPeer(narrow, "10.0.0.7/32", at: network.now)
    wide.addPeer(hub, "0.0.0.0/0", at: network.now)
    network.send(wide, [innerPacket(from: "10.0.0.7", to: "10.1.0.1"), innerPacket(from: "10.0.0.8", to: "10.1.0.1")])
    network.run(for: 1)
    #expect(hub.delivered == [innerPacket(from: "10.0.0.8", to: "10.1.0.1")])
    #expect(hub.engine.drops.foreignSource == 1)
  }

  @Test("a new preshared key is used by the next handshake, also by one that is under way") func presharedKeyChange() {
    let pair = Pair()
    pair.connect()
    pair.network.run(for: 121)
    pair.a.send([pair.aToB], at: pair.network.now)
    var change = PeerChange(pair.a.publicKey)
    let key = Entropy.system.ephemeral()
    change.presharedKey = .some(.some(key))
    pair.b.apply(EngineChange(peers: [change]), at: pair.network.now)
    let before = pair.a.peer(pair.b).lastHandshakeSeconds
    pair.network.run(for: 3)
    #expect(pair.a.peer(pair.b).lastHandshakeSeconds == before, "no session with only one side's new key")
    change = PeerChange(pair.b.publicKey)
    change.presharedKey = .some(.some(key))
    pair.a.apply(EngineChange(peers: [change]), at: pair.network.now)
    pair.network.run(for: 10)
    #expect(pair.a.peer(pair.b).lastHandshakeSeconds > before)
  }

  @Test("session indices tell nothing of how many peers there are") func indices() {
    let hub = SimulatedNode("hub", "192.0.2.1:1")
    let network = SimulatedNetwork([hub])
    hub.start(at: network.now)
    for i in 0..<64 { hub.addPeer(SimulatedNode("\(i)", "192.0.2.2:2"), "10.0.\(i).1/32", at: network.now) }
    for i in 0..<64 { hub.send([innerPacket(from: "10.9.9.9", to: "10.0.\(i).1")], at: network.now) }
    let indices = hub.sent.map { $0[4..<8].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) } }
    #expect(Set(indices).count == 64)
    #expect(indices.filter { $0 > 1 << 24 }.count > 48, "spread over 32 bits")
    // A random neighbour is that near once in 65,536 pairs: four of 63 never are, a counter's always.
    #expect(zip(indices, indices.dropFirst()).filter { $1 &- $0 < 1 << 16 }.count < 4)
  }

  @Test("packets are padded to 16 bytes, but not beyond the MTU") func padding() {
    let pair = Pair()
    pair.connect()
    for (length, mtu, expected) in [
      (20, 1420, 32), (64, 1420, 64), (1409, 1420, 1420), (1420, 1420, 1420), (1410, 0, 1424), (2000, 1420, 2000),
    ] {
      pair.a.mtu = mtu
      pair.a.sent = []
      let packet = innerPacket(from: "10.0.0.1", to: "10.0.0.2", length: length)
      pair.network.send(pair.a, [packet])
      #expect(pair.a.sent.map(\.count) == [expected + 32], "\(length)")
      pair.network.run(for: 0.05)
      #expect(pair.b.delivered.last == packet)
    }
  }

  @Test("keepalives are not answered by keepalives") func pingPong() {
    let pair = Pair()
    pair.connect()
    pair.network.send(pair.b, [pair.bToA])
    pair.network.run(for: 100)
    #expect(pair.a.keepalives + pair.b.keepalives == 1)
  }

  @Test("a clock that stands still, goes back or jumps makes nobody stop") func clock() {
    let pair = Pair()
    pair.connect()
    for seconds in [100.0, 0, 3, 0.5, 5_000, 2, 1e9, 4, 1e10] {
      let now = Moment.seconds(seconds)
      pair.a.send([pair.aToB], at: now)
      pair.b.send([pair.bToA], at: now)
      for _ in 0..<4 {
        for (node, other) in [(pair.a, pair.b), (pair.b, pair.a)] {
          let outbox = node.outbox
          node.outbox = []
          for datagram in outbox { other.receive(datagram.bytes, from: node.address, at: now) }
          node.advance(at: now)
        }
      }
    }
    #expect(pair.a.delivered.count > 3 && pair.b.delivered.count > 3)
  }

  @Test("datagrams of every length up to 65,535 are read or dropped, and nothing else") func oversized() {
    let pair = Pair()
    pair.connect()
    let index = withUnsafeBytes(of: pair.b.engine.owners.keys.first!.littleEndian) { Array($0) }
    for length in Array(0...200) + [1500, 2048, 9000, 16384, 65_507, 65_535] {
      for kind in 0...5 {
        var datagram = [UInt8](repeating: 0, count: length)
        if length > 0 { datagram[0] = UInt8(kind) }
        if length >= 8 { datagram.replaceSubrange(4..<8, with: index) }
        let opened = pair.b.receive(datagram, from: pair.a.address, at: pair.network.now)
        #expect(opened == .dropped || opened == .handshake)
      }
    }
    // And the largest packet there is arrives.
    let packet = innerPacket(from: "10.0.0.1", to: "10.0.0.2", length: 65_400)
    pair.network.send(pair.a, [packet])
    pair.network.run(for: 0.1)
    #expect(pair.b.delivered.last == packet)
  }

  @Test("a cookie reply moves no endpoint, forged or not") func cookieReplyRoam() {
    let pair = Pair()
    pair.network.nodes = [pair.a]
    pair.network.send(pair.a, [pair.aToB])
    let initiation = pair.a.sent[0]
    var secret = CookieSecret()
    let reply = initiation.withUnsafeBytes {
      secret.reply(to: $0, from: pair.a.address, macs: MessageMACs(receiver: pair.b.publicKey), at: 1, entropy: .system)
    }
    let elsewhere = DatagramAddress(IPAddress("203.0.113.99")!, port: 99)
    var forged = reply
    forged[40] ^= 1
    pair.a.receive(forged, from: elsewhere, at: pair.network.now)
    #expect(pair.a.sent.count == 1)
    pair.a.receive(reply, from: elsewhere, at: pair.network.now)
    #expect(pair.a.peer(pair.b).endpoint == pair.b.address)
    // It was a right one: the initiation went out again, with the second MAC, once.
    #expect(kinds(pair.a.sent) == [1, 1])
    #expect(pair.a.sent[1][132...].contains { $0 != 0 })
    pair.a.receive(reply, from: elsewhere, at: pair.network.now)
    #expect(pair.a.sent.count == 2)
  }

  @Test("nothing of a forged packet is looked at or counted: not its source, not its length, not its text") func beforeAuthentication() {
    let pair = Pair()
    pair.connect()
    pair.b.delivered = []
    let before = pair.b.peer(pair.a)
    pair.a.send([pair.aToB], at: pair.network.now)
    var datagram = pair.a.outbox.removeLast().bytes
    datagram[40] ^= 1
    let elsewhere = DatagramAddress(IPAddress("203.0.113.99")!, port: 99)
    #expect(pair.b.receive(datagram, from: elsewhere, at: pair.network.now) == .dropped)
    let after = pair.b.peer(pair.a)
    #expect(after.receivedBytes == before.receivedBytes && after.endpoint == before.endpoint)
    #expect(pair.b.engine.drops.unauthentic == 1)
    // The counter is not used up by the forgery.
    datagram[40] ^= 1
    #expect(pair.b.receive(datagram, from: pair.a.address, at: pair.network.now) != .dropped)
  }

  @Test("a buffer that is used again shows nothing of the packet before: what is told is the packet's own length") func bufferReuse() {
    let pair = Pair()
    pair.connect()
    pair.network.send(pair.a, [innerPacket(from: "10.0.0.1", to: "10.0.0.2", length: 1400, fill: 0xaa)])
    pair.network.send(pair.a, [innerPacket(from: "10.0.0.1", to: "10.0.0.2", length: 21, fill: 0xbb)])
    pair.network.run(for: 0.1)
    #expect(pair.b.delivered.last?.count == 21)
    #expect(pair.b.delivered.last?.contains(0xaa) == false)
    // Padding is zeros, never what lay in the buffer: another side would see it.
    let session = pair.a.engine.peers[pair.b.publicKey]!.current!
    var buffer = [UInt8](repeating: 0xaa, count: 64 + 21 + 543)
    let counter = session.sending.pointee.counter
    _ = buffer.withUnsafeMutableBytes { session.sending.seal(21, at: $0.address(64)) }
    var plaintext = [UInt8](repeating: 0, count: 64 + 32 + 543)
    let isOpen = buffer.withUnsafeMutableBytes { buffer in
      plaintext.withUnsafeMutableBytes {
        TransportCipher.open(
          buffer.address(64), count: 32, counter: counter, key: session.sending.pointee.key, into: $0.address(64))
      }
    }
    #expect(isOpen && plaintext[64 + 21..<64 + 32].allSatisfy { $0 == 0 })
  }
}

/// An initiation of noise whose first MAC is right: what anybody can send who knows the public key.
func signedNoise(for node: SimulatedNode) -> [UInt8] {
  var message = [UInt8](repeating: 0, count: 148)
  message.withUnsafeMutableBytes { message in
    Entropy.system.fill(message)
    message.setWord(MessageType.initiation, at: 0)
    _ = MessageMACs(receiver: node.publicKey).sign(message, cookie: nil)
  }
  return message
}
