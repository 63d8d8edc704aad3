package import NetworkTypes

/// Requests to the kernel's connection tracking, and its answer (linux/netfilter/nfnetlink_conntrack.h).
package enum ConntrackMessage {
  /// `NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_NEW`, which answers have, and `…_CT_GET` and `…_CT_DELETE`.
  private static let new: UInt16 = 0x100
  fileprivate static let get: UInt16 = 0x101
  fileprivate static let delete: UInt16 = 0x102
  /// `CTA_TUPLE_ORIG` and `CTA_TUPLE_REPLY`; inside of them `CTA_TUPLE_IP` and `CTA_TUPLE_PROTO`.
  fileprivate static let original: UInt16 = 1
  fileprivate static let reply: UInt16 = 2
  fileprivate static let ip: UInt16 = 1
  private static let proto: UInt16 = 2
  /// `CTA_ZONE` and `CTA_FILTER`; inside of the latter `CTA_FILTER_ORIG_FLAGS`.
  fileprivate static let zone: UInt16 = 18
  fileprivate static let filter: UInt16 = 25
  fileprivate static let originalFlags: UInt16 = 1

  /// One direction of a connection.
  package struct Tuple: Equatable, Sendable {
    package var source: IPAddress
    package var sourcePort: UInt16
    package var destination: IPAddress
    package var destinationPort: UInt16
    /// `IPPROTO_UDP` or `IPPROTO_TCP`.
    package var transport: UInt8

    package init(source: IPAddress, sourcePort: UInt16, destination: IPAddress, destinationPort: UInt16, transport: UInt8) {
      self.source = source
      self.sourcePort = sourcePort
      self.destination = destination
      self.destinationPort = destinationPort
      self.transport = transport
    }
  }

  /// The original direction of the connection in an answer; `nil`: it is no such answer.
  package static func originalTuple(in message: NetlinkMessage) -> Tuple? { tuple(original, in: message) }

  /// The direction of the connection's answers; `nil`: it is no such answer.
  package static func replyTuple(in message: NetlinkMessage) -> Tuple? { tuple(reply, in: message) }

  private static func tuple(_ direction: UInt16, in message: NetlinkMessage) -> Tuple? {
    // struct nfgenmsg: family, version, resource; 4 bytes.
    guard message.type == new, let attributes = NetlinkAttributes(message.payload, after: 4).first(direction)?.nested,
      let addresses = attributes.first(ip)?.nested, let ends = attributes.first(proto)?.nested,
      // CTA_IP_V4_SRC … CTA_IP_V6_DST: 1 to 4.
      let source = (addresses.first(1) ?? addresses.first(3)).flatMap({ IPAddress(network: $0.payload) }),
      let destination = (addresses.first(2) ?? addresses.first(4)).flatMap({ IPAddress(network: $0.payload) }),
      source.family == destination.family,
      // CTA_PROTO_NUM, CTA_PROTO_SRC_PORT and CTA_PROTO_DST_PORT.
      let transport = ends.first(1)?.payload.first, let sourcePort = ends.first(2)?.payload.network16(),
      let destinationPort = ends.first(3)?.payload.network16()
    else { return nil }
    return Tuple(
      source: source, sourcePort: sourcePort, destination: destination, destinationPort: destinationPort, transport: transport)
  }
}

extension ConntrackMessage {
  /// An address at one end of connections, as their first packet has it.
  package enum End: Hashable, Sendable {
    case source(IPAddress)
    case destination(IPAddress)
  }

  /// A connection of any transport, by its first packet.
  package struct Connection: Equatable, Sendable {
    package let source: IPAddress
    package let destination: IPAddress
    /// The contents of `CTA_TUPLE_ORIG` and `CTA_ZONE`, by which the kernel finds the connection again.
    fileprivate let tuple: ArraySlice<UInt8>
    fileprivate let zone: ArraySlice<UInt8>?
  }

  /// The connection in an answer; `nil`: it is no such answer.
  package static func connection(in message: NetlinkMessage) -> Connection? {
    let attributes = NetlinkAttributes(message.payload, after: 4)
    guard message.type == new, let tuple = attributes.first(original), let addresses = tuple.nested.first(ip)?.nested,
      let source = (addresses.first(1) ?? addresses.first(3)).flatMap({ IPAddress(network: $0.payload) }),
      let destination = (addresses.first(2) ?? addresses.first(4)).flatMap({ IPAddress(network: $0.payload) }),
      source.family == destination.family
    else { return nil }
    return Connection(source: source, destination: destination, tuple: tuple.payload, zone: attributes.first(zone)?.payload)
  }
}

extension NetlinkWriter {
  /// Asks for the connection whose answers have this direction. The answer, if there is one, is followed by an acknowledgement.
  package mutating func getConnection(reply tuple: ConntrackMessage.Tuple, sequence: UInt32) {
    message(ConntrackMessage.get, flags: NetlinkMessage.Flag.acknowledge, sequence: sequence) {
      $0.connection(ConntrackMessage.reply, tuple)
    }
  }

  /// Asks for all connections of a family.
  package mutating func dumpConnections(_ family: IPAddress.Family, sequence: UInt32) {
    message(ConntrackMessage.get, flags: NetlinkMessage.Flag.dump, sequence: sequence) { $0.raw([family.addressFamily, 0, 0, 0]) }
  }

  /// Asks for the connections with this end. A kernel before Linux 5.8 answers with all of its family.
  package mutating func dumpConnections(_ end: ConntrackMessage.End, sequence: UInt32) {
    let (address, isSource) =
      switch end {
      case .source(let address): (address, true)
      case .destination(let address): (address, false)
      }
    message(ConntrackMessage.get, flags: NetlinkMessage.Flag.dump, sequence: sequence) { writer in
      writer.raw([address.family.addressFamily, 0, 0, 0])
      writer.nested(ConntrackMessage.original) { writer in
        writer.nested(ConntrackMessage.ip) { $0.attribute((address.family == .v4 ? 1 : 3) + (isSource ? 0 : 1), address) }
      }
      // CTA_FILTER_F_CTA_IP_SRC or …_DST.
      writer.nested(ConntrackMessage.filter) { $0.attribute(ConntrackMessage.originalFlags, host32: isSource ? 1 : 2) }
    }
  }

  /// Has a connection forgotten: the next packet of it counts as the first.
  package mutating func deleteConnection(_ connection: ConntrackMessage.Connection, sequence: UInt32, flags: UInt16) {
    message(ConntrackMessage.delete, flags: flags, sequence: sequence) { writer in
      writer.raw([connection.source.family.addressFamily, 0, 0, 0])
      writer.nested(ConntrackMessage.original) { $0.raw(connection.tuple) }
      if let zone = connection.zone { writer.attribute(ConntrackMessage.zone, zone) }
    }
  }

  /// Has a connection forgotten, by its original direction: the next packet of it counts as the first.
  package mutating func deleteConnection(original tuple: ConntrackMessage.Tuple, sequence: UInt32, flags: UInt16) {
    message(ConntrackMessage.delete, flags: flags, sequence: sequence) { $0.connection(ConntrackMessage.original, tuple) }
  }

  /// struct nfgenmsg, and one direction.
  private mutating func connection(_ direction: UInt16, _ tuple: ConntrackMessage.Tuple) {
    raw([tuple.source.family.addressFamily, 0, 0, 0])
    nested(direction) { writer in
      let isV4 = tuple.source.family == .v4
      writer.nested(1) { writer in
        writer.attribute(isV4 ? 1 : 3, tuple.source)
        writer.attribute(isV4 ? 2 : 4, tuple.destination)
      }
      writer.nested(2) { writer in
        writer.attribute(1, byte: tuple.transport)
        writer.attribute(2, [UInt8(tuple.sourcePort >> 8), UInt8(truncatingIfNeeded: tuple.sourcePort)])
        writer.attribute(3, [UInt8(tuple.destinationPort >> 8), UInt8(truncatingIfNeeded: tuple.destinationPort)])
      }
    }
  }
}
