package import NetworkTypes

/// A socket of this network namespace that receives at a port, as sock_diag(7) lists it.
package struct ListeningSocket: Equatable, Sendable {
  /// The local address; the unspecified one (0.0.0.0, ::) is every address of this machine.
  package var address: IPAddress
  package var port: UInt16
  /// The inode, by which /proc/PID/fd shows its owner.
  package var inode: UInt32
  /// The inode of the control group (version 2) in which it was made; `nil` before Linux 5.8.
  package var controlGroup: UInt64?
  /// Whether an IPv6 socket receives no IPv4.
  package var isIPv6Only: Bool
  /// The firewall mark of what it sends; `nil`: the kernel tells it to CAP_NET_ADMIN alone.
  package var mark: UInt32?

  package init(address: IPAddress, port: UInt16, inode: UInt32, controlGroup: UInt64? = nil, isIPv6Only: Bool = false) {
    self.address = address
    self.port = port
    self.inode = inode
    self.controlGroup = controlGroup
    self.isIPv6Only = isIPv6Only
  }

  /// Whether no other socket of the same protocol can be bound to this address at its port.
  package func takes(_ wanted: IPAddress) -> Bool {
    if address == wanted { return true }
    let isUnspecified = address.low == 0 && address.high == 0
    return isUnspecified && (address.family == wanted.family || (address.family == .v6 && !isIPv6Only))
  }
}

extension ListeningSocket {
  /// From the answer to `dumpListeningSockets`. The inode is at 68.
  package init?(_ message: NetlinkMessage) {
    guard let owner = SocketOwner(message), let inode = message.payload.host32(at: 68) else { return nil }
    self.init(address: owner.address, port: owner.port, inode: inode, controlGroup: owner.controlGroup)
    // INET_DIAG_SKV6ONLY.
    isIPv6Only = NetlinkAttributes(message.payload, after: SocketDiagnosis.headerSize).first(11)?.payload.first == 1
    // INET_DIAG_MARK.
    mark = NetlinkAttributes(message.payload, after: SocketDiagnosis.headerSize).first(15)?.payload.host32()
  }
}

extension NetlinkWriter {
  /// Asks for all sockets of UDP or TCP that receive at a local port.
  package mutating func dumpListeningSockets(_ family: IPAddress.Family, isStream: Bool, port: UInt16, sequence: UInt32) {
    message(SocketDiagnosis.byFamily, flags: NetlinkMessage.Flag.dump, sequence: sequence) { writer in
      writer.raw([family.addressFamily, isStream ? SocketDiagnosis.tcp : SocketDiagnosis.udp, 0, 0])
      // TCP_LISTEN alone: for any other state the kernel walks all connections. Of UDP: TCP_CLOSE (unconnected) and TCP_ESTABLISHED.
      writer.host32(isStream ? 1 << 10 : 1 << 7 | 1 << 1)
      writer.raw([UInt8(truncatingIfNeeded: port >> 8), UInt8(truncatingIfNeeded: port), 0, 0])
      // Addresses, link and cookie (INET_DIAG_NOCOOKIE).
      writer.raw([UInt8](repeating: 0, count: 36) + [UInt8](repeating: 0xff, count: 8))
    }
  }
}
