package import KernelModel
package import NetworkTypes

// The gateways of a store.
extension Administration {
  /// Sets this gateway's endpoint and link; the first one is added.
  package mutating func setSite(_ endpoint: Endpoint, publicKey: WireGuardKey, link: InterfaceName) {
    let present = directory.site
    guard let name = present?.name ?? Site.usualName else { return }
    put(
      .site(
        Site(
          id: present?.id ?? newID(), name: name, endpoint: endpoint, publicKey: publicKey, link: link,
          offer: present?.offer ?? Site.Offer())))
    record("site set", endpoint, "link \(link)")
  }

  /// Adds a gateway with a key of its own to those of the store. Its pools are added by the requests that follow (`addPool`), for which the
  /// directory's viewpoint has to be this key.
  package mutating func addSite(
    _ name: GatewayName, _ endpoint: Endpoint, publicKey: WireGuardKey, link: InterfaceName
  ) throws(GatewayError) {
    directory.requireAll()
    try check(name)
    guard directory.sites.count < Site.most else {
      throw GatewayError(
        "the store has \(Site.most) gateways, and takes no more", help: "remove one with `roamward-gateway unset sites.NAME`")
    }
    if let other = directory.sites.values.first(where: { $0.endpoint == endpoint }) {
      throw GatewayError("\(endpoint) is the endpoint of gateway \(other.name)", help: "give the address of this gateway")
    }
    if let device = directory.device(of: publicKey), let path = directory.path(of: device) {
      throw GatewayError("this gateway's key belongs to the device \(path)", help: "a gateway needs a key of its own")
    }
    put(.site(Site(id: newID(), name: name, endpoint: endpoint, publicKey: publicKey, link: link)))
    record("site add", name, "\(endpoint), link \(link)")
  }

  package mutating func renameSite(_ name: GatewayName, to new: GatewayName) throws(GatewayError) {
    var site = try site(name)
    if name == new { return }
    if site.id == directory.site?.id { try refuseDeclared(.site) }
    try check(new)
    site.name = new
    put(.site(site))
    record("site rename", name, "to \(new)")
  }

  /// Removes another gateway, with its pools and their leases. Returns how many leases there were.
  package mutating func removeSite(_ name: GatewayName) throws(GatewayError) {
    directory.requireAll()
    let site = try site(name)
    guard site.id != directory.site?.id else {
      throw GatewayError("\(name) is this gateway", help: "run the command at another one")
    }
    for pool in directory.allPools where pool.site == site.id { drop(pool) }
    // Its files are gone with it.
    for mark in directory.marks.rows.values.filter({ $0.site == site.id }).sorted(by: { $0.id < $1.id }) { remove(.declarations, mark.id) }
    remove(.site, site.id)
    record("site remove", name, site.endpoint.description)
  }

  /// Tells the other gateways, and by them the clients, what this one offers.
  package mutating func publish(_ offer: Site.Offer) {
    guard var site = directory.site, site.offer != offer else { return }
    site.offer = offer
    put(.site(site))
    record("site publish", site.name, offer.relayPort.map { "relay at TCP port \($0)" } ?? "")
  }

  private func site(_ name: GatewayName) throws(GatewayError) -> Site {
    guard let site = directory.site(named: name) else {
      throw GatewayError("there is no gateway \(name)", help: "`roamward-gateway store show` lists them")
    }
    return site
  }

  private func check(_ name: GatewayName) throws(GatewayError) {
    if directory.site(named: name) != nil { throw GatewayError("there is a gateway \(name) already", help: "choose another name") }
  }
}

/// The pools that a gateway gets where none are named.
package struct UsualPools {
  private let pools: [Pool]

  package init(beside directory: Directory) { pools = Array(directory.pools.values) }

  /// The first of `pool1`, `pool2` … that no pool has.
  package var name: GatewayName? {
    (1...pools.count + 1).lazy.compactMap { GatewayName("pool\($0)") }.first { name in !pools.contains { $0.name == name } }
  }

  /// The IPv4 pool: the first of 10.77.0.0/24, 10.77.1.0/24 … that overlaps with no other one.
  package var prefix: IPPrefix? {
    (0...255).lazy.compactMap { IPPrefix("10.77.\($0).0/24") }.first { prefix in !pools.contains { $0.prefix.overlaps(prefix) } }
  }
}
