package import NetworkTypes

/// The addresses that devices get. The first address of the prefix is the gateway's own.
package struct Pool: Row {
  package var id: Int64
  package var name: GatewayName
  package var prefix: IPPrefix
  /// Whether packets to other networks carry the gateway's address there (masquerade).
  package var isTranslated: Bool
  /// The gateway at which its addresses are (`Site`); `nil`: at all of them.
  package var site: Int64?

  package init(id: Int64, name: GatewayName, prefix: IPPrefix, isTranslated: Bool, site: Int64? = nil) {
    self.id = id
    self.name = name
    self.prefix = prefix
    self.isTranslated = isTranslated
    self.site = site
  }

  /// The longest prefix that has room for the gateway and a device, and the shortest one for which addresses are counted in 64 bits.
  package static func lengths(of family: IPAddress.Family) -> ClosedRange<Int> { family == .v4 ? 8...30 : 64...126 }

  /// The gateway's own address.
  package var gateway: InterfaceAddress? { InterfaceAddress(address(at: 1), prefixLength: prefix.length) }

  /// The first and the last place of devices. In IPv4 the last address is that of broadcasts.
  package var places: ClosedRange<UInt64> {
    let bits = UInt64(prefix.family.bitWidth - prefix.length)
    let last = bits >= 64 ? UInt64.max : (1 << bits) - 1
    return 2...(prefix.family == .v4 ? last - 1 : last)
  }

  package func address(at place: UInt64) -> IPAddress {
    IPAddress(family: prefix.family, high: prefix.address.high, low: prefix.address.low | place)
  }

  /// The place of an address that a device may have; `nil`: it is none.
  package func place(of address: IPAddress) -> UInt64? {
    guard prefix.contains(address) else { return nil }
    let place = address.low - prefix.address.low
    return places.contains(place) ? place : nil
  }

  package static let table = TableDeclaration(name: "pools", columns: ["name", "address", "length", "translated", "site_id"])
  package var values: [SQLValue] {
    [.text(name.description), .bytes(prefix.address.bytes), .integer(Int64(prefix.length)), SQLValue(isTranslated), SQLValue(site)]
  }

  package init(id: Int64, values: [SQLValue]) throws(RowError) {
    var row = RowReader(values)
    let name = row.parsed(GatewayName.self)
    let address = IPAddress(bytes: row.bytes())
    let length = row.integer()
    let isTranslated = row.flag()
    let site = row.optionalInteger()
    guard row.isValid, let name, let address, Self.lengths(of: address.family).contains(Int(clamping: length)),
      let prefix = IPPrefix(address, length: Int(length))
    else { throw RowError(table: Self.table.name, id: id) }
    self.init(id: id, name: name, prefix: prefix, isTranslated: isTranslated, site: site)
  }
}

/// An address that a device has, or had. Two rows never have the same address.
package struct Lease: Row {
  package var id: Int64
  package var pool: Int64
  package var address: IPAddress
  /// `nil`: it is held.
  package var device: Int64?
  /// The device's name, so that a device that comes back under it gets the address again.
  package var holder: DevicePath
  /// Since when it is held for the device that had it; `nil`: in use.
  package var heldSince: Timestamp?

  package init(id: Int64, pool: Int64, address: IPAddress, device: Int64?, holder: DevicePath, heldSince: Timestamp? = nil) {
    self.id = id
    self.pool = pool
    self.address = address
    self.device = device
    self.holder = holder
    self.heldSince = heldSince
  }

  package static let table = TableDeclaration(name: "leases", columns: ["pool_id", "address", "device_id", "holder", "released"])
  package var values: [SQLValue] {
    [.integer(pool), .bytes(address.bytes), SQLValue(device), .text(holder.description), SQLValue(heldSince)]
  }

  package init(id: Int64, values: [SQLValue]) throws(RowError) {
    var row = RowReader(values)
    let pool = row.integer()
    let address = IPAddress(bytes: row.bytes())
    let device = row.optionalInteger()
    let holder = row.parsed(DevicePath.self)
    let heldSince = row.optionalTime()
    guard row.isValid, let address, let holder, (device == nil) == (heldSince != nil) else {
      throw RowError(table: Self.table.name, id: id)
    }
    self.init(id: id, pool: pool, address: address, device: device, holder: holder, heldSince: heldSince)
  }
}
