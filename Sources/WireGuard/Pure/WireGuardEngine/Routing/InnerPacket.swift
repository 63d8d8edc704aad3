internal import NetworkTypes

enum InnerPacket {
  /// The length in the IP header of a decrypted packet. `nil` if it is not an IP packet, or if the length exceeds the data. Bytes behind it
  /// are padding.
  @inline(__always)
  static func length(_ packet: UnsafeRawPointer, count: Int) -> Int? {
    guard count >= 20 else { return nil }
    switch packet.load(as: UInt8.self) >> 4 {
    case 4:
      let length = Int(packet.loadUnaligned(fromByteOffset: 2, as: UInt16.self).bigEndian)
      return length >= 20 && length <= count ? length : nil
    case 6:
      let length = 40 + Int(packet.loadUnaligned(fromByteOffset: 4, as: UInt16.self).bigEndian)
      return length <= count ? length : nil
    default: return nil
    }
  }

  /// True if the packet is a datagram of this session on its way to the peer, routed back into its own tunnel. A message of another tunnel
  /// to the same peer, which a host behind us may have, does not count.
  static func isOwnDatagram(_ packet: UnsafeRawBufferPointer, to endpoint: DatagramAddress, index: UInt32) -> Bool {
    guard packet.count >= 20 else { return false }
    let address: IPAddress
    let transport: Int
    let isUDP: Bool
    switch packet[0] >> 4 {
    case 4:
      address = IPAddress(v4: packet.loadUnaligned(fromByteOffset: 16, as: UInt32.self).bigEndian)
      transport = Int(packet[0] & 15) * 4
      isUDP = packet[9] == 17
    case 6 where packet.count >= 40:
      address = IPAddress(
        family: .v6, high: packet.loadUnaligned(fromByteOffset: 24, as: UInt64.self).bigEndian,
        low: packet.loadUnaligned(fromByteOffset: 32, as: UInt64.self).bigEndian)
      transport = 40
      isUDP = packet[6] == 17
    default: return false
    }
    guard address == endpoint.address, isUDP, packet.count >= transport + 16,
      packet.loadUnaligned(fromByteOffset: transport + 2, as: UInt16.self).bigEndian == endpoint.port
    else { return false }
    let message = transport + 8
    return packet.word(at: message) == MessageType.transport && packet.word(at: message + TransportLayout.receiver) == index
  }
}
