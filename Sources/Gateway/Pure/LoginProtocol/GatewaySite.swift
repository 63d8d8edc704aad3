package import NetworkTypes

/// One of several gateways that know the device (tag 14): all that a client needs to change over to it without another login.
/// docs/wire-format.md describes each byte.
package struct GatewaySite: Hashable, Sendable {
  package var name: String
  package var key: [UInt8]
  /// The gateway's `host:port`: WireGuard by UDP, logins by TCP.
  package var endpoint: String
  /// The pin of its logins and relays, 32 bytes; empty: it takes none.
  package var pin: [UInt8]
  package var relayPort: UInt16?
  /// The device's addresses there, and the gateway's own.
  package var addresses: [IPAddress]
  package var gatewayAddresses: [IPAddress]

  /// The most gateways of a list.
  package static let most = 8

  package init(
    name: String, key: [UInt8], endpoint: String, pin: [UInt8] = [], relayPort: UInt16? = nil, addresses: [IPAddress],
    gatewayAddresses: [IPAddress] = []
  ) {
    self.name = name
    self.key = key
    self.endpoint = endpoint
    self.pin = pin
    self.relayPort = relayPort
    self.addresses = addresses
    self.gatewayAddresses = gatewayAddresses
  }

  var bytes: [UInt8] {
    func part(_ bytes: [UInt8]) -> [UInt8] { [UInt8(clamping: bytes.count)] + bytes }
    return key + LoginFrame.bigEndian(Int(relayPort ?? 0)) + part(Array(name.utf8)) + part(Array(endpoint.utf8)) + part(pin)
      + part(LoginGrant.bytes(of: addresses)) + part(LoginGrant.bytes(of: gatewayAddresses))
  }

  /// Reads a list: behind the length of each entry, the entry. What follows the known parts of one is a later version's.
  static func list(_ bytes: [UInt8]) throws(LoginFrameError) -> [GatewaySite] {
    var rest = bytes[...]
    var sites: [GatewaySite] = []
    while !rest.isEmpty {
      let length = Int(try number(&rest))
      guard rest.count >= length, sites.count < most else { throw .field }
      sites.append(try GatewaySite(rest.prefix(length)))
      rest = rest.dropFirst(length)
    }
    return sites
  }

  static func bytes(of sites: [GatewaySite]) -> [UInt8] {
    sites.flatMap { site in
      let bytes = site.bytes
      return LoginFrame.bigEndian(bytes.count) + bytes
    }
  }

  private init(_ bytes: ArraySlice<UInt8>) throws(LoginFrameError) {
    var rest = bytes
    func part(_ lengths: ClosedRange<Int>) throws(LoginFrameError) -> [UInt8] {
      guard let length = rest.popFirst().map(Int.init), lengths.contains(length), rest.count >= length else { throw .field }
      defer { rest = rest.dropFirst(length) }
      return Array(rest.prefix(length))
    }
    func text(_ lengths: ClosedRange<Int>) throws(LoginFrameError) -> String {
      guard let text = LoginFrame.text(try part(lengths)) else { throw .field }
      return text
    }
    guard rest.count >= 32 else { throw .field }
    key = Array(rest.prefix(32))
    rest = rest.dropFirst(32)
    let port = try Self.number(&rest)
    relayPort = port == 0 ? nil : port
    name = try text(1...ClientMessage.nameLimit)
    endpoint = try text(1...255)
    pin = try part(0...32)
    guard pin.isEmpty || pin.count == 32 else { throw .field }
    addresses = try LoginGrant.addresses(part(0...255))
    gatewayAddresses = try LoginGrant.addresses(part(0...255))
  }

  private static func number(_ rest: inout ArraySlice<UInt8>) throws(LoginFrameError) -> UInt16 {
    guard let high = rest.popFirst(), let low = rest.popFirst() else { throw .field }
    return UInt16(high) << 8 | UInt16(low)
  }
}

extension LoginGrant {
  /// The present gateway's entry of the list; `nil`: there is no list, or it is not in it.
  package var site: GatewaySite? { sites.first { $0.key == gatewayKey } }

  /// The same device at another gateway of the list. Routes and the like follow from there by a push.
  package func at(_ site: GatewaySite) -> LoginGrant {
    var grant = self
    grant.gatewayKey = site.key
    grant.endpoint = site.endpoint
    grant.addresses = site.addresses
    grant.gatewayAddresses = site.gatewayAddresses
    grant.relayPort = site.pin.isEmpty ? nil : site.relayPort
    return grant
  }

  /// With as many gateways of the list as a frame holds: the last ones are left out.
  package var fitted: LoginGrant {
    var grant = self
    grant.relayPort = relayPort ?? .max
    while !grant.sites.isEmpty, !grant.isSendable { grant.sites.removeLast() }
    grant.relayPort = relayPort
    return grant
  }
}
