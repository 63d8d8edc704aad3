package import NetworkTypes

// The pools of the gateway.
extension Administration {
  /// Adds a pool. `isEverywhere`: its addresses are at all gateways, otherwise at this one.
  package mutating func addPool(
    _ name: GatewayName, _ prefix: IPPrefix, isTranslated: Bool, isEverywhere: Bool = false
  ) throws(GatewayError) {
    directory.requireAll()
    try refuseDeclared(.pools)
    if directory.pool(named: name) != nil { throw GatewayError("there is a pool \(name) already", help: "choose another name") }
    let lengths = Pool.lengths(of: prefix.family)
    guard lengths.contains(prefix.length) else {
      throw GatewayError(
        "a pool of \(prefix) is not possible", help: "the length of its prefix has to be \(lengths.lowerBound) to \(lengths.upperBound)")
    }
    guard !prefix.address.isMulticast, !prefix.address.isLoopback, !prefix.address.isLinkLocal else {
      throw GatewayError("\(prefix) has no addresses for devices", help: "use a private prefix, such as 10.77.0.0/24 or fd77::/64")
    }
    if let other = directory.pools.values.first(where: { $0.prefix.overlaps(prefix) }) {
      throw GatewayError("\(prefix) overlaps with pool \(other.name) (\(other.prefix))", help: "choose another prefix")
    }
    let pool = Pool(
      id: newID(), name: name, prefix: prefix, isTranslated: isTranslated, site: isEverywhere ? nil : directory.site?.id)
    put(.pool(pool))
    record("pool add", name, "\(prefix)\(isTranslated ? ", masquerade" : "")")
    for device in directory.devices.values.sorted(by: { $0.id < $1.id }) { try grant(pool, to: device) }
  }

  package mutating func removePool(_ name: GatewayName) throws(GatewayError) {
    directory.requireAll()
    try refuseDeclared(.pools)
    guard let pool = directory.pool(named: name) else {
      throw GatewayError("there is no pool \(name)", help: "`roamward-gateway store show` lists the pools")
    }
    drop(pool)
    record("pool remove", name, pool.prefix.description)
  }

  mutating func drop(_ pool: Pool) {
    for lease in directory.leases.values.filter({ $0.pool == pool.id }).sorted(by: { $0.id < $1.id }) { remove(.leases, lease.id) }
    remove(.pools, pool.id)
  }
}
