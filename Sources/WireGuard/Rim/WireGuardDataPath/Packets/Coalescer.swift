internal import CWireGuardIO
internal import Glibc

/// Joins consecutive packets of one flow into superpackets, by the rules of the kernel's own receive offload. So the TUN device can split
/// them into the same packets again (RFC 9293, RFC 3168; Linux net/ipv4/tcp_offload.c).
///
/// It joins TCP segments with the same headers, consecutive numbers and equal sizes, without SYN, FIN, RST, URG and CWR; a smaller segment
/// ends the run. It joins UDP datagrams of equal size. All other packets pass unchanged: fragments, IPv4 options, IPv6 extension headers,
/// empty segments. Packets of one flow keep their order.
///
/// Packets are not copied: they have to stay in place until `removeAll`. Checksums are not verified, because each packet has been
/// authenticated. The kernel's WireGuard treats that as verified as well.
struct Coalescer: ~Copyable {
  /// A run of packets, and the pieces to write: the virtio header, the first packet, the payloads of the others.
  private struct Group {
    var packet: UnsafeMutableRawPointer
    var kind: Kind
    var isOpen: Bool
    var transport: Int
    var headerLength: Int
    var segmentSize: Int
    var payload: Int
    var count: Int
    var nextSequence: UInt32
  }

  private enum Kind: UInt8 { case other, tcp4, tcp6, udp4, udp6 }

  /// The properties of a packet that matter for joining.
  private struct Shape {
    var kind = Kind.other
    var transport = 0
    var headerLength = 0
  }

  static let capacity = 64
  /// The maximum number of segments in a superpacket: UDP_MAX_SEGMENTS of older kernels. TCP reaches 64 KiB first.
  private static let mostSegments = 64
  private static let mostBytes = 65_535
  private static let searched = 8
  private static let pieces = mostSegments + 1

  private let groups: UnsafeMutablePointer<Group>
  private let vectors: UnsafeMutablePointer<iovec>
  private let headers: UnsafeMutableRawPointer
  private let joinsTCP: Bool
  private let joinsUDP: Bool
  private let hasVirtioHeader: Bool
  private(set) var count = 0

  init(hasVirtioHeader: Bool, joinsTCP: Bool, joinsUDP: Bool) {
    self.hasVirtioHeader = hasVirtioHeader
    self.joinsTCP = hasVirtioHeader && joinsTCP
    self.joinsUDP = hasVirtioHeader && joinsUDP
    groups = .allocate(capacity: Self.capacity)
    vectors = .allocate(capacity: Self.capacity * Self.pieces)
    headers = .allocate(byteCount: Self.capacity * 16, alignment: 16)
  }

  deinit {
    groups.deallocate()
    vectors.deallocate()
    headers.deallocate()
  }

  var isFull: Bool {
    @inline(__always) get { count == Self.capacity }
  }

  mutating func removeAll() { count = 0 }

  /// Adds a whole IP packet of this length (its own, without padding). `isFull` has to be false.
  @inline(__always)
  mutating func append(_ packet: UnsafeMutableRawPointer, _ length: Int) {
    let shape = shape(of: packet, length)
    if shape.kind != .other, join(packet, length, shape) { return }
    let index = count
    precondition(index < Self.capacity)
    count &+= 1
    let payload = length &- shape.headerLength
    var isOpen = shape.kind != .other && payload > 0
    if isOpen, isTCP(shape.kind) {
      isOpen = packet.load(fromByteOffset: shape.transport &+ 13, as: UInt8.self) & InternetPacket.psh == 0
    }
    groups[index] = Group(
      packet: packet, kind: shape.kind, isOpen: isOpen, transport: shape.transport, headerLength: shape.headerLength,
      segmentSize: payload, payload: payload, count: 1,
      nextSequence: isTCP(shape.kind) ? InternetPacket.long(packet, shape.transport &+ 4) &+ UInt32(truncatingIfNeeded: payload) : 0)
    let first = vectors + index &* Self.pieces
    first[0] = iovec(iov_base: headers + index &* 16, iov_len: hasVirtioHeader ? VirtioHeader.size : 0)
    first[1] = iovec(iov_base: packet, iov_len: length)
  }

  /// Completes a group's headers and returns the pieces to write in one call.
  @inline(__always)
  func finish(_ index: Int) -> UnsafeBufferPointer<iovec> {
    let group = groups[index]
    var virtio = VirtioHeader()
    if group.count > 1 {
      virtio.flags = VirtioHeader.needsChecksum
      virtio.headerLength = UInt16(truncatingIfNeeded: group.headerLength)
      virtio.segmentSize = UInt16(truncatingIfNeeded: group.segmentSize)
      virtio.checksumStart = UInt16(truncatingIfNeeded: group.transport)
      complete(group, &virtio)
    }
    if hasVirtioHeader { virtio.store(at: headers + index &* 16) }
    let start = hasVirtioHeader ? 0 : 1
    return UnsafeBufferPointer(start: vectors + (index &* Self.pieces &+ start), count: group.count &+ 1 &- start)
  }

  /// A number for the flow of a group, the same for both of its directions.
  @inline(__always)
  func flow(of index: Int) -> Int { InternetPacket.flow(groups[index].packet, groups[index].headerLength &+ groups[index].payload) }

  private func complete(_ group: Group, _ virtio: inout VirtioHeader) {
    let packet = group.packet
    let total = group.headerLength &+ group.payload
    let isV4 = group.kind == .tcp4 || group.kind == .udp4
    if isV4 {
      InternetPacket.setWord(packet, 2, UInt16(truncatingIfNeeded: total))
      InternetPacket.setHeaderChecksum(packet, headerLength: 20)
    } else {
      InternetPacket.setWord(packet, 4, UInt16(truncatingIfNeeded: total &- 40))
    }
    let length = total &- group.transport
    let tcp = isTCP(group.kind)
    if tcp {
      virtio.segmentation = isV4 ? VirtioHeader.Segmentation.tcp4 : VirtioHeader.Segmentation.tcp6
      virtio.checksumOffset = 16
    } else {
      virtio.segmentation = VirtioHeader.Segmentation.udp
      virtio.checksumOffset = 6
      InternetPacket.setWord(packet + group.transport, 4, UInt16(truncatingIfNeeded: length))
    }
    let sum = InternetChecksum.pseudoHeader(
      addresses: packet + (isV4 ? 12 : 8), isV4 ? 8 : 32, protocol: tcp ? InternetPacket.tcp : InternetPacket.udp, length: length)
    packet.storeBytes(
      of: InternetChecksum.fold(sum), toByteOffset: group.transport &+ Int(virtio.checksumOffset), as: UInt16.self)
  }

  // MARK: Joining

  @inline(__always)
  private func isTCP(_ kind: Kind) -> Bool { kind == .tcp4 || kind == .tcp6 }

  @inline(__always)
  private func shape(of packet: UnsafeMutableRawPointer, _ length: Int) -> Shape {
    var shape = Shape()
    guard joinsTCP || joinsUDP else { return shape }
    let first = packet.load(as: UInt8.self)
    let next: UInt8
    if first == 0x45 {
      // No fragments.
      guard length >= 28, InternetPacket.word(packet, 6) & 0xbfff == 0 else { return shape }
      next = packet.load(fromByteOffset: 9, as: UInt8.self)
      shape.transport = 20
    } else if first >> 4 == 6 {
      guard length >= 48 else { return shape }
      next = packet.load(fromByteOffset: 6, as: UInt8.self)
      shape.transport = 40
    } else {
      return shape
    }
    let isV4 = shape.transport == 20
    if next == InternetPacket.tcp, joinsTCP {
      guard length >= shape.transport &+ 20 else { return Shape() }
      let header = Int(packet.load(fromByteOffset: shape.transport &+ 12, as: UInt8.self) >> 4) &* 4
      let flags = packet.load(fromByteOffset: shape.transport &+ 13, as: UInt8.self)
      shape.headerLength = shape.transport &+ header
      let ece: UInt8 = 0x40
      guard header >= 20, shape.headerLength <= length, flags & ~(InternetPacket.psh | ece) == InternetPacket.ack else { return Shape() }
      shape.kind = isV4 ? .tcp4 : .tcp6
    } else if next == InternetPacket.udp, joinsUDP {
      shape.headerLength = shape.transport &+ 8
      // A checksum of zero means that there is none; joined datagrams get one.
      guard Int(InternetPacket.word(packet, shape.transport &+ 4)) == length &- shape.transport,
        packet.loadUnaligned(fromByteOffset: shape.transport &+ 6, as: UInt16.self) != 0
      else { return Shape() }
      shape.kind = isV4 ? .udp4 : .udp6
    }
    return shape
  }

  @inline(__always)
  private mutating func join(_ packet: UnsafeMutableRawPointer, _ length: Int, _ shape: Shape) -> Bool {
    var index = count
    let end = max(0, count &- Self.searched)
    while index > end {
      index &-= 1
      let other = groups[index].kind
      // A packet that cannot be joined may belong to this flow: keep the order.
      if other == .other { return false }
      if other == shape.kind, isSameFlow(groups[index].packet, packet, shape) { return join(packet, length, shape, to: index) }
    }
    return false
  }

  @inline(__always)
  private func isSameFlow(_ one: UnsafeMutableRawPointer, _ other: UnsafeMutableRawPointer, _ shape: Shape) -> Bool {
    let ports = shape.transport
    guard one.loadUnaligned(fromByteOffset: ports, as: UInt32.self) == other.loadUnaligned(fromByteOffset: ports, as: UInt32.self)
    else { return false }
    if ports == 20 {
      return one.loadUnaligned(fromByteOffset: 12, as: UInt64.self) == other.loadUnaligned(fromByteOffset: 12, as: UInt64.self)
    }
    return one.loadUnaligned(fromByteOffset: 8, as: SIMD4<UInt64>.self) == other.loadUnaligned(fromByteOffset: 8, as: SIMD4<UInt64>.self)
  }

  /// The flow is the same. True if the packet continues the run.
  @inline(__always)
  private mutating func join(_ packet: UnsafeMutableRawPointer, _ length: Int, _ shape: Shape, to index: Int) -> Bool {
    let group = groups + index
    let payload = length &- shape.headerLength
    guard group.pointee.isOpen, payload > 0, payload <= group.pointee.segmentSize, group.pointee.count < Self.mostSegments,
      group.pointee.headerLength == shape.headerLength, length &+ group.pointee.payload <= Self.mostBytes,
      isContinuation(packet, of: group.pointee, shape)
    else { return false }
    vectors[index &* Self.pieces &+ group.pointee.count &+ 1] = iovec(iov_base: packet + shape.headerLength, iov_len: payload)
    group.pointee.count &+= 1
    group.pointee.payload &+= payload
    if payload < group.pointee.segmentSize { group.pointee.isOpen = false }
    if isTCP(shape.kind) {
      group.pointee.nextSequence &+= UInt32(truncatingIfNeeded: payload)
      let flags = packet.load(fromByteOffset: shape.transport &+ 13, as: UInt8.self)
      if flags & InternetPacket.psh != 0 {
        group.pointee.isOpen = false
        let place = group.pointee.packet + shape.transport
        place.storeBytes(of: place.load(fromByteOffset: 13, as: UInt8.self) | InternetPacket.psh, toByteOffset: 13, as: UInt8.self)
      }
    }
    return true
  }

  @inline(__always)
  private func isContinuation(_ packet: UnsafeMutableRawPointer, of group: Group, _ shape: Shape) -> Bool {
    let first = group.packet
    if shape.transport == 20 {
      // Traffic class, don't-fragment flag, time to live.
      guard first.load(fromByteOffset: 1, as: UInt8.self) == packet.load(fromByteOffset: 1, as: UInt8.self),
        first.loadUnaligned(fromByteOffset: 6, as: UInt16.self) == packet.loadUnaligned(fromByteOffset: 6, as: UInt16.self),
        first.load(fromByteOffset: 8, as: UInt8.self) == packet.load(fromByteOffset: 8, as: UInt8.self)
      else { return false }
      // Identifications have to count up, as they will after the split. In an atomic datagram (RFC 6864) they mean nothing.
      let difference = InternetPacket.word(packet, 4) &- InternetPacket.word(first, 4)
      let isAtomic = InternetPacket.word(packet, 6) & 0x4000 != 0
      guard difference == UInt16(truncatingIfNeeded: group.count) || isAtomic else { return false }
    } else {
      // Traffic class and flow label; hop limit.
      guard first.loadUnaligned(as: UInt32.self) == packet.loadUnaligned(as: UInt32.self),
        first.load(fromByteOffset: 7, as: UInt8.self) == packet.load(fromByteOffset: 7, as: UInt8.self)
      else { return false }
    }
    guard isTCP(shape.kind) else { return true }
    let one = first + shape.transport
    let other = packet + shape.transport
    let ece: UInt8 = 0x40
    guard InternetPacket.long(other, 4) == group.nextSequence,
      one.loadUnaligned(fromByteOffset: 8, as: UInt32.self) == other.loadUnaligned(fromByteOffset: 8, as: UInt32.self),
      (one.load(fromByteOffset: 13, as: UInt8.self) ^ other.load(fromByteOffset: 13, as: UInt8.self)) & ece == 0,
      one.loadUnaligned(fromByteOffset: 14, as: UInt16.self) == other.loadUnaligned(fromByteOffset: 14, as: UInt16.self)
    else { return false }
    let options = shape.headerLength &- shape.transport &- 20
    return options == 0 || memcmp(one + 20, other + 20, options) == 0
  }
}
