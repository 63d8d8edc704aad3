package import NetworkTypes

/// `SOCK_DIAG_BY_FAMILY` of sock_diag(7) with `struct inet_diag_req_v2` and `struct inet_diag_msg` (linux/inet_diag.h).
package enum SocketDiagnosis {
  static let byFamily: UInt16 = 20
  /// `IPPROTO_TCP` and `IPPROTO_UDP`.
  static let tcp: UInt8 = 6
  static let udp: UInt8 = 17
  /// `struct inet_diag_sockid`, after family, state, timer and retransmissions.
  static let identity = 4
  /// `idiag_uid`, after expiry and the two queues.
  static let user = 64
  static let headerSize = 72
  /// `INET_DIAG_CGROUP_ID`, since Linux 5.8.
  static let controlGroup: UInt16 = 21
}

/// A socket of this network namespace.
package struct SocketOwner: Equatable, Sendable {
  package let address: IPAddress
  package let port: UInt16
  package let user: UInt32
  /// The number of the control group that it was made in: its folder's inode number; `nil`: the kernel does not tell.
  package let controlGroup: UInt64?

  package init?(_ message: NetlinkMessage) {
    let payload = message.payload
    guard message.type == SocketDiagnosis.byFamily, payload.count >= SocketDiagnosis.headerSize,
      let family = payload.byte(at: 0).flatMap({ IPAddress.Family(addressFamily: $0) }),
      let high = payload.byte(at: SocketDiagnosis.identity), let low = payload.byte(at: SocketDiagnosis.identity + 1),
      let user = payload.host32(at: SocketDiagnosis.user)
    else { return nil }
    let start = payload.startIndex + SocketDiagnosis.identity + 4
    guard let address = IPAddress(bytes: payload[start..<start + family.bitWidth / 8]) else { return nil }
    self.address = address
    self.user = user
    port = UInt16(high) << 8 | UInt16(low)
    let group = NetlinkAttributes(payload, after: SocketDiagnosis.headerSize).first(SocketDiagnosis.controlGroup)?.payload
    controlGroup = group?.host64()
  }
}

extension SocketDiagnosis {
  /// `id.idiag_dst`, after the local address.
  private static let destination = identity + 20

  /// The address at the other end of a socket, from the answer to `dumpConnections`; an IPv4 one inside IPv6 as itself. `nil`: the message
  /// is none, or the socket has no other end.
  package static func peer(of message: NetlinkMessage) -> IPAddress? {
    let payload = message.payload
    guard message.type == byFamily, payload.count >= headerSize,
      let family = payload.byte(at: 0).flatMap({ IPAddress.Family(addressFamily: $0) })
    else { return nil }
    let start = payload.startIndex + destination
    guard let address = IPAddress(bytes: payload[start..<start + family.bitWidth / 8]), address != .unspecified(family) else { return nil }
    if family == .v6, address.high == 0, address.low >> 32 == 0xffff { return IPAddress(v4: UInt32(truncatingIfNeeded: address.low)) }
    return address
  }
}

extension SocketDiagnosis {
  /// The port at the other end of such a socket.
  package static func peerPort(of message: NetlinkMessage) -> UInt16? {
    guard let high = message.payload.byte(at: identity + 2), let low = message.payload.byte(at: identity + 3) else { return nil }
    return UInt16(high) << 8 | UInt16(low)
  }

  /// Reads the sockets of a family that have another end: UDP, or TCP from the first packet to the last.
  package static func dumpConnections(_ family: IPAddress.Family, isStream: Bool, sequence: UInt32, _ request: inout NetlinkWriter) {
    request.message(byFamily, flags: NetlinkMessage.Flag.dump, sequence: sequence) { writer in
      writer.raw([family.addressFamily, isStream ? tcp : udp, 0, 0])
      // Without TCP_TIME_WAIT (6), TCP_CLOSE (7) and TCP_LISTEN (10); of UDP TCP_ESTABLISHED.
      writer.host32(isStream ? 0b1011_0011_1110 : 1 << 1)
      writer.raw([UInt8](repeating: 0, count: 40))
      writer.host32(.max)
      writer.host32(.max)
    }
  }
}

extension NetlinkWriter {
  /// Reads the sockets of a family with this local port: UDP, or TCP that are connected.
  package mutating func dumpSockets(_ family: IPAddress.Family, isStream: Bool, port: UInt16, sequence: UInt32) {
    message(SocketDiagnosis.byFamily, flags: NetlinkMessage.Flag.dump, sequence: sequence) { writer in
      writer.raw([family.addressFamily, isStream ? SocketDiagnosis.tcp : SocketDiagnosis.udp, 0, 0])
      // Every state of UDP; TCP_ESTABLISHED is the first.
      writer.host32(isStream ? 1 << 1 : .max)
      writer.raw([UInt8(truncatingIfNeeded: port >> 8), UInt8(truncatingIfNeeded: port)] + [UInt8](repeating: 0, count: 38))
      writer.host32(.max)
      writer.host32(.max)
    }
  }
}
