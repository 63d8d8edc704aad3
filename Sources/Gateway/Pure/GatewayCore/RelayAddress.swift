package import NetworkTypes

/// The addresses from which datagrams of relays come to the gateway's own WireGuard port: one of this machine for each relay. WireGuard
/// limits handshakes by their source, so one for all would let a stranger use up everybody's share.
package enum RelayAddress {
  /// Nothing else uses it: packets of the network do not have such addresses.
  package static let prefix: [UInt8] = [127, 83]

  package static func address(_ number: Int) -> [UInt8] {
    prefix + [UInt8(truncatingIfNeeded: number >> 8), UInt8(truncatingIfNeeded: number)]
  }

  /// Whether a peer that WireGuard sees at this address is connected by TCP.
  package static func contains(_ address: IPAddress) -> Bool { address.family == .v4 && Array(address.bytes.prefix(2)) == prefix }
}
