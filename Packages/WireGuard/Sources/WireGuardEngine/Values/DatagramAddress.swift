public import NetworkTypes

/// Where a datagram came from or goes to: an address, a port, and for a link-local IPv6 address the index of its link (0 elsewhere); and
/// which of our own addresses it came to or is to leave from.
///
/// Trivially copied, unlike `Endpoint`, which may be a name: it is compared for every packet.
public struct DatagramAddress: Hashable, Sendable, LosslessStringConvertible {
  public let address: IPAddress
  /// 0 to 65535.
  public let port: UInt16
  /// The index of the link of a link-local IPv6 address; 0 elsewhere.
  public let scope: UInt32
  package var local = LocalAddress.any

  /// Our end, of the same family: the address in two words as in `IPAddress`, and the link by which the datagram came.
  package struct LocalAddress: Hashable, Sendable {
    package var high: UInt64
    package var low: UInt64
    package var link: UInt32

    package init(high: UInt64, low: UInt64, link: UInt32) {
      self.high = high
      self.low = low
      self.link = link
    }

    /// The routing table's choice.
    package static let any = LocalAddress(high: 0, low: 0, link: 0)
  }

  public init(_ address: IPAddress, port: UInt16, scope: UInt32 = 0) {
    self.address = address
    self.port = port
    self.scope = scope
  }

  /// `192.0.2.1:51820` or `[2001:db8::1]:51820`; a zone is not read.
  public init?(_ text: String) {
    guard let endpoint = Endpoint(text), let address = endpoint.address else { return nil }
    self.init(address, port: endpoint.port)
  }

  /// Without our end.
  package var remote: DatagramAddress {
    var copy = self
    copy.local = .any
    return copy
  }

  public var description: String {
    let zone = scope == 0 ? "" : "%\(scope)"
    return address.family == .v6 ? "[\(address)\(zone)]:\(port)" : "\(address):\(port)"
  }
}
