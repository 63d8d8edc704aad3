import CWireGuardIO
import Glibc

@testable import WireGuardDataPath

/// A superpacket as the kernel would hand it over, made without any of the code under test.
struct SampleSuperpacket {
  var isV4 = true
  var isTCP = true
  var payload = 4000
  var segmentSize = 1380
  var options = 12
  var flags: UInt8 = 0x10
  var trafficClass: UInt8 = 0
  var identification: UInt16 = 0xfffe
  var sequence: UInt32 = 0xffff_f000
  /// IPv4 options or an IPv6 destination-options header, in bytes; a multiple of 8.
  var extra = 0
  var port: UInt16 = 4242

  var transport: Int { (isV4 ? 20 : 40) + extra }
  var headerLength: Int { transport + (isTCP ? 20 + options : 8) }
  var length: Int { headerLength + payload }

  var virtio: VirtioHeader {
    var header = VirtioHeader()
    header.flags = VirtioHeader.needsChecksum
    header.checksumStart = UInt16(transport)
    header.checksumOffset = isTCP ? 16 : 6
    guard payload > segmentSize else { return header }
    header.segmentation = isTCP ? (isV4 ? 1 : 4) : 5
    header.headerLength = UInt16(headerLength)
    header.segmentSize = UInt16(segmentSize)
    return header
  }

  /// With the pseudo-header's sum where the checksum belongs.
  func bytes(seed: Int = 1) -> [UInt8] {
    var p = [UInt8](repeating: 0, count: length)
    func word(_ at: Int, _ value: Int) { (p[at], p[at + 1]) = (UInt8(value >> 8 & 255), UInt8(value & 255)) }
    let number: UInt8 = isTCP ? 6 : 17
    if isV4 {
      p[0] = 0x40 | UInt8((20 + extra) / 4)
      p[1] = trafficClass
      word(2, length)
      word(4, Int(identification))
      p[6] = 0x40
      p[8] = 64
      p[9] = number
      p.replaceSubrange(12..<20, with: [10, 9, 0, 1, 10, 9, 0, 2])
      for i in 20..<20 + extra { p[i] = 1 }
      word(10, Int(~naiveSum(p[0..<20 + extra])))
    } else {
      p[0] = 0x60 | trafficClass >> 4
      p[1] = trafficClass << 4
      word(4, length - 40)
      p[6] = extra > 0 ? 60 : number
      p[7] = 64
      for i in 8..<40 { p[i] = UInt8(i) }
      if extra > 0 {
        p[40] = number
        p[41] = UInt8(extra / 8 - 1)
        // One option of padding over all of it.
        p[42] = 1
        p[43] = UInt8(extra - 4)
      }
    }
    let t = transport
    word(t, Int(port))
    word(t + 2, 5201)
    if isTCP {
      for i in 0..<4 { p[t + 4 + i] = UInt8(truncatingIfNeeded: sequence >> UInt32(24 - 8 * i)) }
      word(t + 10, 77)
      p[t + 12] = UInt8((20 + options) / 4) << 4
      p[t + 13] = flags
      word(t + 14, 512)
      for i in 0..<options { p[t + 20 + i] = 1 }
    } else {
      word(t + 4, 8 + payload)
    }
    for i in 0..<payload { p[headerLength + i] = UInt8(truncatingIfNeeded: (i &* 31) ^ (i >> 7) &+ seed) }
    word(t + (isTCP ? 16 : 6), Int(naiveSum(pseudoHeader(of: p, number))))
    return p
  }

  /// Addresses, length and protocol.
  private func pseudoHeader(of p: [UInt8], _ number: UInt8) -> ArraySlice<UInt8> {
    let length = p.count - transport
    return p[isV4 ? 12..<20 : 8..<40] + [UInt8(length >> 8 & 255), UInt8(length & 255), 0, number]
  }

  /// Whether every checksum of a finished packet is right, and every length.
  func isSound(_ p: [UInt8]) -> Bool {
    let length = p.count - transport
    let told = isV4 ? Int(p[2]) << 8 | Int(p[3]) : 40 + (Int(p[4]) << 8 | Int(p[5]))
    guard told == p.count else { return false }
    if isV4, naiveSum(p[0..<20 + extra]) != 0xffff { return false }
    if !isTCP, Int(p[transport + 4]) << 8 | Int(p[transport + 5]) != length { return false }
    return naiveSum(pseudoHeader(of: p, isTCP ? 6 : 17) + p[transport...]) == 0xffff
  }
}

/// RFC 1071 as it is told there: words of two bytes, carries added back.
func naiveSum(_ bytes: ArraySlice<UInt8>) -> UInt16 {
  var sum: UInt32 = 0
  var i = bytes.startIndex
  while i < bytes.endIndex {
    let low = i + 1 < bytes.endIndex ? UInt32(bytes[i + 1]) : 0
    sum += UInt32(bytes[i]) << 8 | low
    sum = (sum & 0xffff) + sum >> 16
    i += 2
  }
  return UInt16(sum)
}

/// The packets that the data path makes of a superpacket.
func split(_ bytes: [UInt8], _ virtio: VirtioHeader) throws -> [[UInt8]] {
  let memory = UnsafeMutableRawPointer.allocate(byteCount: bytes.count, alignment: 16)
  let scratch = UnsafeMutableRawPointer.allocate(byteCount: 256, alignment: 16)
  defer {
    memory.deallocate()
    scratch.deallocate()
  }
  memory.copyMemory(from: bytes, byteCount: bytes.count)
  let superpacket = try Superpacket(memory, bytes.count, virtio, scratch: scratch)
  return try (0..<superpacket.count).map { i in
    let (packet, length) = try superpacket.segment(i)
    return Array(UnsafeRawBufferPointer(start: packet, count: length))
  }
}

/// The writes of the data path for these packets: the virtio header and the bytes behind it of each write.
func join(_ packets: [[UInt8]], tcp: Bool = true, udp: Bool = true) -> [(VirtioHeader, [UInt8])] {
  let memory = packets.map { packet in
    let copy = UnsafeMutableRawPointer.allocate(byteCount: packet.count, alignment: 16)
    copy.copyMemory(from: packet, byteCount: packet.count)
    return copy
  }
  defer { for copy in memory { copy.deallocate() } }
  var coalescer = Coalescer(hasVirtioHeader: true, joinsTCP: tcp, joinsUDP: udp)
  var written: [(VirtioHeader, [UInt8])] = []
  for (copy, packet) in zip(memory, packets) {
    if coalescer.isFull { written += take(&coalescer) }
    coalescer.append(copy, packet.count)
  }
  return written + take(&coalescer)
}

/// The writes that are due now.
private func take(_ coalescer: inout Coalescer) -> [(VirtioHeader, [UInt8])] {
  defer { coalescer.removeAll() }
  return (0..<coalescer.count).map { i in
    let written = coalescer.finish(i).flatMap { Array(UnsafeRawBufferPointer(start: $0.iov_base, count: $0.iov_len)) }
    let header = written.withUnsafeBytes { $0.baseAddress.map { VirtioHeader(at: $0) } ?? VirtioHeader() }
    return (header, Array(written.dropFirst(VirtioHeader.size)))
  }
}
