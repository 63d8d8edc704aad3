public import NetworkTypes

/// The remote end of a datagram: an address, a port, and for a link-local IPv6 address the index of its link (0 otherwise). It also has the
/// local address at which the datagram arrived or from which it is sent.
///
/// It is trivially copied, unlike `Endpoint`, which may be a name: it is compared for every packet.
public struct DatagramAddress: Hashable, Sendable, LosslessStringConvertible {
  public let address: IPAddress
  /// 0 to 65535.
  public let port: UInt16
  /// The index of the link of a link-local IPv6 address; 0 otherwise.
  public let scope: UInt32
  package var local = LocalAddress.any

  /// The local end, of the same family: the address in two words as in `IPAddress`, and the link on which the datagram arrived.
  package struct LocalAddress: Hashable, Sendable {
    package var high: UInt64
    package var low: UInt64
    package var link: UInt32

    package init(high: UInt64, low: UInt64, link: UInt32) {
      self.high = high
      self.low = low
      self.link = link
    }

    /// The routing table chooses.
    package static let any = LocalAddress(high: 0, low: 0, link: 0)
  }

  public init(_ address: IPAddress, port: UInt16, scope: UInt32 = 0) {
    self.address = address
    self.port = port
    self.scope = scope
  }

  /// Parses `192.0.2.1:51820` or `[2001:db8::1]:51820`; a zone is not accepted.
  public init?(_ text: String) {
    guard let endpoint = Endpoint(text), let address = endpoint.address else { return nil }
    self.init(address, port: endpoint.port)
  }

  /// The address without the local end.
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
