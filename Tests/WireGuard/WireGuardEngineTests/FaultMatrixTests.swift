import NetworkTypes
import SeededRandom
import Testing

@testable import WireGuardEngine

/// Rows of the fault matrix, as far as the protocol goes; on real links they are the data path's. F27 is `LossyLinkTests`.
@Suite struct FaultMatrixTests {
  @Test("F26: 10,000 forged initiations a second from forged addresses: data flows on, a new peer connects within a second, memory is flat")
  func flood() {
    let pair = Pair()
    pair.connect()
    let newcomer = SimulatedNode("c", "203.0.113.3:3")
    pair.network.nodes.append(newcomer)
    newcomer.start(at: pair.network.now)
    newcomer.addPeer(pair.b, "10.0.0.2/32", at: pair.network.now)
    pair.b.addPeer(newcomer, "10.0.0.3/32", endpoint: false, at: pair.network.now)
    var random = SplitMix64(seed: 3)
    func flood(seconds: Double) {
      // A hundredth of a second at a time.
      for _ in 0..<Int(seconds * 100) {
        for _ in 0..<100 {
          let source = DatagramAddress(
            IPAddress(v4: 0xcb00_7100 | UInt32(truncatingIfNeeded: random.next() & 0xff)), port: UInt16(truncatingIfNeeded: random.next()))
          pair.b.receive(signedNoise(for: pair.b), from: source, at: pair.network.now)
        }
        pair.b.outbox.removeAll { $0.to.address != newcomer.address.address && $0.to.address != pair.a.address.address }
        pair.network.run(for: 0.01)
      }
    }
    flood(seconds: 0.5)
    #expect(pair.b.engine.admission.isUnderLoad(at: pair.network.now.nanoseconds))
    let drops = pair.b.engine.drops
    #expect(drops.refusedHandshakes < 500, "X25519 was spent on few of 5,000")
    pair.network.send(newcomer, [innerPacket(from: "10.0.0.3", to: "10.0.0.2")])
    for i in 0..<50 {
      pair.network.send(pair.a, [innerPacket(from: "10.0.0.1", to: "10.0.0.2", fill: UInt8(i))])
      flood(seconds: 0.02)
    }
    #expect(kinds(newcomer.sent) == [1, 1, 4], "an initiation, another with the cookie, data")
    #expect(pair.b.delivered.contains(innerPacket(from: "10.0.0.3", to: "10.0.0.2")))
    #expect(pair.b.delivered.count == 1 + 50 + 1)
    #expect(pair.b.engine.owners.count == 2 && pair.b.engine.queue.count < 10)
  }

  @Test("F26: a flood that goes on costs no more X25519 than its first moment; a second after its end nobody is asked for a cookie")
  func longFlood() {
    var admission = HandshakeAdmission()
    let second = ProtocolConstants.second
    func accepted(_ range: Range<UInt64>, from source: (UInt64) -> UInt32) -> Int {
      range.count { step in
        let source = IPAddress(v4: source(step))
        return admission.judge(source, hasProof: false, at: 10 * second + step * 100_000, entropy: .system) == .acceptFromShared
      }
    }
    // 10,000 a second, each from another address, for ten seconds.
    #expect(accepted(0..<100_000) { UInt32(truncatingIfNeeded: $0) &* 2_654_435_761 } < 300)
    // One alone, as loud, does not keep it up.
    _ = accepted(100_000..<125_000) { _ in 0xcb00_7142 }
    #expect(!admission.isUnderLoad(at: 10 * second + 125_000 * 100_000))
  }

  @Test("a gateway's peers that all connect in one moment are answered at once, also behind one address", arguments: [false, true])
  func crowd(isBehindOneAddress: Bool) {
    let gateway = SimulatedNode("gateway", "192.0.2.1:1")
    let network = SimulatedNetwork([gateway])
    gateway.start(at: network.now)
    // Three times as many as senders of unknown keys would have.
    for i in 0..<3 * Int(HandshakeAdmission.capacity) {
      let (high, low) = (i / 200, i % 200 + 1)
      let address = isBehindOneAddress ? "203.0.113.3:\(1024 + i)" : "198.18.\(high).\(low):1"
      let device = SimulatedNode("device \(i)", address)
      network.nodes.append(device)
      device.start(at: network.now)
      device.addPeer(gateway, "10.0.0.0/24", at: network.now)
      gateway.addPeer(device, "10.1.\(high).\(low)/32", endpoint: false, at: network.now)
      device.send([innerPacket(from: "10.1.\(high).\(low)", to: "10.0.0.1")], at: network.now)
    }
    network.run(for: 0.2)
    #expect(gateway.delivered.count == 3 * Int(HandshakeAdmission.capacity))
    #expect(gateway.engine.drops.overLoad == 0 && !gateway.engine.admission.isUnderLoad(at: network.now.nanoseconds))
  }

  @Test("recorded initiations of peers that are sent again from other addresses count as a flood") func replayedFlood() {
    let pair = Pair()
    pair.connect()
    let initiation = pair.a.sent[0]
    for i in 0..<2 * UInt32(HandshakeAdmission.capacity) {
      pair.b.receive(initiation, from: DatagramAddress(IPAddress(v4: 0xc612_0000 | i), port: 1), at: pair.network.now)
    }
    #expect(pair.b.engine.admission.isUnderLoad(at: pair.network.now.nanoseconds))
    #expect(pair.b.engine.drops.refusedHandshakes <= HandshakeAdmission.capacity)
  }

  @Test("F26: a recorded initiation that is sent again gets no answer, and costs the session nothing") func replayedInitiation() {
    let pair = Pair()
    pair.connect()
    let initiation = pair.a.sent[0]
    pair.network.run(for: 2)
    pair.b.sent = []
    for _ in 0..<3 {
      pair.b.receive(initiation, from: pair.a.address, at: pair.network.now)
      pair.network.run(for: 1)
    }
    #expect(pair.b.sent.isEmpty && pair.b.engine.drops.refusedHandshakes == 3)
    pair.network.send(pair.b, [pair.bToA])
    pair.network.run(for: 0.1)
    #expect(pair.a.delivered == [pair.bToA])
  }

  @Test("F27: a packet for another session's index, sent twice, cut short or made longer is dropped, and counted") func mangled() {
    let pair = Pair()
    pair.connect()
    pair.a.send([pair.aToB], at: pair.network.now)
    let datagram = pair.a.outbox.removeLast().bytes
    func take(_ bytes: [UInt8]) -> Opened { pair.b.receive(bytes, from: pair.a.address, at: pair.network.now) }
    var strange = datagram
    strange[5] ^= 0x10
    #expect(take(strange) == .dropped)
    #expect(take(Array(datagram.dropLast())) == .dropped)
    #expect(take(datagram + [0]) == .dropped)
    #expect(take(Array(datagram.prefix(31))) == .dropped)
    let peer = pair.b.peer(pair.a).index
    #expect(take(datagram) == .packet(length: 100, from: peer))
    #expect(take(datagram) == .dropped)
    let drops = pair.b.engine.drops
    #expect(drops.unknownIndex == 1 && drops.unauthentic == 2 && drops.malformed == 1 && drops.replayed == 1)
  }

  @Test("F28: under load, through re-keys, clock jumps and suspend, no key and counter come together twice") func nonces() {
    let pair = Pair()
    var used: Set<[UInt8]> = []
    var repeated = 0
    defer { pair.network.filter = { _, _ in true } }
    pair.network.filter = { from, bytes in
      // The receiver's index names the key: it is drawn anew for each session.
      if bytes[0] == 4, !used.insert([UInt8(from.port & 255)] + bytes[4..<16]).inserted { repeated += 1 }
      return true
    }
    var random = SplitMix64(seed: 5)
    for step in 0..<4_000 {
      pair.network.send(pair.a, [pair.aToB, pair.aToB])
      pair.network.send(pair.b, [pair.bToA])
      pair.network.run(for: Double(random.next() % 300) / 1_000)
      if step % 500 == 250 { pair.network.now = pair.network.now + .seconds(Int(random.next() % 7_200)) }
      if step % 700 == 350 {
        let session = pair.a.engine.peers[pair.b.publicKey]?.current
        if let session { session.sending.pointee.counter = ProtocolConstants.rejectAfterMessages - 1 }
      }
    }
    #expect(repeated == 0)
    #expect(used.count > 11_000)
    #expect(pair.b.delivered.count > 7_500)
  }

  @Test("F28: after a suspend of hours the first packet begins a new session, and arrives") func suspend() {
    let pair = Pair()
    pair.connect()
    pair.network.now = pair.network.now + .seconds(6 * 3600)
    pair.network.send(pair.a, [pair.aToB])
    pair.network.run(for: 0.2)
    #expect(pair.b.delivered.count == 2)
  }

  @Test("F29: an endpoint follows authentic packets, data or handshake, to another address, port or family; and nothing else moves it")
  func roaming() {
    let pair = Pair()
    pair.connect()
    for place in ["192.0.2.1:7777", "203.0.113.7:1001", "[2001:db8::7]:1001"] {
      pair.a.address = datagramAddress(place)
      let count = pair.a.delivered.count
      pair.network.send(pair.b, [pair.bToA])
      pair.network.run(for: 0.1)
      #expect(pair.a.delivered.count == count, "the old address reaches nobody")
      pair.network.send(pair.a, [pair.aToB])
      pair.network.run(for: 0.1)
      #expect(pair.b.peer(pair.a).endpoint == pair.a.address)
      pair.network.send(pair.b, [pair.bToA])
      pair.network.run(for: 0.1)
      #expect(pair.a.delivered.count == count + 1)
    }
    // A copy of an old packet, and noise, from elsewhere.
    let elsewhere = datagramAddress("198.51.100.99:99")
    for datagram in pair.a.sent { pair.b.receive(datagram, from: elsewhere, at: pair.network.now) }
    #expect(pair.b.peer(pair.a).endpoint == pair.a.address)
  }

  @Test(
    "F29: taken away and added again for a new session on each network, however soon after one another and though the clock was set back, it has one at once",
    arguments: [0, 1, 3, 8, 12, 16, 19, 21, 39, 41, 500], [0, -30])
  func beginsAnew(milliseconds: Int, clockStep: Int64) {
    let pair = Pair()
    pair.connect()
    for place in ["203.0.113.7:1001", "203.0.113.8:1001", "203.0.113.9:1001"] {
      pair.a.address = datagramAddress(place)
      pair.a.clockStep += clockStep
      var change = PeerChange(pair.b.publicKey)
      change.endpoint = pair.b.address
      change.persistentKeepalive = 5
      change.allowedIPs = ["10.0.0.2/32", "fd00::2/128"].compactMap { IPPrefix($0) }
      pair.a.apply(EngineChange(replacesPeers: true, peers: [change]), at: pair.network.now)
      pair.network.run(for: Double(milliseconds) / 1000)
    }
    pair.network.run(for: 0.2)
    #expect(pair.a.peer(pair.b).lastHandshakeSeconds != 0)
    let count = pair.b.delivered.count
    pair.network.send(pair.a, [pair.aToB])
    pair.network.run(for: 0.1)
    #expect(pair.b.delivered.count == count + 1 && pair.b.peer(pair.a).endpoint == pair.a.address)
  }

  @Test("F29: who moves, and sends data and a handshake from there so soon that they are taken together, is answered there")
  func movesWithinABatch() {
    let pair = Pair()
    pair.connect()
    pair.a.address = datagramAddress("203.0.113.7:1001")
    pair.network.send(pair.a, [pair.aToB])
    // A new session at once, as when the network has changed.
    var change = PeerChange(pair.b.publicKey)
    change.endpoint = pair.b.address
    change.persistentKeepalive = 5
    change.allowedIPs = ["10.0.0.2/32", "fd00::2/128"].compactMap { IPPrefix($0) }
    pair.a.apply(EngineChange(replacesPeers: true, peers: [change]), at: pair.network.now)
    pair.network.takesTogether = true
    pair.network.run(for: 0.2)
    #expect(pair.b.peer(pair.a).endpoint == pair.a.address)
    #expect(pair.a.peer(pair.b).lastHandshakeSeconds != 0)
  }

  @Test("F29: a session that is confirmed in the batch of the next initiation goes on where that one's response is lost")
  func confirmedWithinABatch() {
    let pair = Pair()
    // The packet that confirms the first session is long under way, and arrives together with the next initiation.
    pair.network.send(pair.a, [pair.aToB])
    pair.network.run(for: 0.0205)
    var kept = pair.network.takeFlights(to: pair.b.address)
    #expect(kinds(kept) == [4])
    pair.network.now = pair.network.now + .seconds(121)
    pair.network.send(pair.a, [pair.aToB])
    kept += pair.network.takeFlights(to: pair.b.address)
    #expect(kinds(kept) == [4, 4, 1])
    pair.b.receive(kept, from: pair.a.address, at: pair.network.now)
    // Its response is lost.
    pair.b.outbox = []
    let count = pair.b.delivered.count
    pair.network.filter = { _, bytes in bytes.first == 4 }
    pair.network.send(pair.a, [pair.aToB])
    pair.network.run(for: 0.1)
    #expect(pair.b.delivered.count == count + 1)
  }

  @Test("F29: both sides move at once: the one that is still known is reached, and the other is learnt from it") func bothMove() {
    let pair = Pair()
    pair.connect()
    pair.a.address = datagramAddress("203.0.113.8:1")
    pair.network.send(pair.a, [pair.aToB])
    pair.network.run(for: 0.1)
    pair.b.address = datagramAddress("[2001:db8::9]:2")
    pair.network.send(pair.b, [pair.bToA])
    pair.network.run(for: 0.1)
    #expect(pair.a.peer(pair.b).endpoint == pair.b.address && pair.b.peer(pair.a).endpoint == pair.a.address)
  }

  @Test("F30: a record is never longer than its packet and 32 bytes at the MTU, whatever the MTU; every length arrives") func mtu() {
    let pair = Pair()
    pair.connect()
    for mtu in [1280, 1300, 1420, 8920] {
      pair.a.mtu = mtu
      for length in (mtu - 40)...mtu {
        pair.a.sent = []
        let packet = innerPacket(from: "10.0.0.1", to: "10.0.0.2", length: length)
        pair.network.send(pair.a, [packet])
        #expect(pair.a.sent[0].count <= mtu + 32)
        #expect(pair.a.sent[0].count % 16 == 0 || pair.a.sent[0].count == mtu + 32)
        pair.network.run(for: 0.02)
        #expect(pair.b.delivered.last == packet)
      }
    }
  }

  @Test(
    "F31: with loss of 1, 10 and 30 %, as much arrives as the way lets through: the tunnel itself loses nothing", arguments: [1, 10, 30])
  func loss(percent: Int) {
    let pair = Pair(seed: UInt64(percent))
    pair.connect()
    pair.network.faults.loss = Double(percent) / 100
    pair.network.faults.reordering = 0.2
    let total = 3_000
    for i in 0..<total {
      pair.network.send(pair.a, [innerPacket(from: "10.0.0.1", to: "10.0.0.2", length: 60, fill: UInt8(i & 255))])
      pair.network.run(for: 0.1)
    }
    pair.network.faults = SimulatedNetwork.Faults()
    pair.network.run(for: 1)
    // Three re-keys at least; what waits for one of them is kept.
    let expected = Double(total) * (1 - Double(percent) / 100)
    #expect(Double(pair.b.delivered.count) > expected * 0.97 && Double(pair.b.delivered.count) < expected * 1.03 + 1)
  }

  @Test("F32: the tunnel's own datagrams, led back into it, are dropped at once; another's to the same peer pass") func loop() {
    let pair = Pair()
    var change = PeerChange(pair.b.publicKey)
    change.allowedIPs = [.everything(.v4), .everything(.v6)]
    pair.a.apply(EngineChange(peers: [change]), at: pair.network.now)
    pair.connect()
    // A datagram that came out of the tunnel, as an IP packet to its destination.
    func datagram(_ message: [UInt8], port: UInt16 = 1002) -> [UInt8] {
      var packet = innerPacket(from: "192.0.2.1", to: "198.51.100.2", length: 28 + message.count)
      packet[9] = 17
      packet.replaceSubrange(20..<28, with: [0, 1, UInt8(port >> 8), UInt8(port & 255), 0, 0, 0, 0])
      packet.replaceSubrange(28..., with: message)
      return packet
    }
    let own = pair.a.sent.last { $0[0] == 4 }!
    pair.a.sent = []
    for _ in 0..<100 { pair.network.send(pair.a, [datagram(own)]) }
    #expect(pair.a.sent.isEmpty && pair.a.engine.drops.loops == 100)
    var foreign = own
    foreign[6] ^= 1
    pair.network.send(pair.a, [datagram(own, port: 51820), datagram(foreign), datagram(signedNoise(for: pair.b))])
    #expect(pair.a.sent.count == 3)
  }

  @Test("F47: two clients with the same ports: each inner source is its peer's alone, and nothing is delivered across") func clients() {
    let hub = SimulatedNode("hub", "192.0.2.1:1")
    let (one, two) = (SimulatedNode("one", "192.0.2.2:5000"), SimulatedNode("two", "192.0.2.3:5000"))
    let network = SimulatedNetwork([hub, one, two])
    for node in network.nodes { node.start(at: network.now) }
    hub.addPeer(one, "10.0.0.2/32", "fd00::2/128", endpoint: false, at: network.now)
    hub.addPeer(two, "10.0.0.3/32", "fd00::3/128", endpoint: false, at: network.now)
    one.addPeer(hub, "0.0.0.0/0", "::/0", at: network.now)
    two.addPeer(hub, "0.0.0.0/0", "::/0", at: network.now)
    network.send(one, [innerPacket(from: "10.0.0.2", to: "10.0.0.1"), innerPacket(from: "fd00::2", to: "fd00::1")])
    network.send(
      two,
      [
        innerPacket(from: "10.0.0.2", to: "10.0.0.1"), innerPacket(from: "fd00::2", to: "fd00::1"),
        innerPacket(from: "10.0.0.3", to: "10.0.0.1"),
      ])
    network.run(for: 1)
    #expect(hub.delivered.count == 3)
    #expect(hub.engine.drops.foreignSource == 2)
    // Answers go to whose address it is, whoever spoke last; and nobody decrypts the other's.
    network.send(hub, [innerPacket(from: "10.0.0.1", to: "10.0.0.2"), innerPacket(from: "10.0.0.1", to: "10.0.0.3")])
    let toOne = hub.sent.last { $0[0] == 4 }!
    network.run(for: 1)
    #expect(one.delivered == [innerPacket(from: "10.0.0.1", to: "10.0.0.2")])
    #expect(two.delivered == [innerPacket(from: "10.0.0.1", to: "10.0.0.3")])
    #expect(one.receive(toOne, from: hub.address, at: network.now) == .dropped)
  }
}
