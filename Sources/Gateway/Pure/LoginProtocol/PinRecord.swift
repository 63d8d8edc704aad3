package import NetworkTypes

/// The record of DNS that has a gateway's pin: TLSA 3 1 1 (RFC 6698). It says that the server's own key counts, without an authority
/// (DANE-EE, RFC 7671 section 5.1), and has SHA-256 of the SubjectPublicKeyInfo, which the pin is too.
package enum PinRecord {
  /// Its name, such as `_51820._tcp.vpn.example.com`; `nil`: the gateway has an address alone, or a name that leaves no room.
  package static func name(for server: Endpoint) -> DomainName? {
    guard case .name(let host) = server.host else { return nil }
    return DomainName("_\(server.port)._tcp.\(host.text)")
  }

  /// The line for a zone file (RFC 1035 section 5); `nil` without a name.
  package static func line(for server: Endpoint, _ pin: GatewayPin) -> String? {
    name(for: server).map { "\($0.text). IN TLSA 3 1 1 \(pin.hash.map(hexadecimal).joined())" }
  }

  /// The pin of a record; `nil`: the record is of another kind.
  package static func pin(usage: UInt8, selector: UInt8, matchingType: UInt8, association: [UInt8]) -> GatewayPin? {
    (usage, selector, matchingType) == (3, 1, 1) ? GatewayPin(hash: association) : nil
  }
}
