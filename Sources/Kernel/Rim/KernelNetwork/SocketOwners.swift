package import NetworkTypes
internal import Wire

extension IPAddress {
  fileprivate var isUnspecified: Bool { high == 0 && low == 0 }
}

/// The owners of the sockets in this network namespace.
package struct SocketOwners: Sendable {
  private let socket: NetlinkSocket

  package init() throws(NetlinkError) { socket = try NetlinkSocket(.sockets) }

  /// The user of the socket, and the number of the control group that it was made in (`controlGroup(numbered:)`), if the kernel tells.
  package typealias Owner = (user: UInt32, controlGroup: UInt64?)

  /// The owner of the socket with this address and port at this end; `nil`: it is closed, or another host's. A socket without an address of
  /// its own counts.
  package func owner(of address: IPAddress, port: UInt16, isStream: Bool) -> Owner? {
    var found: SocketOwner?
    // A table that changes meanwhile is good enough: the socket waits for an answer.
    try? socket.dump("read sockets", { $0.dumpSockets(address.family, isStream: isStream, port: port, sequence: $1) }) { message in
      guard let owner = SocketOwner(message), owner.port == port, owner.address == address || owner.address.isUnspecified else { return }
      if found == nil || owner.address == address { found = owner }
    }
    return found.map { ($0.user, $0.controlGroup) }
  }
}
