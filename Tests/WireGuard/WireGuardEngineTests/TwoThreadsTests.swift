import Glibc
import NetworkTypes
import Synchronization
import Testing

@testable import WireGuardEngine

/// One thread seals, one opens, one changes everything under them: to be run with the thread sanitizer too.
@Suite struct TwoThreadsTests {
  final class Thread {
    private var handle = pthread_t()
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
      self.body = body
      let context = Unmanaged.passRetained(self).toOpaque()
      pthread_create(&handle, nil, { Unmanaged<Thread>.fromOpaque($0.unsafelyUnwrapped).takeRetainedValue().run() }, context)
    }

    private func run() -> UnsafeMutableRawPointer? {
      body()
      return nil
    }

    func join() { pthread_join(handle, nil) }
  }

  /// Memory that two threads pass a record through, one at a time.
  final class Slab: @unchecked Sendable {
    let record = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 64)
    let plaintext = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 64)

    deinit {
      record.deallocate()
      plaintext.deallocate()
    }
  }

  /// A node that only its engine is used of, by several threads.
  struct Ends: @unchecked Sendable {
    let a: Engine
    let b: Engine
    let aKey: PublicKey
    let bKey: PublicKey
    let aAddress: DatagramAddress
    let bAddress: DatagramAddress
  }

  /// Seals a packet into the slab's record, for the peer that its address leads to. How long it is; 0 where nothing was sealed.
  private static func seal(_ packet: [UInt8], by engine: Engine, at now: Moment, into slab: Slab) -> Int {
    var length = 0
    _ = engine.send(at: now, mtu: 1420) { batch in
      guard var ticket = batch.ticket(for: packet) else { return }
      slab.record.address(64).copyMemory(from: packet, byteCount: packet.count)
      length = batch.seal(packet.count, at: slab.record.address(64), with: &ticket)
    }
    return length
  }

  @Test("sealing, opening and control at the same time: handshakes, new peers, new allowed IPs, look-ups of state") func threads() {
    let pair = Pair()
    pair.connect()
    pair.network.send(pair.b, [pair.bToA])
    pair.network.run(for: 0.1)
    let ends = Ends(
      a: pair.a.engine, b: pair.b.engine, aKey: pair.a.publicKey, bKey: pair.b.publicKey, aAddress: pair.a.address, bAddress: pair.b.address
    )
    let start = pair.network.now
    let packet = pair.aToB
    let rounds = 3_000
    let results = Slab()
    results.record.initializeMemory(as: UInt8.self, repeating: 0)
    // `a` seals, and what it sealed `b` opens: two engines, a section each; and `a` opens noise at the same time.
    let sealer = Thread {
      let slab = Slab()
      for round in 0..<rounds {
        var length = 0
        let now = start + .microseconds(round)
        let outcome = ends.a.send(at: now, mtu: 1420) { batch in
          guard var ticket = batch.ticket(for: packet, 8) else { return }
          for _ in 0..<8 {
            slab.record.address(64).copyMemory(from: packet, byteCount: packet.count)
            length = batch.seal(packet.count, at: slab.record.address(64), with: &ticket)
          }
        }
        var effects: [EngineEffect] = []
        if outcome.needsControl { ends.a.advance(to: SimulatedNode.time(now), effects: &effects) }
        guard length > 0 else { continue }
        var opened = Opened.dropped
        _ = ends.b.receive(at: now) { batch in
          opened = batch.open(slab.record.address(48), count: length, from: ends.aAddress, into: slab.plaintext.address(64))
        }
        if case .packet = opened { results.record.storeBytes(of: results.record.load(as: Int.self) + 1, as: Int.self) }
      }
    }
    let opener = Thread {
      let slab = Slab()
      for round in 0..<rounds {
        Entropy.system.fill(UnsafeMutableRawBufferPointer(rebasing: slab.record[..<200]))
        slab.record.setWord(MessageType.transport, at: 48)
        let outcome = ends.a.receive(at: start + .microseconds(round)) { batch in
          for _ in 0..<8 { _ = batch.open(slab.record.address(48), count: 128, from: ends.bAddress, into: slab.plaintext.address(64)) }
        }
        #expect(!outcome.needsControl)
      }
    }
    let controller = Thread {
      for round in 0..<60 {
        let time = SimulatedNode.time(start + .milliseconds(round))
        var effects: [EngineEffect] = []
        var change = PeerChange(ends.bKey)
        change.replacesAllowedIPs = true
        change.allowedIPs = [.host(address("10.0.0.2")), IPPrefix("10.\(round).0.0/16") ?? .everything(.v4)]
        let stranger = SimulatedNode("c", "203.0.113.3:3").publicKey
        ends.a.apply(EngineChange(peers: [change, PeerChange(stranger)]), at: time, effects: &effects)
        _ = ends.a.state
        _ = ends.a.nextDeadline
        _ = ends.a.drops
        ends.a.advance(to: time, effects: &effects)
        var gone = PeerChange(stranger)
        gone.removes = true
        ends.a.apply(EngineChange(peers: [gone]), at: time, effects: &effects)
        // A handshake, whose messages go from hand to hand.
        guard let peer = ends.a.control({ ends.a.peers[ends.bKey] }) else { continue }
        effects = []
        ends.a.control {
          peer.lastHandshakeMessage = nil
          ends.a.initiate(peer, isRetry: false, at: time, effects: &effects)
        }
        for _ in 0..<3 {
          var answers: [EngineEffect] = []
          for case .transmit(let bytes, let to, _) in effects {
            let receiver = to == ends.bAddress ? ends.b : ends.a
            let source = to == ends.bAddress ? ends.aAddress : ends.bAddress
            if bytes[0] != 4 { _ = bytes.withUnsafeBytes { receiver.receiveHandshake($0, from: source, at: time, effects: &answers) } }
          }
          effects = answers
        }
      }
    }
    for thread in [sealer, opener, controller] { thread.join() }
    let delivered = results.record.load(as: Int.self)
    #expect(delivered > rounds / 2, "\(delivered)")
    #expect(ends.a.state.peers.count == 1 && ends.b.state.peers.count == 1)
    #expect(ends.b.drops.replayed == 0)
    #expect(ends.a.owners.count <= 3)
  }

  @Test("a peer moves with every packet, while answers are sent and control looks: none goes to where it was before") func moves() {
    let pair = Pair()
    pair.connect()
    let ends = Ends(
      a: pair.a.engine, b: pair.b.engine, aKey: pair.a.publicKey, bKey: pair.b.publicKey, aAddress: pair.a.address, bAddress: pair.b.address
    )
    let start = pair.network.now
    let (packet, answer) = (pair.aToB, pair.bToA)
    let rounds = 4_000
    // Its port tells in which round a packet was sent.
    let delivered = Round()
    let stale = Round()
    let sent = Round()
    let mover = Thread {
      let slab = Slab()
      for round in 1...rounds {
        let now = start + .microseconds(round)
        let length = Self.seal(packet, by: ends.a, at: now, into: slab)
        let source = DatagramAddress(ends.aAddress.address, port: UInt16(1_000 + round))
        _ = ends.b.receive(at: now) { batch in
          if case .packet = batch.open(slab.record.address(48), count: length, from: source, into: slab.plaintext.address(64)) {
            delivered.number.store(round, ordering: .releasing)
          }
        }
      }
    }
    let answerer = Thread {
      // Once more at the end: it may not run before that.
      var round = 0
      while round < rounds {
        round = delivered.number.load(ordering: .acquiring)
        if round == 0 { continue }
        _ = ends.b.send(at: start + .microseconds(round), mtu: 1420) { batch in
          guard let ticket = batch.ticket(for: answer) else { return }
          sent.number.add(1, ordering: .relaxed)
          if Int(ticket.endpoint.port) < 1_000 + round { stale.number.add(1, ordering: .relaxed) }
        }
      }
    }
    let controller = Thread {
      while delivered.number.load(ordering: .relaxed) < rounds {
        var effects: [EngineEffect] = []
        ends.b.advance(to: SimulatedNode.time(start), effects: &effects)
        _ = ends.b.reconsiderWays()
        _ = ends.b.state
        usleep(500)
      }
    }
    for thread in [mover, answerer, controller] { thread.join() }
    #expect(delivered.number.load(ordering: .relaxed) == rounds)
    #expect(sent.number.load(ordering: .relaxed) > 0)
    #expect(stale.number.load(ordering: .relaxed) == 0)
    #expect(ends.b.state.peers[0].endpoint?.port == UInt16(1_000 + rounds))
  }

  @Test("sessions are confirmed by a packet each, while answers are sent and control looks: none is sent in an older session")
  func confirmations() {
    // The initiator's local indices tell in which order its sessions began.
    let words = Round()
    let entropy = Entropy { buffer in
      guard buffer.count == 4 else { return Entropy.system.fill(buffer) }
      buffer.setWord(UInt32(words.number.add(1, ordering: .relaxed).newValue), at: 0)
    }
    let a = SimulatedNode("a", "192.0.2.1:1001", entropy: entropy)
    let b = SimulatedNode("b", "198.51.100.2:1002")
    let network = SimulatedNetwork([a, b])
    for node in [a, b] { node.start(at: network.now) }
    a.addPeer(b, "10.0.0.2/32", at: network.now)
    b.addPeer(a, "10.0.0.1/32", at: network.now)
    let ends = Ends(a: a.engine, b: b.engine, aKey: a.publicKey, bKey: b.publicKey, aAddress: a.address, bAddress: b.address)
    let start = network.now
    let (packet, answer) = (innerPacket(from: "10.0.0.1", to: "10.0.0.2"), innerPacket(from: "10.0.0.2", to: "10.0.0.1"))
    let rounds = 300
    // The moment, and the index of the session whose first packet has been delivered.
    let (delivered, index) = (Round(), Round())
    let (stale, sent, ended) = (Round(), Round(), Round())
    let initiator = Thread {
      let slab = Slab()
      for round in 1...rounds {
        let now = start + .milliseconds(25 * round)
        var effects: [EngineEffect] = []
        ends.a.control {
          guard let peer = ends.a.peers[ends.bKey] else { return }
          peer.lastHandshakeMessage = nil
          ends.a.initiate(peer, isRetry: false, at: SimulatedNode.time(now), effects: &effects)
        }
        for (from, engine) in [(ends.aAddress, ends.b), (ends.bAddress, ends.a)] {
          guard case .transmit(let message, _, _)? = effects.last else { break }
          effects = []
          _ = message.withUnsafeBytes { engine.receiveHandshake($0, from: from, at: SimulatedNode.time(now), effects: &effects) }
        }
        let begun = ends.a.control { ends.a.peers[ends.bKey]?.current?.localIndex ?? 0 }
        let length = Self.seal(packet, by: ends.a, at: now, into: slab)
        _ = ends.b.receive(at: now) { batch in
          if case .packet = batch.open(slab.record.address(48), count: length, from: ends.aAddress, into: slab.plaintext.address(64)) {
            index.number.store(Int(begun), ordering: .relaxed)
            delivered.number.store(round, ordering: .releasing)
          }
        }
      }
      ended.number.store(1, ordering: .releasing)
    }
    let answerer = Thread {
      let slab = Slab()
      // Once more at the end: it may not run before that.
      var hasEnded = false
      while !hasEnded {
        hasEnded = ended.number.load(ordering: .acquiring) != 0
        let round = delivered.number.load(ordering: .acquiring)
        if round == 0 { continue }
        let confirmed = index.number.load(ordering: .relaxed)
        _ = ends.b.send(at: start + .milliseconds(25 * round), mtu: 1420) { batch in
          guard var ticket = batch.ticket(for: answer) else { return }
          slab.record.address(64).copyMemory(from: answer, byteCount: answer.count)
          _ = batch.seal(answer.count, at: slab.record.address(64), with: &ticket)
          sent.number.add(1, ordering: .relaxed)
          if UnsafeRawBufferPointer(slab.record).word(at: 48 + 4) < UInt32(confirmed) { stale.number.add(1, ordering: .relaxed) }
        }
      }
    }
    let controller = Thread {
      while ended.number.load(ordering: .acquiring) == 0 {
        var effects: [EngineEffect] = []
        ends.b.advance(to: SimulatedNode.time(start), effects: &effects)
        usleep(500)
      }
    }
    for thread in [initiator, answerer, controller] { thread.join() }
    #expect(delivered.number.load(ordering: .relaxed) == rounds)
    #expect(sent.number.load(ordering: .relaxed) > 0)
    #expect(stale.number.load(ordering: .relaxed) == 0)
    #expect(ends.b.owners.count <= 3)
  }

  final class Round: Sendable { let number = Atomic<Int>(0) }
}
