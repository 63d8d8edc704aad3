import NetworkTypes
import WireGuardEngine

/// The cost of one datagram.
struct PacketCost {
  var nanoseconds: Double
  var allocations: Double

  /// Of packets of this many bytes, by one processor.
  func gigabits(_ length: Int) -> Double { Double(length) * 8 / nanoseconds }
}

/// Two devices with a session.
struct Pair {
  static let time = EngineTime(moment: Moment(nanoseconds: 1_000_000_000), wallSeconds: 1_700_000_000, wallNanoseconds: 0)
  static let source = DatagramAddress(IPAddress(v4: 0xc612_0001), port: 51820)
  static let target = DatagramAddress(IPAddress(v4: 0xc612_0002), port: 51820)

  let sender: Device
  let receiver: Device
  let packet: [UInt8]

  init(length: Int) throws {
    let (one, other) = (PrivateKey(), PrivateKey())
    (sender, receiver) = (Device(privateKey: one, at: Self.time), Device(privateKey: other, at: Self.time))
    guard let left = IPPrefix(IPAddress(v4: 0x0a00_0001), length: 32), let right = IPPrefix(IPAddress(v4: 0x0a00_0002), length: 32) else {
      throw BenchmarkError("these are prefixes")
    }
    _ = receiver.setPeers([PeerSettings(publicKey: one.publicKey, allowedIPs: [left])], at: Self.time)
    _ = sender.setPeers([PeerSettings(publicKey: other.publicKey, endpoint: Self.target, allowedIPs: [right])], at: Self.time)
    var packet = [UInt8](repeating: 0, count: length)
    packet.replaceSubrange(
      0..<20, with: [0x45, 0, UInt8(length >> 8), UInt8(length & 255), 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2])
    self.packet = packet
    var work = sender.send(packet, at: Self.time).map { (from: sender, output: $0) }
    var delivered = 0
    while !work.isEmpty {
      let (from, output) = work.removeFirst()
      switch output {
      case .datagram(let bytes, _):
        let to = from === sender ? receiver : sender
        work += to.receive(bytes, from: from === sender ? Self.source : Self.target, at: Self.time).map { (to, $0) }
      case .packet: delivered += 1
      }
    }
    guard delivered == 1 else { throw BenchmarkError("there is no session") }
  }

  /// A packet in, a datagram out; and that datagram in, the packet out.
  func cost(_ count: Int) throws -> (send: PacketCost, receive: PacketCost) {
    var datagrams: [[UInt8]] = []
    datagrams.reserveCapacity(count)
    let sending = measure {
      for _ in 0..<count { for case .datagram(let bytes, _) in sender.send(packet, at: Self.time) { datagrams.append(bytes) } }
    }
    var delivered = 0
    let receiving = measure {
      for datagram in datagrams {
        for case .packet in receiver.receive(datagram, from: Self.source, at: Self.time) { delivered += 1 }
      }
    }
    guard delivered == count else { throw BenchmarkError("\(delivered) of \(count) packets came through") }
    func each(_ cost: Cost) -> PacketCost {
      PacketCost(nanoseconds: cost.seconds * 1e9 / Double(count), allocations: Double(cost.allocations) / Double(count))
    }
    return (each(sending), each(receiving))
  }
}

/// Sealing alone, in place in one slab, as the data path of `roamward-wireguard` does it.
func sealing(length: Int, count: Int) throws -> PacketCost {
  let hub = Node(number: 0)
  let other = Node(number: 1)
  hub.configure([other.change])
  other.configure([hub.change(to: Node.address(0))])
  try other.connect(to: hub, at: 2_000_000_000)
  let room = 64
  let slab = UnsafeMutableRawPointer.allocate(byteCount: room + length + 15 + 528, alignment: 64)
  slab.initializeMemory(as: UInt8.self, repeating: 0, count: room + length + 15 + 528)
  defer { slab.deallocate() }
  var sealed = 0
  let peer = PeerIndex(slot: 0)
  let packet = UnsafeRawBufferPointer(start: slab + room, count: length)
  let group = length < 512 ? 32 : 8
  var tickets = [SendVerdict](repeating: .drop, count: group)
  let cost = measure {
    for _ in 0..<(count / 64) {
      _ = other.engine.send(at: Moment(nanoseconds: 2_000_000_000), mtu: 1420) { batch in
        // As many at once as the data path takes.
        for _ in 0..<(64 / group) {
          batch.inSection { section in for i in 0..<group { tickets[i] = section.prepare(packet, for: peer) } }
          for i in 0..<group {
            guard case .ready(var ticket) = tickets[i] else { continue }
            if batch.seal(length, at: slab + room, with: &ticket) > 0 { sealed += 1 }
          }
        }
      }
    }
  }
  guard sealed == count / 64 * 64 else { throw BenchmarkError("\(sealed) of \(count) packets were sealed") }
  return PacketCost(nanoseconds: cost.seconds * 1e9 / Double(sealed), allocations: Double(cost.allocations) / Double(sealed))
}
