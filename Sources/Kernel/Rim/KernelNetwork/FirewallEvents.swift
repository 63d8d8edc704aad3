internal import Glibc

/// The kernel's announcements of changes to our nftables tables, in the namespace in which this was created.
package final class FirewallEvents: Sendable {
  private let socket: NetlinkSocket

  /// `NFNLGRP_NFTABLES` of linux/netfilter/nfnetlink.h.
  private static let group: Int32 = 7
  /// If other programs' changes overflow it, that is reported, and handled as a change.
  private static let receiveBuffer: Int32 = 1 << 20
  private static let names = ["roamward\0", "roamward-names\0"].map { Array($0.utf8) }

  package init() throws(NetlinkError) {
    socket = try NetlinkSocket(.netfilter, receiveBuffer: Self.receiveBuffer)
    try socket.join(group: Self.group)
  }

  /// The descriptor to watch for readability; then call `drain`.
  package var descriptor: Int32 { socket.descriptor }

  /// Reads the announcements, and returns whether our table may be concerned.
  package func drain() -> Bool {
    var isOurs = false
    while true {
      do throws(NetlinkError) {
        guard let datagram = try socket.receive() else { return isOurs }
        // Each message about a table, chain, rule or set names its table as its first attribute; other mentions of the name do no harm.
        if !isOurs { isOurs = Self.names.contains { datagram.contains($0) } }
      } catch {
        isOurs = true
        if error.code != ENOBUFS, error.code != EMSGSIZE { return true }
      }
    }
  }
}
