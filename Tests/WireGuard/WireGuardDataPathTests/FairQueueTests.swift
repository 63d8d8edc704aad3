import NetworkTypes
import Testing

@testable import WireGuardDataPath

@Suite("Packets that wait to be sealed")
struct FairQueueTests {
  /// The bytes before a packet: room for its virtio header.
  private static let lead = VirtioHeader.size

  /// A packet of this flow, recognizable by its tag.
  private func packet(_ port: Int, _ tag: Int, payload: Int, isV4: Bool = true, isTCP: Bool = true) -> [UInt8] {
    var sample = SampleSuperpacket()
    sample.isV4 = isV4
    sample.isTCP = isTCP
    sample.port = UInt16(port)
    sample.payload = max(8, payload)
    var bytes = [UInt8](repeating: 0, count: Self.lead) + sample.bytes(seed: tag)
    withUnsafeBytes(of: UInt64(tag)) { bytes.replaceSubrange(bytes.count - 8..<bytes.count, with: $0) }
    return bytes
  }

  private func moment(_ microseconds: Int) -> Moment { Moment(nanoseconds: 1_000_000_000 + UInt64(microseconds) * 1000) }

  /// False where there is no room.
  private func put(_ packet: [UInt8], in queue: inout FairQueue, at now: Moment) -> Bool {
    guard let room = queue.room else { return false }
    packet.withUnsafeBytes { if let base = $0.baseAddress { room.copyMemory(from: base, byteCount: $0.count) } }
    queue.append(packet.count, lead: Self.lead, at: now)
    return true
  }

  private func take(from queue: inout FairQueue, at now: Moment) -> (bytes: [UInt8], tellsSender: Bool)? {
    guard let packet = queue.next(at: now) else { return nil }
    defer { queue.release(packet) }
    return (Array(UnsafeRawBufferPointer(start: packet.bytes, count: packet.length)), packet.tellsSender)
  }

  private func tag(_ bytes: [UInt8]) -> Int { bytes.suffix(8).reversed().reduce(0) { $0 << 8 | Int($1) } }

  @Test("a flow that sends little goes before one that sends much, and one that goes on sending much does not")
  func sparseFirst() throws {
    var queue = FairQueue()
    for i in 0..<8 { #expect(put(packet(1, i, payload: 60_000), in: &queue, at: moment(0))) }
    let first = try #require(take(from: &queue, at: moment(1)))
    #expect(tag(first.bytes) == 0)
    #expect(put(packet(2, 100, payload: 60), in: &queue, at: moment(2)))
    #expect(take(from: &queue, at: moment(3)).map { tag($0.bytes) } == 100)
    for i in 0..<8 { #expect(put(packet(3, 200 + i, payload: 60_000), in: &queue, at: moment(4))) }
    // The third is new once; from then on both take turns.
    let order = (0..<15).compactMap { _ in take(from: &queue, at: moment(5)).map { tag($0.bytes) } }
    #expect(order == [200, 1, 201, 2, 202, 3, 203, 4, 204, 5, 205, 6, 206, 7, 207])
    #expect(queue.isEmpty && take(from: &queue, at: moment(6)) == nil)
  }

  @Test("flows get the same share in bytes, however large their packets are")
  func shares() {
    var queue = FairQueue()
    var bytes = [0, 0, 0]
    var waiting = [0, 0, 0]
    let packets = [60_000, 20_000, 1200].enumerated().map { packet($0, $0, payload: $1) }
    while bytes[0] < 3_000_000 {
      // All three always have something there.
      for flow in 0..<3 {
        while waiting[flow] < 2, put(packets[flow], in: &queue, at: moment(0)) { waiting[flow] += 1 }
      }
      guard let (packet, _) = take(from: &queue, at: moment(0)) else { break }
      bytes[tag(packet)] += packet.count
      waiting[tag(packet)] -= 1
    }
    #expect(bytes.allSatisfy { abs($0 - 3_000_000) < 150_000 }, "\(bytes)")
  }

  @Test("whatever comes and goes: nothing is lost, doubled or changed, each flow keeps its order, and the room comes back")
  func model() {
    var queue = FairQueue()
    var waiting: [Int: [[UInt8]]] = [:]
    var tags = 0
    var refused = 0
    var generator = SystemRandomNumberGenerator()
    for round in 0..<4000 {
      // Now it fills up, now it empties.
      if Int.random(in: 0..<100, using: &generator) < (round / 500 % 2 == 0 ? 70 : 30) {
        let flow = Int.random(in: 0..<40, using: &generator)
        let payload = flow < 10 ? Int.random(in: 1000...60_000, using: &generator) : Int.random(in: 8...2500, using: &generator)
        tags += 1
        let packet = packet(flow, tags, payload: payload, isV4: flow % 2 == 0, isTCP: flow % 3 == 0)
        if put(packet, in: &queue, at: moment(round)) { waiting[flow, default: []].append(packet) } else { refused += 1 }
      } else if let (packet, _) = take(from: &queue, at: moment(round)) {
        let flow = waiting.first { $0.value.first == packet }?.key
        #expect(flow != nil, "not the first of any flow")
        if let flow { waiting[flow]?.removeFirst() }
      } else {
        #expect(waiting.values.allSatisfy { $0.isEmpty })
      }
    }
    #expect(refused > 100)
    while let (packet, _) = take(from: &queue, at: moment(4001)) {
      guard let flow = waiting.first(where: { $0.value.first == packet })?.key else { continue }
      waiting[flow]?.removeFirst()
    }
    #expect(waiting.values.allSatisfy { $0.isEmpty } && queue.isEmpty)
    var room = 0
    while put(packet(1, 1, payload: 60_000), in: &queue, at: moment(30_000)) { room += 1 }
    #expect(room == 16)
  }

  @Test("the fragments of a datagram stay in order, also where only the first has the ports")
  func fragments() {
    var queue = FairQueue()
    func fragment(_ tag: Int, flagsAndOffset: [UInt8]) -> [UInt8] {
      var bytes = packet(tag, tag, payload: 1000, isTCP: false)
      bytes.replaceSubrange(Self.lead + 6..<Self.lead + 8, with: flagsAndOffset)
      return bytes
    }
    for i in 0..<30 {
      #expect(put(fragment(2 * i, flagsAndOffset: [0x20, 0]), in: &queue, at: moment(0)))
      #expect(put(fragment(2 * i + 1, flagsAndOffset: [0, 125]), in: &queue, at: moment(0)))
    }
    #expect((0..<60).map { _ in take(from: &queue, at: moment(1)).map { tag($0.bytes) } } == Array(0..<60))
  }

  @Test("what is no packet passes too: who seals decides")
  func junk() {
    var queue = FairQueue()
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<2000 {
      let length = Int.random(in: Self.lead + 1...Self.lead + 100, using: &generator)
      let bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
      #expect(put(bytes, in: &queue, at: moment(0)))
      #expect(take(from: &queue, at: moment(1))?.bytes == bytes)
    }
  }

  @Test("the sender whose packets wait for too long is told, and no other")
  func delay() {
    var queue = FairQueue()
    var told = [0, 0]
    // One flow sends twice what is taken; the other little.
    for round in 0..<2000 {
      let now = moment(round * 100)
      for i in 0..<2 where queue.room != nil { _ = put(packet(0, 2 * i, payload: 60_000), in: &queue, at: now) }
      if round % 10 == 0 { _ = put(packet(1, 1, payload: 100), in: &queue, at: now) }
      let count = round % 10 == 0 ? 2 : 1
      for _ in 0..<count {
        if let (bytes, tells) = take(from: &queue, at: now), tells { told[tag(bytes) % 2] += 1 }
      }
    }
    #expect(told[0] > 10 && told[1] == 0, "\(told)")
  }
}
