package import NetworkTypes

/// Where a datagram came from or goes to: an address, a port, and for a link-local IPv6 address the index of its link (0 elsewhere).
///
/// Trivially copied, unlike `Endpoint`, which may be a name: it is compared for every packet.
package struct DatagramAddress: Hashable, Sendable, CustomStringConvertible {
  package let address: IPAddress
  package let port: UInt16
  package let scope: UInt32

  package init(_ address: IPAddress, port: UInt16, scope: UInt32 = 0) {
    self.address = address
    self.port = port
    self.scope = scope
  }

  package var description: String {
    let zone = scope == 0 ? "" : "%\(scope)"
    return address.family == .v6 ? "[\(address)\(zone)]:\(port)" : "\(address):\(port)"
  }
}
