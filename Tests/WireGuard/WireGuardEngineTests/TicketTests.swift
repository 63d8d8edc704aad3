import Glibc
import NetworkTypes
import Synchronization
import Testing

@testable import WireGuardEngine

/// Counters are drawn in blocks, and packets sealed outside of the sending section: to be run with the thread sanitizer too.
@Suite("Tickets")
struct TicketTests {
  private typealias Thread = TwoThreadsTests.Thread
  private typealias Slab = TwoThreadsTests.Slab

  /// A block of counters of a session.
  private struct Block: Sendable {
    var index: UInt32
    var first: UInt64
    var count: UInt64
  }

  private final class Blocks: Sendable { let all = Mutex<[Block]>([]) }

  /// Of one thread; TICKETS=15625 seals a million on each.
  private static let rounds = getenv("TICKETS").flatMap { Int(String(cString: $0)) } ?? 400
  private static let block = 64

  @Test("four threads seal while sessions are replaced and retired: no counter is used twice, and no key is gone too early")
  func uniqueCounters() {
    let pair = Pair(senders: 4)
    pair.connect()
    let (a, b) = (pair.a, pair.b)
    let ends = TwoThreadsTests.Ends(
      a: a.engine, b: b.engine, aKey: a.publicKey, bKey: b.publicKey, aAddress: a.address, bAddress: b.address)
    let start = pair.network.now
    let packet = pair.aToB
    let (blocks, done, delivered) = (Blocks(), TwoThreadsTests.Round(), TwoThreadsTests.Round())
    let before = ends.a.state.peers[0].sentBytes
    let sealers = (0..<4).map { number in
      Thread {
        let slab = Slab()
        var mine: [Block] = []
        var opened = 0
        for _ in 0..<Self.rounds {
          _ = ends.a.send(by: number, at: start, mtu: 1420) { batch in
            guard var ticket = batch.ticket(for: packet, Self.block) else { return }
            for i in 0..<Self.block {
              slab.record.address(64).copyMemory(from: packet, byteCount: packet.count)
              let length = batch.seal(packet.count, at: slab.record.address(64), with: &ticket)
              let record = UnsafeRawBufferPointer(slab.record)
              let counter = record.loadUnaligned(fromByteOffset: 48 + 8, as: UInt64.self)
              if i == 0 {
                mine.append(Block(index: record.word(at: 48 + 4), first: counter, count: UInt64(Self.block)))
              } else if counter != mine[mine.count - 1].first + UInt64(i) || record.word(at: 48 + 4) != mine[mine.count - 1].index {
                Issue.record("a counter outside of the ticket's block")
              }
              if i % 16 == number {
                _ = ends.b.receive(at: start) { batch in
                  if case .packet = batch.open(
                    slab.record.address(48), count: length, from: ends.aAddress, into: slab.plaintext.address(64))
                  {
                    opened += 1
                  }
                }
              }
            }
          }
        }
        blocks.all.withLock { $0 += mine }
        delivered.number.add(opened, ordering: .relaxed)
        done.number.add(1, ordering: .releasing)
      }
    }
    let controller = Thread {
      var round = 0
      while done.number.load(ordering: .acquiring) < 4 {
        round += 1
        let time = SimulatedNode.time(start + .milliseconds(25 * round))
        var effects: [EngineEffect] = []
        ends.a.control {
          guard let peer = ends.a.peers[ends.bKey] else { return }
          peer.lastHandshakeMessage = nil
          ends.a.initiate(peer, isRetry: false, at: time, effects: &effects)
        }
        for (from, engine) in [(ends.aAddress, ends.b), (ends.bAddress, ends.a)] {
          guard case .transmit(let message, _, _)? = effects.last else { break }
          effects = []
          _ = message.withUnsafeBytes { engine.receiveHandshake($0, from: from, at: time, effects: &effects) }
        }
        ends.b.advance(to: time, effects: &effects)
      }
    }
    for thread in sealers + [controller] { thread.join() }
    let all = blocks.all.withLock { $0.sorted { ($0.index, $0.first) < ($1.index, $1.first) } }
    for (one, next) in zip(all, all.dropFirst()) where one.index == next.index {
      #expect(one.first + one.count <= next.first, "counters are used twice")
    }
    let sessions = Set(all.map(\.index)).count
    #expect(all.count == 4 * Self.rounds)
    #expect(sessions > 2, "sessions were not replaced")
    #expect(delivered.number.load(ordering: .relaxed) > 0)
    #expect(ends.b.drops.unauthentic == 0, "sealed with a key that was wiped")
    // A record that its thread seals late may be behind the window, so `drops.replayed` proves nothing here.
    // Keepalives and handshakes of control are counted too.
    let sealed = UInt64(all.count * Self.block * (packet.count + 15) / 16 * 16)
    #expect(ends.a.state.peers[0].sentBytes - before >= sealed)
    #expect(ends.a.owners.count <= 3)
  }

  @Test("a peer is removed and added again while four threads send to it") func removedPeers() {
    let pair = Pair(senders: 4)
    pair.connect()
    let (a, b) = (pair.a, pair.b)
    let ends = TwoThreadsTests.Ends(
      a: a.engine, b: b.engine, aKey: a.publicKey, bKey: b.publicKey, aAddress: a.address, bAddress: b.address)
    let start = pair.network.now
    let packet = pair.aToB
    let done = TwoThreadsTests.Round()
    let sealers = (0..<4).map { number in
      Thread {
        let slab = Slab()
        while done.number.load(ordering: .acquiring) == 0 {
          _ = ends.a.send(by: number, at: start, mtu: 1420) { batch in
            guard var ticket = batch.ticket(for: packet, 8) else { return }
            for _ in 0..<7 { _ = batch.seal(packet.count, at: slab.record.address(64), with: &ticket) }
          }
        }
      }
    }
    let controller = Thread {
      for round in 1...40 {
        let time = SimulatedNode.time(start + .seconds(6 * round))
        var effects: [EngineEffect] = []
        var gone = PeerChange(ends.bKey)
        gone.removes = true
        var again = PeerChange(ends.bKey)
        again.allowedIPs = [.host(address("10.0.0.2"))]
        again.endpoint = ends.bAddress
        ends.a.apply(EngineChange(peers: [gone, again]), at: time, effects: &effects)
        effects = []
        ends.a.control {
          guard let peer = ends.a.peers[ends.bKey] else { return }
          ends.a.initiate(peer, isRetry: false, at: time, effects: &effects)
        }
        for (from, engine) in [(ends.aAddress, ends.b), (ends.bAddress, ends.a)] {
          guard case .transmit(let message, _, _)? = effects.last else { break }
          effects = []
          _ = message.withUnsafeBytes { engine.receiveHandshake($0, from: from, at: time, effects: &effects) }
        }
        usleep(2_000)
      }
      done.number.store(1, ordering: .releasing)
    }
    for thread in sealers + [controller] { thread.join() }
    #expect(ends.a.state.peers.count == 1)
    #expect(ends.a.owners.count <= 3)
  }

  @Test("a superpacket that needs more counters than are left waits for the next session") func lastCounters() {
    let pair = Pair()
    pair.connect()
    pair.network.run(for: 6)
    let session = pair.a.engine.peers[pair.b.publicKey]!.current!
    session.sending.pointee.counter = ProtocolConstants.rejectAfterMessages - 4
    let packet = pair.aToB
    _ = pair.a.engine.send(at: pair.network.now, mtu: 1420) { batch in
      #expect(batch.ticket(for: packet, 5) == nil)
      #expect(batch.ticket(for: packet, 4) != nil)
      #expect(batch.ticket(for: packet, 1) == nil)
    }
    #expect(session.sending.pointee.counter == ProtocolConstants.rejectAfterMessages)
  }
}
