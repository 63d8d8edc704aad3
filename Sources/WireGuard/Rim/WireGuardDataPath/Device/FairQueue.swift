internal import Glibc
internal import NetworkTypes

/// Packets from the TUN device that are not sealed yet. Flows take turns, by bytes, and a flow that has sent little goes first, so that a
/// keystroke does not wait behind a download. Packets of one flow keep their order.
///
/// This is deficit round robin with preference for new flows, and CoDel for each flow, as in RFC 8290. A full queue drops nothing: the
/// thread stops reading, and packets wait in the device. Nothing is allocated after `init`.
struct FairQueue: ~Copyable {
  /// A dequeued packet. It stays in its slot until `release`.
  struct Packet {
    fileprivate let slot: Int32
    let bytes: UnsafeMutableRawPointer
    let length: Int
    /// Signal the delay to the packet's sender, by an ECN mark or by dropping a segment.
    let tellsSender: Bool
  }

  /// The storage of a packet. Superpackets need large slots, so there are two kinds.
  private struct Slot {
    var next: Int32
    var length: Int32
    var arrived: UInt64
  }

  private struct Flow {
    var first = none
    var last = none
    var next = none
    var deficit: Int32 = 0
    var isListed = false
    /// Sealing a superpacket takes a tenth of a millisecond, so a wait for a few of them is not a queue. Nor is a wait for two turns of all
    /// others (`turn`).
    var delay = ControlledDelay(target: 500_000, interval: 10_000_000)
  }

  /// A round-robin list of flows.
  private struct Turns {
    var first = none
    var last = none

    @inline(__always)
    mutating func append(_ flow: Int32, of flows: UnsafeMutablePointer<Flow>) {
      flows[Int(flow)].next = none
      if first < 0 { first = flow } else { flows[Int(last)].next = flow }
      last = flow
    }

    @inline(__always)
    mutating func removeFirst(of flows: UnsafeMutablePointer<Flow>) { first = flows[Int(first)].next }
  }

  private static let none: Int32 = -1
  /// Two milliseconds at 5 Gbit/s.
  private static let largeCount: Int32 = 16
  private static let smallCount: Int32 = 512
  static let largest = VirtioHeader.size + 65_535
  private static let largeStride = (largest + 64 + 63) / 64 * 64
  /// With a tail, because checksums may read past the end.
  private static let smallStride = 2_048
  private static let smallest = smallStride - 64
  /// RFC 8290 uses 256 to 1,024 queues. Two flows that share a queue are no worse off than without fair queuing.
  private static let flowCount = 256
  /// The quantum of a turn, in bytes.
  private static let quantum: Int32 = 16_384
  /// The time that two superpackets take, in nanoseconds.
  private static let turn: UInt64 = 200_000

  private let large: UnsafeMutableRawPointer
  private let small: UnsafeMutableRawPointer
  private let slots: UnsafeMutablePointer<Slot>
  private let flows: UnsafeMutablePointer<Flow>
  private var freeLarge: Int32
  private var freeSmall: Int32
  private var count = 0
  /// The number of flows that have packets.
  private var waiting: UInt64 = 0
  private var new = Turns()
  private var old = Turns()
  /// Unknown to others, who could otherwise craft packets that share a flow's queue.
  private let seed: UInt64

  init() {
    large = .allocate(byteCount: Int(Self.largeCount) * Self.largeStride, alignment: 64)
    small = .allocate(byteCount: Int(Self.smallCount) * Self.smallStride, alignment: 64)
    let count = Int(Self.largeCount + Self.smallCount)
    slots = .allocate(capacity: count)
    for i in 0..<count { slots[i] = Slot(next: Int32(i) + 1, length: 0, arrived: 0) }
    slots[Int(Self.largeCount) - 1].next = Self.none
    slots[count - 1].next = Self.none
    flows = .allocate(capacity: Self.flowCount)
    flows.initialize(repeating: Flow(), count: Self.flowCount)
    freeLarge = 0
    freeSmall = Self.largeCount
    seed = .random(in: 0...UInt64.max)
  }

  deinit {
    large.deallocate()
    small.deallocate()
    slots.deallocate()
    flows.deallocate()
  }

  var isEmpty: Bool {
    @inline(__always) get { count == 0 }
  }

  /// The place for the next packet: `largest` bytes, followed by 64 more. `nil`: the queue is full.
  var room: UnsafeMutableRawPointer? {
    @inline(__always) get { freeLarge >= 0 && freeSmall >= 0 ? bytes(freeLarge) : nil }
  }

  @inline(__always)
  private func bytes(_ slot: Int32) -> UnsafeMutableRawPointer {
    slot < Self.largeCount ? large + Int(slot) &* Self.largeStride : small + Int(slot &- Self.largeCount) &* Self.smallStride
  }

  /// Enqueues the `length` bytes at `room`; the IP packet begins after `lead` of them.
  @inline(__always)
  mutating func append(_ length: Int, lead: Int, at now: Moment) {
    count &+= 1
    var slot = freeLarge
    let flow = flows + flow(of: bytes(slot) + lead, length &- lead)
    if length <= Self.smallest {
      slot = freeSmall
      freeSmall = slots[Int(slot)].next
      bytes(slot).copyMemory(from: bytes(freeLarge), byteCount: length)
    } else {
      freeLarge = slots[Int(slot)].next
    }
    slots[Int(slot)] = Slot(next: Self.none, length: Int32(truncatingIfNeeded: length), arrived: now.nanoseconds)
    if flow.pointee.first < 0 {
      flow.pointee.first = slot
      waiting &+= 1
    } else {
      slots[Int(flow.pointee.last)].next = slot
    }
    flow.pointee.last = slot
    if !flow.pointee.isListed {
      flow.pointee.isListed = true
      flow.pointee.deficit = Self.quantum
      new.append(Int32(truncatingIfNeeded: flow - flows), of: flows)
    }
  }

  /// Dequeues the packet whose turn it is.
  @inline(__always)
  mutating func next(at now: Moment) -> Packet? {
    while true {
      let isNew = new.first >= 0
      let index = isNew ? new.first : old.first
      guard index >= 0 else { return nil }
      let flow = flows + Int(index)
      if flow.pointee.deficit > 0, flow.pointee.first >= 0 { return take(from: flow, at: now) }
      if isNew { new.removeFirst(of: flows) } else { old.removeFirst(of: flows) }
      if flow.pointee.first < 0, !isNew || old.first < 0 {
        flow.pointee.isListed = false
        continue
      }
      // This includes a flow that has just run empty, so that it does not count as new before the others have had their turns.
      if flow.pointee.deficit <= 0 { flow.pointee.deficit &+= Self.quantum }
      old.append(index, of: flows)
    }
  }

  @inline(__always)
  private mutating func take(from flow: UnsafeMutablePointer<Flow>, at now: Moment) -> Packet {
    count &-= 1
    let slot = flow.pointee.first
    let entry = slots[Int(slot)]
    flow.pointee.first = entry.next
    flow.pointee.deficit &-= entry.length
    let wait = entry.next >= 0 && now.nanoseconds > entry.arrived ? now.nanoseconds &- entry.arrived : 0
    let tells = flow.pointee.delay.tells(of: wait, bytes: Int(entry.length), at: now, atLeast: waiting &* Self.turn)
    if entry.next < 0 { waiting &-= 1 }
    return Packet(slot: slot, bytes: bytes(slot), length: Int(entry.length), tellsSender: tells)
  }

  /// Frees the slot of a packet.
  @inline(__always)
  mutating func release(_ packet: Packet) {
    if packet.slot < Self.largeCount {
      slots[Int(packet.slot)].next = freeLarge
      freeLarge = packet.slot
    } else {
      slots[Int(packet.slot)].next = freeSmall
      freeSmall = packet.slot
    }
  }

  /// The flow, by a hash of addresses, protocol and, if present, ports. Packets without a whole header share one queue.
  @inline(__always)
  private func flow(of packet: UnsafeRawPointer, _ length: Int) -> Int {
    guard length >= 20 else { return 0 }
    var hash = seed
    let ports: Int
    let transport: UInt8
    if InternetPacket.version(packet) == 4 {
      hash = Self.mix(hash ^ packet.loadUnaligned(fromByteOffset: 12, as: UInt64.self))
      transport = packet.load(fromByteOffset: 9, as: UInt8.self)
      let isFragment = InternetPacket.word(packet, 6) & 0x3fff != 0
      ports = isFragment ? 0 : Int(packet.load(as: UInt8.self) & 0x0f) &* 4
    } else {
      guard length >= 40 else { return 0 }
      for offset in stride(from: 8, to: 40, by: 8) { hash = Self.mix(hash ^ packet.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) }
      transport = packet.load(fromByteOffset: 6, as: UInt8.self)
      ports = 40
    }
    var last = UInt64(transport)
    if ports > 0, ports &+ 4 <= length, transport == InternetPacket.tcp || transport == InternetPacket.udp {
      last |= UInt64(packet.loadUnaligned(fromByteOffset: ports, as: UInt32.self)) << 32
    }
    return Int(truncatingIfNeeded: Self.mix(hash ^ last) >> 56)
  }

  /// Both halves of a wide product, folded.
  @inline(__always)
  private static func mix(_ value: UInt64) -> UInt64 {
    let product = value.multipliedFullWidth(by: 0x9e37_79b9_7f4a_7c15)
    return product.high ^ product.low
  }
}
