package import KernelModel
package import NetworkTypes

/// The gateway itself: one row.
package struct Site: Row {
  package var id: Int64
  /// The host name or address that clients connect to, and the UDP port.
  package var endpoint: Endpoint
  package var publicKey: WireGuardKey
  /// The name of the WireGuard link.
  package var link: InterfaceName

  package init(id: Int64, endpoint: Endpoint, publicKey: WireGuardKey, link: InterfaceName) {
    self.id = id
    self.endpoint = endpoint
    self.publicKey = publicKey
    self.link = link
  }

  package static let table = TableDeclaration(name: "site", columns: ["endpoint", "public_key", "link"])
  package var values: [SQLValue] { [.text(endpoint.description), .bytes(publicKey.bytes), .text(link.description)] }

  package init(id: Int64, values: [SQLValue]) throws(RowError) {
    var row = RowReader(values)
    let endpoint = Endpoint(row.text())
    let key = WireGuardKey(bytes: row.bytes())
    let link = row.parsed(InterfaceName.self)
    guard row.isValid, let endpoint, let key, let link else { throw RowError(table: Self.table.name, id: id) }
    self.init(id: id, endpoint: endpoint, publicKey: key, link: link)
  }
}
