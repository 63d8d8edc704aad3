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
