import NetworkTypes
import WireGuardEngine

/// An engine with many peers. Those that talk do so in random order, the worst for the processor's caches.
final class Gateway {
  private static let length = 1420
  /// The bytes before a packet that are needed to seal or open it in place.
  private static let lead = 64
  private static let stride = (lead + length + 16 + 15 + 528 + 63) / 64 * 64
  private static let batch = 32
  /// Handshakes are this far apart, so that none exceeds its share. Nanoseconds.
  private static let pause: UInt64 = 20_000_000

  private let hub = Node(number: 0)
  private let talking: [Node]
  private let guests: [Node]
  private let slab: UnsafeMutableRawPointer
  private let plaintext: UnsafeMutableRawPointer
  private let count: Int
  private var moment: UInt64 = 2_000_000_000

  /// `peers` known, of which the first `talking` get a session. `count`: the packets of a measurement.
  init(peers: Int, talking: Int, count: Int) throws {
    self.talking = (1...talking).map { Node(number: $0) }
    guests = (peers + 1...peers + 100).map { Node(number: $0) }
    self.count = count
    slab = .allocate(byteCount: count * Self.stride, alignment: 64)
    slab.initializeMemory(as: UInt8.self, repeating: 0, count: count * Self.stride)
    plaintext = .allocate(byteCount: Self.stride, alignment: 64)
    plaintext.initializeMemory(as: UInt8.self, repeating: 0, count: Self.stride)
    hub.configure(self.talking.enumerated().map { $1.change(number: $0 + 1) })
    hub.configure((talking..<peers).compactMap { Node.change(of: $0 + 1) })
    for node in self.talking {
      node.configure([hub.gatewayChange(to: Node.address(0))])
      moment += Self.pause
      try node.connect(to: hub, at: moment)
    }
  }

  deinit {
    slab.deallocate()
    plaintext.deallocate()
  }

  /// Nanoseconds to open a packet, and to seal one, of random peers.
  func packets() throws -> (open: Double, seal: Double) {
    let order = (0..<count).map { _ in Int.random(in: 0..<talking.count) }
    let now = Moment(nanoseconds: moment)
    for (i, talker) in order.enumerated() {
      place(packetTo: 0, from: talker + 1, at: i)
      guard seal(i, by: talking[talker], for: PeerIndex(slot: 0), at: now) else { throw BenchmarkError("a peer has no session") }
    }
    var opened = 0
    let opening = measure {
      for first in Swift.stride(from: 0, to: count, by: Self.batch) {
        _ = hub.engine.receive(at: now) { batch in
          for i in first..<min(count, first + Self.batch) {
            let record = payload(i) - 16
            if case .packet = batch.open(record, count: Self.length + 32, from: talking[order[i]].address, into: plaintext + Self.lead) {
              opened += 1
            }
          }
        }
      }
    }
    guard opened == count else { throw BenchmarkError("\(opened) of \(count) packets were opened") }
    hub.settle(at: moment)
    for (i, talker) in order.enumerated() { place(packetTo: talker + 1, from: 0, at: i) }
    var sealed = 0
    var tickets = [SendVerdict](repeating: .drop, count: Self.batch)
    let sealing = measure {
      for first in Swift.stride(from: 0, to: count, by: Self.batch) {
        _ = hub.engine.send(at: now, mtu: Self.length) { batch in
          let end = min(count, first + Self.batch)
          batch.inSection { section in
            for i in first..<end {
              let packet = UnsafeRawBufferPointer(start: payload(i), count: Self.length)
              tickets[i - first] = section.route(packet).map { section.prepare(packet, for: $0) } ?? .drop
            }
          }
          for i in first..<end {
            guard case .ready(var ticket) = tickets[i - first] else { continue }
            if batch.seal(Self.length, at: payload(i), with: &ticket) > 0 { sealed += 1 }
          }
        }
      }
    }
    guard sealed == count else { throw BenchmarkError("\(sealed) of \(count) packets were sealed") }
    return (opening.seconds * 1e9 / Double(count), sealing.seconds * 1e9 / Double(count))
  }

  /// Nanoseconds to answer an initiation, of peers that are known while they ask.
  func handshakes() throws -> Double {
    var seconds = 0.0
    for guest in guests {
      moment += Self.pause
      hub.configure([guest.change])
      guest.configure([hub.change(to: Node.address(0))], at: moment)
      let message = guest.initiate(at: moment)
      var answers = 0
      seconds += measure { answers = hub.receive(message, from: guest.address, at: moment) }.seconds
      guard answers == 1 else { throw BenchmarkError("an initiation was not answered") }
      hub.configure([guest.removal])
      guest.configure([hub.removal], at: moment)
    }
    return seconds * 1e9 / Double(guests.count)
  }

  private func payload(_ index: Int) -> UnsafeMutableRawPointer { slab + (index * Self.stride + Self.lead) }

  private func place(packetTo destination: Int, from source: Int, at index: Int) {
    let packet = payload(index)
    packet.initializeMemory(as: UInt8.self, repeating: 0, count: 20)
    packet.storeBytes(of: 0x45, as: UInt8.self)
    packet.storeBytes(of: UInt16(Self.length).bigEndian, toByteOffset: 2, as: UInt16.self)
    packet.storeBytes(of: Node.inner(source).bigEndian, toByteOffset: 12, as: UInt32.self)
    packet.storeBytes(of: Node.inner(destination).bigEndian, toByteOffset: 16, as: UInt32.self)
  }

  private func seal(_ index: Int, by node: Node, for peer: PeerIndex, at now: Moment) -> Bool {
    var isSealed = false
    _ = node.engine.send(at: now, mtu: Self.length) { batch in
      var verdict = SendVerdict.drop
      batch.inSection { verdict = $0.prepare(UnsafeRawBufferPointer(start: payload(index), count: Self.length), for: peer) }
      guard case .ready(var ticket) = verdict else { return }
      isSealed = batch.seal(Self.length, at: payload(index), with: &ticket) > 0
    }
    return isSealed
  }
}

/// A gateway with 10,000 peers, 1,000 of which talk, beside one with ten: what is measured, nanoseconds of each.
func gateway(rounds: Int) throws -> [(name: String, many: Double, few: Double)] {
  let many = try Gateway(peers: 10_000, talking: 1000, count: 20_000)
  let few = try Gateway(peers: 10, talking: 10, count: 20_000)
  var series: [[(many: Double, few: Double)]] = [[], [], []]
  for _ in 0..<rounds {
    let (packets, baseline) = (try many.packets(), try few.packets())
    series[0].append((packets.open, baseline.open))
    series[1].append((packets.seal, baseline.seal))
    series[2].append((try many.handshakes(), try few.handshakes()))
  }
  return zip(["open a packet", "seal a packet", "answer an initiation"], series).map { name, pairs in
    (name, median(pairs.map(\.many)), median(pairs.map(\.few)))
  }
}
