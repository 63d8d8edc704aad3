package import KernelModel
package import NetworkTypes

/// A gateway of the store. Gateways with one key have one row, and stand for each other; those with keys of their own are a site each.
package struct Site: Row {
  package var id: Int64
  package var name: GatewayName
  /// The host name or address that clients connect to, and the UDP port.
  package var endpoint: Endpoint
  package var publicKey: WireGuardKey
  /// The name of the WireGuard link.
  package var link: InterfaceName
  /// The offer to clients of other gateways: the pin of its logins (SHA-256 of the key; empty: it takes none) and the TCP port of its
  /// relays (`nil`: it relays nothing). The running gateway keeps both up to date where there are several.
  package var offer: Offer

  package struct Offer: Hashable, Sendable {
    package var pin: [UInt8]
    package var relayPort: UInt16?

    package init(pin: [UInt8] = [], relayPort: UInt16? = nil) {
      self.pin = pin
      self.relayPort = relayPort
    }
  }

  /// The most gateways with keys of their own in a store: as many as the list has that a client gets (`GatewaySite.most`). Clients of the
  /// others would never learn of one beyond. Machines with one key (a pair) are one.
  package static let most = 8
  /// The name of the first gateway if `init` gets none.
  package static let usualName = GatewayName("main")

  package init(
    id: Int64, name: GatewayName, endpoint: Endpoint, publicKey: WireGuardKey, link: InterfaceName, offer: Offer = Offer()
  ) {
    self.id = id
    self.name = name
    self.endpoint = endpoint
    self.publicKey = publicKey
    self.link = link
    self.offer = offer
  }

  package static let table = TableDeclaration(
    name: "site", columns: ["endpoint", "public_key", "link", "name", "pin", "relay_port"])
  package var values: [SQLValue] {
    [
      .text(endpoint.description), .bytes(publicKey.bytes), .text(link.description), .text(name.description),
      offer.pin.isEmpty ? .null : .bytes(offer.pin), SQLValue(offer.relayPort.map(Int64.init)),
    ]
  }

  package init(id: Int64, values: [SQLValue]) throws(RowError) {
    var row = RowReader(values)
    let endpoint = Endpoint(row.text())
    let key = WireGuardKey(bytes: row.bytes())
    let link = row.parsed(InterfaceName.self)
    let name = row.parsed(GatewayName.self)
    let pin = row.optionalBytes() ?? []
    let relayPort = row.optionalInteger()
    guard row.isValid, let endpoint, let key, let link, let name, pin.isEmpty || pin.count == 32,
      relayPort.map({ UInt16(exactly: $0) != nil }) ?? true
    else { throw RowError(table: Self.table.name, id: id) }
    self.init(
      id: id, name: name, endpoint: endpoint, publicKey: key, link: link,
      offer: Offer(pin: pin, relayPort: relayPort.map { UInt16(clamping: $0) }))
  }
}
