/// A packet that the kernel delivers at a TUN device with offloads. It is either one packet, whose checksum may be missing, or a
/// superpacket. That is up to 64 KiB of TCP or UDP payload with one set of headers, to be split here.
///
/// Splitting is done in place. The headers of a segment are written right before its payload, over the end of the segment before, which
/// must be consumed by then. So only headers are copied.
struct Superpacket {
  /// The packet is invalid: the kernel would not send it.
  enum Flaw: Error { case malformed }

  /// Bytes of the longest headers.
  static let mostHeaders = 256

  /// The first header byte.
  private let bytes: UnsafeMutableRawPointer
  private let length: Int
  private let virtio: VirtioHeader
  /// The length of all headers; 0 for a packet that is not split.
  private let headerLength: Int
  private let segmentSize: Int
  /// A copy of the headers, because their place is overwritten.
  private let saved: UnsafeMutableRawPointer
  private let isTCP: Bool
  private let isV4: Bool
  private let transport: Int
  /// The sum of the pseudo-header without its length, which differs in the last segment.
  private let addressSum: UInt64
  let count: Int

  /// `scratch` has room for `mostHeaders` bytes. `bytes` holds `length` bytes.
  init(
    _ bytes: UnsafeMutableRawPointer, _ length: Int, _ virtio: VirtioHeader, scratch: UnsafeMutableRawPointer
  ) throws(Flaw) {
    guard length >= 20 else { throw .malformed }
    self.bytes = bytes
    self.length = length
    self.virtio = virtio
    saved = scratch
    transport = Int(virtio.checksumStart)
    let kind = virtio.segmentation & ~VirtioHeader.Segmentation.ecn
    guard kind != VirtioHeader.Segmentation.none else {
      headerLength = 0
      segmentSize = 0
      isTCP = false
      isV4 = InternetPacket.version(bytes) == 4
      addressSum = 0
      count = 1
      return
    }
    isV4 = InternetPacket.version(bytes) == 4
    switch kind {
    case VirtioHeader.Segmentation.tcp4, VirtioHeader.Segmentation.tcp6: isTCP = true
    case VirtioHeader.Segmentation.udp: isTCP = false
    default: throw .malformed
    }
    segmentSize = Int(virtio.segmentSize)
    let networkLength = isV4 ? max(20, Int(bytes.load(as: UInt8.self) & 0x0f) &* 4) : 40
    guard virtio.flags & VirtioHeader.needsChecksum != 0, segmentSize > 0, transport >= networkLength,
      transport &+ (isTCP ? 20 : 8) <= length
    else { throw .malformed }
    let transportLength = isTCP ? Int(bytes.load(fromByteOffset: transport &+ 12, as: UInt8.self) >> 4) &* 4 : 8
    headerLength = transport &+ transportLength
    guard transportLength >= (isTCP ? 20 : 8), headerLength <= Self.mostHeaders, headerLength < length else { throw .malformed }
    saved.copyMemory(from: bytes, byteCount: headerLength)
    addressSum =
      isV4
      ? InternetChecksum.sum(bytes + 12, 8, onto: UInt64(UInt16(isTCP ? InternetPacket.tcp : InternetPacket.udp).bigEndian))
      : InternetChecksum.sum(bytes + 8, 32, onto: UInt64(UInt16(isTCP ? InternetPacket.tcp : InternetPacket.udp).bigEndian))
    count = (length &- headerLength &+ segmentSize &- 1) / segmentSize
  }

  /// Completes the packet or a segment of it, and returns its position. Take segments in order, and consume each before the next.
  @inline(__always)
  func segment(_ index: Int) throws(Flaw) -> (UnsafeMutableRawPointer, Int) {
    if headerLength == 0 {
      if virtio.flags & VirtioHeader.needsChecksum != 0 { try completeChecksum() }
      return (bytes, length)
    }
    let from = headerLength &+ index &* segmentSize
    let size = min(segmentSize, length &- from)
    let packet = bytes + (from &- headerLength)
    if index > 0 { packet.copyMemory(from: saved, byteCount: headerLength) }
    finish(packet, index, payload: size)
    return (packet, headerLength &+ size)
  }

  @inline(__always)
  private func finish(_ packet: UnsafeMutableRawPointer, _ index: Int, payload size: Int) {
    let total = headerLength &+ size
    if isV4 {
      InternetPacket.setWord(packet, 2, UInt16(truncatingIfNeeded: total))
      if index > 0 { InternetPacket.setWord(packet, 4, InternetPacket.word(saved, 4) &+ UInt16(truncatingIfNeeded: index)) }
      InternetPacket.setHeaderChecksum(packet, headerLength: Int(packet.load(as: UInt8.self) & 0x0f) &* 4)
    } else {
      InternetPacket.setWord(packet, 4, UInt16(truncatingIfNeeded: total &- 40))
    }
    let segment = packet + transport
    let length = total &- transport
    let place: Int
    if isTCP {
      place = 16
      InternetPacket.setLong(segment, 4, InternetPacket.long(saved, transport &+ 4) &+ UInt32(truncatingIfNeeded: index &* segmentSize))
      // FIN and PSH belong to the last segment, CWR to the first (RFC 3168, 6.1.2).
      var flags = saved.load(fromByteOffset: transport &+ 13, as: UInt8.self)
      if index &+ 1 < count { flags &= ~(InternetPacket.fin | InternetPacket.psh) }
      if index > 0 { flags &= ~InternetPacket.cwr }
      segment.storeBytes(of: flags, toByteOffset: 13, as: UInt8.self)
    } else {
      place = 6
      InternetPacket.setWord(segment, 4, UInt16(truncatingIfNeeded: length))
    }
    segment.storeBytes(of: 0, toByteOffset: place, as: UInt16.self)
    let start = addressSum &+ UInt64(UInt16(truncatingIfNeeded: length).bigEndian)
    var checksum = ~InternetChecksum.fold(InternetChecksum.sum(segment, length, onto: start))
    // Zero means no checksum in UDP (RFC 768).
    if checksum == 0, !isTCP { checksum = 0xffff }
    segment.storeBytes(of: checksum, toByteOffset: place, as: UInt16.self)
  }

  /// The kernel has already put the pseudo-header's sum into the field.
  @inline(__always)
  private func completeChecksum() throws(Flaw) {
    let place = transport &+ Int(virtio.checksumOffset)
    guard transport >= 20, place &+ 2 <= length else { throw .malformed }
    var checksum = ~InternetChecksum.fold(InternetChecksum.sum(bytes + transport, length &- transport))
    if checksum == 0, virtio.checksumOffset == 6 { checksum = 0xffff }
    bytes.storeBytes(of: checksum, toByteOffset: place, as: UInt16.self)
  }
}
