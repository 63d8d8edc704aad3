/// Offsets and accessors of the IP, TCP and UDP headers (RFC 791, 8200, 9293, 768) of a packet in memory. Nothing here checks bounds: the
/// caller has verified that the header is complete.
enum InternetPacket {
  static let tcp: UInt8 = 6
  static let udp: UInt8 = 17
  static let fin: UInt8 = 0x01
  static let psh: UInt8 = 0x08
  static let ack: UInt8 = 0x10
  static let cwr: UInt8 = 0x80

  @inline(__always)
  static func version(_ packet: UnsafeRawPointer) -> UInt8 { packet.load(as: UInt8.self) >> 4 }

  @inline(__always)
  static func word(_ packet: UnsafeRawPointer, _ offset: Int) -> UInt16 {
    UInt16(bigEndian: packet.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
  }

  @inline(__always)
  static func long(_ packet: UnsafeRawPointer, _ offset: Int) -> UInt32 {
    UInt32(bigEndian: packet.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }

  @inline(__always)
  static func setWord(_ packet: UnsafeMutableRawPointer, _ offset: Int, _ value: UInt16) {
    packet.storeBytes(of: value.bigEndian, toByteOffset: offset, as: UInt16.self)
  }

  @inline(__always)
  static func setLong(_ packet: UnsafeMutableRawPointer, _ offset: Int, _ value: UInt32) {
    packet.storeBytes(of: value.bigEndian, toByteOffset: offset, as: UInt32.self)
  }

  /// The length in the IP header, or `nil` if the bytes are not a whole IPv4 or IPv6 packet. Bytes behind it are padding.
  @inline(__always)
  static func length(_ packet: UnsafeRawPointer, of available: Int) -> Int? {
    guard available >= 20 else { return nil }
    switch version(packet) {
    case 4:
      let length = Int(word(packet, 2))
      return length >= 20 && length <= available ? length : nil
    case 6:
      let length = 40 &+ Int(word(packet, 4))
      return length <= available ? length : nil
    default: return nil
    }
  }

  /// The byte with DSCP and ECN.
  @inline(__always)
  static func trafficClass(_ packet: UnsafeRawPointer) -> UInt8 {
    if version(packet) == 4 { return packet.load(fromByteOffset: 1, as: UInt8.self) }
    return UInt8(truncatingIfNeeded: word(packet, 0) >> 4)
  }

  /// A number for the flow of a whole packet, at least 0 and the same for both directions: of addresses, protocol and, if present, ports.
  static func flow(_ packet: UnsafeRawPointer, _ length: Int) -> Int {
    var hash: UInt64
    let transport: UInt8
    var ports = 40
    if version(packet) == 4 {
      hash = UInt64(long(packet, 12) ^ long(packet, 16))
      transport = packet.load(fromByteOffset: 9, as: UInt8.self)
      ports = word(packet, 6) & 0x3fff != 0 ? length : Int(packet.load(as: UInt8.self) & 0x0f) &* 4
    } else {
      guard length >= 40 else { return 0 }
      hash = 0
      for offset in stride(from: 8, to: 40, by: 8) { hash ^= packet.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
      transport = packet.load(fromByteOffset: 6, as: UInt8.self)
    }
    if ports &+ 4 <= length, transport == tcp || transport == udp {
      hash ^= UInt64(word(packet, ports) ^ word(packet, ports &+ 2)) << 32
    }
    let product = (hash ^ UInt64(transport)).multipliedFullWidth(by: 0x9e37_79b9_7f4a_7c15)
    return Int(truncatingIfNeeded: (product.high ^ product.low) >> 33)
  }

  /// Recomputes an IPv4 header's checksum.
  @inline(__always)
  static func setHeaderChecksum(_ packet: UnsafeMutableRawPointer, headerLength: Int) {
    packet.storeBytes(of: 0, toByteOffset: 10, as: UInt16.self)
    let sum = InternetChecksum.fold(InternetChecksum.sum(packet, headerLength))
    packet.storeBytes(of: ~sum, toByteOffset: 10, as: UInt16.self)
  }
}
