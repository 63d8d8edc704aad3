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

  /// Recomputes an IPv4 header's checksum.
  @inline(__always)
  static func setHeaderChecksum(_ packet: UnsafeMutableRawPointer, headerLength: Int) {
    packet.storeBytes(of: 0, toByteOffset: 10, as: UInt16.self)
    let sum = InternetChecksum.fold(InternetChecksum.sum(packet, headerLength))
    packet.storeBytes(of: ~sum, toByteOffset: 10, as: UInt16.self)
  }
}
