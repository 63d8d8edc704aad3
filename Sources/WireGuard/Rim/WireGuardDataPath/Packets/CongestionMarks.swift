/// Explicit congestion notification across the tunnel, as the kernel's WireGuard does it (RFC 6040, compatibility of RFC 3168): the
/// outer header carries the inner ECN bits and no DSCP.
enum CongestionMarks {
  private static let mask: UInt8 = 0b11
  private static let ect0: UInt8 = 0b10
  private static let experienced: UInt8 = 0b11

  /// The outer traffic class of an inner packet. An existing CE mark is not copied: it stays inside.
  @inline(__always)
  static func outer(ofInner trafficClass: UInt8) -> UInt8 {
    let bits = trafficClass & mask
    return bits == experienced ? ect0 : bits
  }

  @inline(__always)
  static func isExperienced(_ trafficClass: UInt8) -> Bool { trafficClass & mask == experienced }

  /// Marks a packet whose sender supports ECN. Other packets stay unchanged; the result is false.
  @discardableResult
  static func mark(_ packet: UnsafeMutableRawPointer) -> Bool {
    let bits = InternetPacket.trafficClass(packet) & mask
    guard bits != 0 else { return false }
    guard bits != experienced else { return true }
    if InternetPacket.version(packet) == 4 {
      let before = packet.load(fromByteOffset: 1, as: UInt8.self)
      packet.storeBytes(of: before | experienced, toByteOffset: 1, as: UInt8.self)
      let headerLength = Int(packet.load(as: UInt8.self) & 0x0f) &* 4
      InternetPacket.setHeaderChecksum(packet, headerLength: headerLength)
    } else {
      let before = packet.load(fromByteOffset: 1, as: UInt8.self)
      packet.storeBytes(of: before | experienced << 4, toByteOffset: 1, as: UInt8.self)
    }
    return true
  }
}
