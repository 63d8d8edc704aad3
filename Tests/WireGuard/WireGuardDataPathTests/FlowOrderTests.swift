import Glibc
import SeededRandom
import Testing

@testable import WireGuardDataPath

private let lives = getenv("FLOW_ORDER").flatMap { Int(String(cString: $0)) } ?? 3

/// Four pairs of threads carry numbered packets to and from four peers, while queues change hands.
@Suite("Order of flows", .serialized)
struct FlowOrderTests {
  private static let peers = 4
  private static let flowsPerPeer = 4
  /// So many packets of each flow are to arrive. Most are lost: full sockets have room for few of the large ones.
  private static let wanted = 100
  /// So many of each flow are sent at most.
  private static let limit: UInt32 = 50_000

  @Test("packets of a flow do not overtake each other while threads take over queues") func order() throws {
    for life in 0..<lives {
      let seed = UInt64.random(in: 0...UInt64.max)
      try live(seed: seed, "life \(life), seed \(seed)")
    }
  }

  private func live(seed: UInt64, _ what: String) throws {
    var random = SplitMix64(seed: seed)
    let hub = try DatagramPath(pairs: 4)
    let spokes = try (0..<Self.peers).map { _ in try DatagramPath(pairs: 1) }
    for (i, spoke) in spokes.enumerated() {
      try hub.add(spoke, "10.0.1.\(i)/32")
      try spoke.add(hub, "10.0.0.1/32")
    }
    // All have sessions: packets that wait for one are sent by control.
    for (i, spoke) in spokes.enumerated() {
      #expect(spoke.put(packet(from: [10, 0, 1, UInt8(i)], to: [10, 0, 0, 1], flow: 0, 0, length: 100), in: 0), "\(what)")
      let arrives = waits {
        for path in [hub, spoke] { path.control() }
        return (0..<4).contains { hub.take(from: $0) != nil }
      }
      #expect(arrives, "\(what)")
    }
    var (outward, inward) = (Flows(), Flows())
    let limit = Self.limit
    // When threads take over: at so many packets.
    var growth = [outward, inward].map { _ in (0..<2).map { _ in UInt32(random.next() % 1_000) }.sorted() }
    /// Puts a few packets of each flow into the queues.
    func put() {
      for flow in 0..<Self.peers * Self.flowsPerPeer {
        let peer = flow % Self.peers
        // A flow stays in its queue, as the kernel has it.
        outward.put(random.next() % 64, of: flow, upTo: limit) {
          hub.put(packet(from: [10, 0, 0, 1], to: [10, 0, 1, UInt8(peer)], flow: flow, $0, length: 30_000), in: flow / Self.peers)
        }
        inward.put(random.next() % 64, of: flow, upTo: limit) {
          spokes[peer].put(packet(from: [10, 0, 1, UInt8(peer)], to: [10, 0, 0, 1], flow: flow, $0, length: 1_200), in: 0)
        }
      }
    }
    while [outward, inward].contains(where: { $0.fewestArrived < Self.wanted && $0.least < limit }) || growth != [[], []] {
      put()
      if let next = growth[0].first, outward.least >= next {
        growth[0].removeFirst()
        // The threads then have read many that they have not sent, and more come.
        hub.whileNothingIsSent { for _ in 0..<20 { put() } }
        #expect(waits { hub.hasReadAll }, "\(what)")
        hub.whileNothingIsSent {
          for _ in 0..<20 { put() }
          hub.path.outboundDuties.grow()
        }
        for _ in 0..<20 { put() }
      }
      if let next = growth[1].first, inward.least >= next {
        growth[1].removeFirst()
        hub.path.inboundDuties.grow()
      }
      for spoke in spokes { while let packet = spoke.take(from: 0) { outward.take(packet, from: 0) } }
      for queue in 0..<4 { while let packet = hub.take(from: queue) { inward.take(packet, from: queue) } }
      for path in [hub] + spokes { path.control() }
      sched_yield()
    }
    #expect(outward.late == 0 && inward.late == 0, "\(what): \(outward.late) and \(inward.late) packets were overtaken")
    #expect(inward.strayed == 0, "\(what): \(inward.strayed) packets came to another queue than those of their flow before")
    for flows in [outward, inward] {
      #expect(flows.fewestArrived >= Self.wanted, "\(what): \(flows.arrived) packets arrived")
    }
    for duties in [hub.path.outboundDuties, hub.path.inboundDuties] {
      #expect(!duties.canGrow, "\(what)")
      #expect(waits { (0..<4).allSatisfy { duties.queues(of: $0) == [$0] } }, "\(what): not each thread has a queue")
    }
  }

  /// The packets of each flow: those sent, and those that have arrived.
  private struct Flows {
    private static let count = FlowOrderTests.peers * FlowOrderTests.flowsPerPeer
    /// So many packets of a flow may be on their way.
    private static let window: UInt32 = 100
    /// Those that have not arrived after this time are taken as lost.
    private static let patience = Duration.milliseconds(5)
    private var sent = [UInt32](repeating: 0, count: count)
    private var last = [UInt32](repeating: 0, count: count)
    private var open = [UInt32](repeating: Self.window, count: count)
    private var opened = [ContinuousClock.Instant](repeating: .now, count: count)
    private var queue = [Int?](repeating: nil, count: count)
    private(set) var arrived = [Int](repeating: 0, count: count)
    private(set) var (late, strayed) = (0, 0)

    var least: UInt32 { sent.min() ?? 0 }
    var fewestArrived: Int { arrived.min() ?? 0 }

    mutating func put(_ count: UInt64, of flow: Int, upTo limit: UInt32, _ body: (UInt32) -> Bool) {
      // Some are lost: those that wait for a session, and those that a full socket has no room for.
      if sent[flow] == open[flow], opened[flow].duration(to: .now) > Self.patience { reopen(flow, at: sent[flow]) }
      for _ in 0..<count where sent[flow] < min(limit, open[flow]) {
        guard body(sent[flow] + 1) else { return }
        sent[flow] += 1
      }
    }

    private mutating func reopen(_ flow: Int, at number: UInt32) {
      open[flow] = number + Self.window
      opened[flow] = .now
    }

    mutating func take(_ packet: [UInt8], from queue: Int) {
      let flow = Int(packet[28])
      let number = packet[29..<33].reduce(0) { $0 << 8 | UInt32($1) }
      if number <= last[flow] { late += 1 }
      last[flow] = number
      if number + Self.window > open[flow] { reopen(flow, at: number) }
      arrived[flow] += 1
      if let before = self.queue[flow], before != queue { strayed += 1 }
      self.queue[flow] = queue
    }
  }
}
