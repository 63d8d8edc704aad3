internal import Glibc

/// The kernel's announcements of changes to our table of nftables, of the namespace in which it was made.
package final class FirewallEvents: Sendable {
  private let socket: NetlinkSocket

  /// `NFNLGRP_NFTABLES` of linux/netfilter/nfnetlink.h.
  private static let group: Int32 = 7
  /// One that others' changes overflow says so, which is as good as a change.
  private static let receiveBuffer: Int32 = 1 << 20
  private static let name = Array("roamward\0".utf8)

  package init() throws(NetlinkError) {
    socket = try NetlinkSocket(.netfilter, receiveBuffer: Self.receiveBuffer)
    try socket.join(group: Self.group)
  }

  /// To be watched for readability; then call `drain`.
  package var descriptor: Int32 { socket.descriptor }

  /// Reads what has been announced, and says whether our table can be meant.
  package func drain() -> Bool {
    var isOurs = false
    while true {
      do throws(NetlinkError) {
        guard let datagram = try socket.receive() else { return isOurs }
        // Every message about a table, chain, rule or set names its table as its first attribute; who only mentions the name does no harm.
        if !isOurs { isOurs = datagram.contains(Self.name) }
      } catch {
        isOurs = true
        if error.code != ENOBUFS, error.code != EMSGSIZE { return true }
      }
    }
  }
}
