package import NetworkTypes

/// The client of a UDP ASSOCIATE, as a machine over datagrams: one address, and one port of it.
package struct DatagramClient: Sendable {
  /// The client's address, which its TCP connection has.
  package let address: IPAddress
  /// The port of its first datagram, or the one that it has named.
  package private(set) var port: UInt16?

  package init(at address: IPAddress, port: UInt16?) {
    self.address = address
    self.port = port
  }

  /// Takes a datagram that came to the proxy. `nil`: it is not the client's, or malformed.
  package mutating func receive(_ bytes: [UInt8], from address: IPAddress, port source: UInt16) -> RelayedDatagram? {
    guard address == self.address, port == nil || port == source, let datagram = RelayedDatagram(bytes) else { return nil }
    port = source
    return datagram
  }
}

/// The places that a client has sent datagrams to: answers of those alone are let in.
package struct DatagramDestinations: Sendable {
  /// Destinations whose answers are let in. A further one takes the place of the first.
  package static let most = 1024

  private struct Place: Hashable, Sendable {
    let address: IPAddress
    let port: UInt16
  }

  private var known: Set<Place> = []
  /// The destinations in their order, in a ring.
  private var order: [Place] = []
  private var oldest = 0

  package init() {}

  /// Notes that a datagram of the client goes to this place. `false`: it may not.
  package mutating func send(to address: IPAddress, port: UInt16) -> Bool {
    guard !isForbidden(address) else { return false }
    let place = Place(address: address, port: port)
    guard known.insert(place).inserted else { return true }
    if order.count < Self.most {
      order.append(place)
    } else {
      known.remove(order[oldest])
      order[oldest] = place
      oldest = (oldest + 1) % Self.most
    }
    return true
  }

  /// Whether a datagram from this place is an answer.
  package func answers(from address: IPAddress, port: UInt16) -> Bool { known.contains(Place(address: address, port: port)) }
}
