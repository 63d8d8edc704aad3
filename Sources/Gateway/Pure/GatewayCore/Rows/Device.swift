package import KernelModel
package import NetworkTypes

/// A device of a user, known by its WireGuard key. Its private key is never here.
package struct Device: Row {
  package var id: Int64
  package var user: Int64
  package var name: GatewayName
  package var publicKey: WireGuardKey
  package var added: Timestamp

  package init(id: Int64, user: Int64, name: GatewayName, publicKey: WireGuardKey, added: Timestamp) {
    self.id = id
    self.user = user
    self.name = name
    self.publicKey = publicKey
    self.added = added
  }

  package static let table = TableDeclaration(name: "devices", columns: ["user_id", "name", "public_key", "added"])
  package var values: [SQLValue] { [.integer(user), .text(name.description), .bytes(publicKey.bytes), SQLValue(added)] }

  package init(id: Int64, values: [SQLValue]) throws(RowError) {
    var row = RowReader(values)
    let user = row.integer()
    let name = row.parsed(GatewayName.self)
    let key = WireGuardKey(bytes: row.bytes())
    let added = row.time()
    guard row.isValid, let name, let key else { throw RowError(table: Self.table.name, id: id) }
    self.init(id: id, user: user, name: name, publicKey: key, added: added)
  }
}
