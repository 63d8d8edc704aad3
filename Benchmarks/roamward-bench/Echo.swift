/// An ICMP echo request (RFC 792) of ours, with this sequence number.
func echoRequest(_ number: UInt16) -> [UInt8] {
  var request: [UInt8] = [8, 0, 0, 0, 0x52, 0x57, UInt8(number >> 8), UInt8(number & 0xff)]
  let sum = stride(from: 0, to: 8, by: 2).reduce(UInt32(0)) { $0 + UInt32(request[$1]) << 8 + UInt32(request[$1 + 1]) }
  let checksum = ~UInt16((sum & 0xffff) + sum >> 16)
  request[2] = UInt8(checksum >> 8)
  request[3] = UInt8(checksum & 0xff)
  return request
}

/// The sequence number of an answer to one of ours, behind 20 bytes of IPv4: type 0 is an answer, and 5257 is us.
func echoReply(in packet: [UInt8], count: Int) -> UInt16? {
  guard count >= 28, packet[20] == 0, packet[24] == 0x52, packet[25] == 0x57 else { return nil }
  return UInt16(packet[26]) << 8 | UInt16(packet[27])
}
