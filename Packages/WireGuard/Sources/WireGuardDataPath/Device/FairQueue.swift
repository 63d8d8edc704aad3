internal import Glibc
internal import NetworkTypes

/// Packets that have been read from the TUN device and are not sealed yet: flows take turns, by bytes, and one that has sent little goes
/// first, so that a keystroke does not wait behind a download. Packets of one flow keep their order.
///
/// This is deficit round robin with flows that are new preferred, and CoDel for each flow, as in RFC 8290. Nothing is dropped for lack of
/// room: who has none does not read, and packets wait in the device. Nothing is allocated after `init`.
struct FairQueue: ~Copyable {
  /// A packet that was taken out. It stays where it is until `release`.
  struct Packet {
    fileprivate let slot: Int32
    let bytes: UnsafeMutableRawPointer
    let length: Int
    /// Its sender is to be told of the delay, by a mark or by the loss of a segment.
    let tellsSender: Bool
  }

  /// Where a packet is kept. A superpacket takes a large one, so there is a second kind.
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
    /// A superpacket takes a tenth of a millisecond, and to wait for a few is no queue.
    var delay = ControlledDelay(target: 500_000, interval: 10_000_000)
  }

  /// Flows in the order of their turns.
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
  /// At 5 Gbit/s two milliseconds.
  private static let largeCount: Int32 = 16
  private static let smallCount: Int32 = 512
  static let largest = VirtioHeader.size + 65_535
  private static let largeStride = (largest + 64 + 63) / 64 * 64
  /// With a tail that checksums may read over.
  private static let smallStride = 2_048
  private static let smallest = smallStride - 64
  /// RFC 8290 has 256 to 1,024 queues of packets; two flows that share one are no worse off than without.
  private static let flowCount = 256
  /// Bytes of a turn.
  private static let quantum: Int32 = 16_384

  private let large: UnsafeMutableRawPointer
  private let small: UnsafeMutableRawPointer
  private let slots: UnsafeMutablePointer<Slot>
  private let flows: UnsafeMutablePointer<Flow>
  private var freeLarge: Int32
  private var freeSmall: Int32
  private var count = 0
  private var new = Turns()
  private var old = Turns()
  /// What strangers cannot know: they could aim at a flow's queue.
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

  /// Where the next packet may be put: `largest` bytes, with 64 behind them. `nil`: there is no room.
  var room: UnsafeMutableRawPointer? {
    @inline(__always) get { freeLarge >= 0 && freeSmall >= 0 ? bytes(freeLarge) : nil }
  }

  @inline(__always)
  private func bytes(_ slot: Int32) -> UnsafeMutableRawPointer {
    slot < Self.largeCount ? large + Int(slot) &* Self.largeStride : small + Int(slot &- Self.largeCount) &* Self.smallStride
  }

  /// Takes the `length` bytes that lie at `room` now, of which the IP packet begins after `lead`.
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
    if flow.pointee.first < 0 { flow.pointee.first = slot } else { slots[Int(flow.pointee.last)].next = slot }
    flow.pointee.last = slot
    if !flow.pointee.isListed {
      flow.pointee.isListed = true
      flow.pointee.deficit = Self.quantum
      new.append(Int32(truncatingIfNeeded: flow - flows), of: flows)
    }
  }

  /// Takes out the packet whose turn it is.
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
      // Also one that has just run empty, so that it is not new again before the others have had their turns.
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
    let tells = flow.pointee.delay.tells(of: wait, at: now)
    return Packet(slot: slot, bytes: bytes(slot), length: Int(entry.length), tellsSender: tells)
  }

  /// The packet is used up.
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

  /// By addresses, protocol and, where they are in the packet, ports; what is no whole header shares one queue.
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
