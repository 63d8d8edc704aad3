internal import NameServer

/// The datagrams of an outbox in the order of their sockets, so that those of one leave together. Those of one socket keep their order.
struct SocketOrder {
  /// The number of the socket above the 32 bits of the index.
  private var entries: [UInt64] = []

  var count: Int { entries.count }

  mutating func sort(_ datagrams: [Outbox.Datagram]) {
    entries.removeAll(keepingCapacity: true)
    for (index, datagram) in datagrams.enumerated() { entries.append(UInt64(datagram.socket) << 32 | UInt64(index)) }
    entries.sort()
  }

  func socket(_ place: Int) -> UInt16 { UInt16(truncatingIfNeeded: entries[place] >> 32) }

  /// The index in the outbox.
  func index(_ place: Int) -> Int { Int(UInt32(truncatingIfNeeded: entries[place])) }
}
