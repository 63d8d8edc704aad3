package import NetworkTypes

/// Addresses of SOCKS5 in bytes (RFC 1928 section 5): a type, an address or a name, a port.
package enum SOCKSAddress {
  /// A place that a client names. Its port may be 0, and its name may be none that DNS knows.
  package struct Place: Hashable, Sendable {
    /// `nil`: a name that is no domain name.
    package let host: Endpoint.Host?
    package let port: UInt16

    package init(host: Endpoint.Host?, port: UInt16) {
      self.host = host
      self.port = port
    }

    /// `nil`: nothing can be sent there.
    package var endpoint: Endpoint? { port == 0 ? nil : host.map { Endpoint(host: $0, port: port) } }
  }

  package enum Reading: Hashable, Sendable {
    /// More bytes are needed.
    case incomplete
    case unknownType
    /// The place, and the number of its bytes.
    case place(Place, count: Int)
  }

  /// Reads an address that begins with these bytes.
  package static func read(_ bytes: ArraySlice<UInt8>) -> Reading {
    let start = bytes.startIndex
    guard let type = bytes.first else { return .incomplete }
    let (head, count): (Int, Int)
    switch type {
    case 1: (head, count) = (1, 4)
    case 4: (head, count) = (1, 16)
    case 3:
      guard bytes.count > 1 else { return .incomplete }
      (head, count) = (2, Int(bytes[start + 1]))
    default: return .unknownType
    }
    guard bytes.count >= head + count + 2 else { return .incomplete }
    let place = start + head
    let port = UInt16(bytes[place + count]) << 8 | UInt16(bytes[place + count + 1])
    let host = type == 3 ? host(named: bytes[place..<place + count]) : IPAddress(bytes: bytes[place..<place + count]).map { .address($0) }
    return .place(Place(host: host, port: port), count: head + count + 2)
  }

  /// The host of a name: an address, if it is the text of one.
  private static func host(named bytes: ArraySlice<UInt8>) -> Endpoint.Host? {
    guard bytes.allSatisfy({ (33...126).contains($0) }) else { return nil }
    let text = String(decoding: bytes, as: UTF8.self)
    return IPAddress(text).map { .address($0) } ?? DomainName(text).map { .name($0) }
  }

  /// The bytes of an address and a port.
  package static func bytes(_ address: IPAddress, port: UInt16) -> [UInt8] {
    [address.family == .v4 ? 1 : 4] + address.bytes + [UInt8(port >> 8), UInt8(port & 0xff)]
  }

  /// The bytes of an endpoint.
  package static func bytes(_ endpoint: Endpoint) -> [UInt8] {
    switch endpoint.host {
    case .address(let address): bytes(address, port: endpoint.port)
    case .name(let name):
      [3, UInt8(name.text.utf8.count)] + Array(name.text.utf8) + [UInt8(endpoint.port >> 8), UInt8(endpoint.port & 0xff)]
    }
  }
}

/// A datagram with the header of UDP ASSOCIATE (RFC 1928 section 7).
package struct RelayedDatagram: Hashable, Sendable {
  /// The destination of one that a client sends; the source of one that it gets.
  package let endpoint: Endpoint
  package let data: [UInt8]

  package init(endpoint: Endpoint, data: [UInt8]) {
    self.endpoint = endpoint
    self.data = data
  }

  /// `nil`: malformed, a fragment, or to a place where nothing can be sent. Fragments are optional, and no client sends them.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count > 3, bytes[0] == 0, bytes[1] == 0, bytes[2] == 0, case .place(let place, let count) = SOCKSAddress.read(bytes[3...]),
      let endpoint = place.endpoint
    else { return nil }
    self.init(endpoint: endpoint, data: Array(bytes[(3 + count)...]))
  }

  package var bytes: [UInt8] { [0, 0, 0] + SOCKSAddress.bytes(endpoint) + data }
}
