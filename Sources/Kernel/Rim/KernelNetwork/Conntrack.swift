internal import Glibc
package import NetworkTypes
import Wire

/// The connection tracking of the network namespace in which this was created: finds the destination that a redirected packet had, and
/// makes a new redirection count for connections from before it.
package struct Conntrack: Sendable {
  private let socket: NetlinkSocket

  package init() throws(NetlinkError) { socket = try NetlinkSocket(.netfilter, receiveBuffer: 1 << 20) }

  /// The destination of what `client` has sent and `listener` has received; `nil`: the kernel does not know that connection.
  package func originalDestination(
    client: IPAddress, port: UInt16, listener: IPAddress, listenerPort: UInt16, isStream: Bool
  ) -> (IPAddress, UInt16)? {
    let reply = ConntrackMessage.Tuple(
      source: listener, sourcePort: listenerPort, destination: client, destinationPort: port,
      transport: UInt8(isStream ? IPPROTO_TCP : IPPROTO_UDP))
    var found: ConntrackMessage.Tuple?
    // A connection that is not there is an error of the request.
    try? socket.dump("find a redirected connection", { $0.getConnection(reply: reply, sequence: $1) }) { message in
      found = found ?? ConntrackMessage.originalTuple(in: message)
    }
    return found.map { ($0.destination, $0.destinationPort) }
  }

  /// Forgets all connections to a port, by UDP and TCP: the kernel applies a redirection only to the first packet that it knows of. What
  /// cannot be forgotten stays as it was.
  package func forgetConnections(toPort port: UInt16) {
    for family in IPAddress.Family.allCases {
      var found: [ConntrackMessage.Tuple] = []
      try? socket.dump("read connections", { $0.dumpConnections(family, sequence: $1) }) { message in
        guard let tuple = ConntrackMessage.originalTuple(in: message), tuple.destinationPort == port,
          [UInt8(IPPROTO_UDP), UInt8(IPPROTO_TCP)].contains(tuple.transport)
        else { return }
        found.append(tuple)
      }
      for start in stride(from: 0, to: found.count, by: socket.batchLimit) {
        let batch = found[start..<min(found.count, start + socket.batchLimit)]
        _ = try? socket.batch("forget connections", count: batch.count) { writer, i, sequence, flags in
          writer.deleteConnection(original: batch[batch.startIndex + i], sequence: sequence, flags: flags)
        }
      }
    }
  }

  /// More addresses than these are looked for in one reading of all connections.
  private static let few = 16

  /// Forgets all connections whose first packet was from or to one of these addresses. Returns how many those were.
  @discardableResult package func forgetConnections(of addresses: Set<IPAddress>) throws(NetlinkError) -> Int {
    var found: [ConntrackMessage.Connection] = []
    for family in IPAddress.Family.allCases {
      let own = addresses.filter { $0.family == family }
      func record(_ message: NetlinkMessage) {
        guard let connection = ConntrackMessage.connection(in: message),
          own.contains(connection.source) || own.contains(connection.destination)
        else { return }
        found.append(connection)
      }
      if own.isEmpty { continue }
      // The kernel's own filter gives every connection but the wanted ones in IPv6 (`!ipv6_addr_cmp`; seen with Linux 6.18, 2026-11-27).
      if family == .v6 || own.count > Self.few {
        try socket.dump("read connections", { $0.dumpConnections(family, sequence: $1) }, each: record)
        continue
      }
      for end in own.flatMap({ [ConntrackMessage.End.source($0), .destination($0)] }) {
        try socket.dump("read connections", { $0.dumpConnections(end, sequence: $1) }, each: record)
      }
    }
    return try forget(found)
  }

  /// The same for connections that a condition names, by the source and the destination of their first packet.
  @discardableResult package func forgetConnections(
    where isMeant: (_ source: IPAddress, _ destination: IPAddress) -> Bool
  ) throws(NetlinkError) -> Int {
    var found: [ConntrackMessage.Connection] = []
    for family in IPAddress.Family.allCases {
      try socket.dump("read connections", { $0.dumpConnections(family, sequence: $1) }) { message in
        guard let connection = ConntrackMessage.connection(in: message), isMeant(connection.source, connection.destination) else { return }
        found.append(connection)
      }
    }
    return try forget(found)
  }

  /// The same for connections from these prefixes whose source is translated to one of these ports.
  @discardableResult package func forgetConnections(
    from prefixes: [IPPrefix], translatedTo ports: Set<UInt16>
  ) throws(NetlinkError) -> Int {
    var found: [ConntrackMessage.Connection] = []
    for family in Set(prefixes.map(\.family)) {
      try socket.dump("read connections", { $0.dumpConnections(family, sequence: $1) }) { message in
        guard let connection = ConntrackMessage.connection(in: message), prefixes.contains(where: { $0.contains(connection.source) }),
          let reply = ConntrackMessage.replyTuple(in: message), reply.destination != connection.source,
          ports.contains(reply.destinationPort)
        else { return }
        found.append(connection)
      }
    }
    return try forget(found)
  }

  private func forget(_ connections: [ConntrackMessage.Connection]) throws(NetlinkError) -> Int {
    for start in stride(from: 0, to: connections.count, by: socket.batchLimit) {
      let batch = connections[start..<min(connections.count, start + socket.batchLimit)]
      // One that has ended meanwhile is an error of its own request.
      _ = try socket.batch("forget connections", count: batch.count) { writer, i, sequence, flags in
        writer.deleteConnection(batch[batch.startIndex + i], sequence: sequence, flags: flags)
      }
    }
    return connections.count
  }
}
