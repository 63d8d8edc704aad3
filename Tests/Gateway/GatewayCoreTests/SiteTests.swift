import GatewayCore
import KernelModel
import KeyMemory
import NetworkTypes
import TestKit
import Testing

@Suite("Several gateways with one store") struct SiteTests {
  private let paris: WireGuardKey
  private let lyon: WireGuardKey

  init() throws { (paris, lyon) = (try key(91), try key(92)) }

  private func link(_ text: String = "wg-gateway") throws -> InterfaceName { try #require(InterfaceName(text)) }

  /// The same rows, as the gateway of this key sees them.
  private func seen(by viewpoint: WireGuardKey?, _ work: Administration) -> Administration {
    var directory = Directory(viewpoint: viewpoint)
    let rows = work.directory
    for row in rows.sites.values { directory.apply(.put(.site(row))) }
    for row in rows.users.values { directory.apply(.put(.user(row))) }
    for row in rows.devices.values { directory.apply(.put(.device(row))) }
    for row in rows.pools.values { directory.apply(.put(.pool(row))) }
    for row in rows.leases.values { directory.apply(.put(.lease(row))) }
    return Administration(directory, lastID: work.lastID, actor: "root", now: work.now)
  }

  /// Paris, with a device of before lyon joined.
  private func two() throws -> Administration {
    var work = Administration(Directory(viewpoint: paris), lastID: 0, actor: "root", now: 1_000_000)
    work.setSite(try #require(Endpoint("192.0.2.1:51820")), publicKey: paris, link: try link())
    try work.addPool(try name("lan"), try #require(IPPrefix("10.77.0.0/24")), isTranslated: true)
    try work.addUser(try name("alice"))
    try work.addDevice(try path("alice/phone"), publicKey: try key(1))
    work = seen(by: lyon, work)
    let usual = UsualPools(beside: work.directory)
    #expect(usual.prefix?.description == "10.77.1.0/24" && usual.name?.description == "pool1")
    try work.addSite(try name("lyon"), try #require(Endpoint("192.0.2.2:51820")), publicKey: lyon, link: try link())
    try work.addPool(try name("lyon4"), try #require(usual.prefix), isTranslated: true)
    try work.addDevice(try path("alice/laptop"), publicKey: try key(2))
    return work
  }

  @Test("a device has an address of each gateway's pools, and each gateway configures its own") func addresses() throws {
    let work = try two()
    for (viewpoint, first, second) in [(paris, "10.77.0", "10.77.0.0/24"), (lyon, "10.77.1", "10.77.1.0/24")] {
      let directory = seen(by: viewpoint, work).directory
      #expect(directory.site?.publicKey == viewpoint && directory.sortedPools.map(\.prefix.description) == [second])
      for (path, number) in [("alice/phone", 2), ("alice/laptop", 3)] {
        let device = try #require(directory.device(at: try GatewayCoreTests.path(path)))
        #expect(directory.addresses(of: device.id).map(\.description) == ["\(first).\(number)"])
        #expect(directory.leases(of: device.id).map(\.address.description) == ["10.77.0.\(number)", "10.77.1.\(number)"])
      }
      let secret = try #require(SecretKey(bytes: [UInt8](repeating: 5, count: 32)))
      let state = try #require(GatewayState(directory, privateKey: secret, engine: .kernel, at: work.now))
      #expect(state.device.publicKey == viewpoint && state.device.peers.count == 2)
      #expect(state.device.peers.flatMap(\.allowedIPs).allSatisfy { $0.description.hasPrefix(first) })
      #expect(state.addresses.map(\.description) == ["\(first).1/24"] && state.table.translated.map(\.description) == [second])
      #expect(Set(state.table.sources.keys.map(\.description)) == ["\(first).2", "\(first).3"])
      #expect(directory.inconsistencies == [])
      #expect(
        directory.siteList.first == "* \(viewpoint == paris ? "main" : "lyon")  192.0.2.\(viewpoint == paris ? 1 : 2):51820  \(second)")
    }
  }

  @Test("a pool at all gateways is one of each, and a device keeps its address of it") func everywhere() throws {
    var work = try two()
    try work.addPool(try name("shared"), try #require(IPPrefix("10.99.0.0/24")), isTranslated: true, isEverywhere: true)
    for viewpoint in [paris, lyon] {
      let directory = seen(by: viewpoint, work).directory
      let device = try #require(directory.device(at: try path("alice/phone")))
      #expect(directory.addresses(of: device.id).map(\.description).last == "10.99.0.2" && directory.sortedPools.count == 2)
      for site in directory.sortedSites { #expect(directory.addresses(of: device.id, at: site).count == 2) }
    }
    #expect(work.directory.poolList.last?.contains("10.99.0.0/24  at all gateways  masquerade") == true)
  }

  @Test("a removed device gives back all of its addresses; a removed gateway takes its pools along, and cannot be the own one")
  func removal() throws {
    var work = seen(by: paris, try two())
    try work.removeDevice(try path("alice/phone"))
    #expect(work.directory.leases.values.count { $0.heldSince != nil } == 2)
    #expect(throws: GatewayError.self) { try work.removeSite(try name("main")) }
    #expect(throws: GatewayError.self) { try work.removeSite(try name("nice")) }
    try work.removeSite(try name("lyon"))
    #expect(work.directory.sites.count == 1 && work.directory.pools.count == 1 && work.directory.leases.count == 2)
    #expect(work.directory.inconsistencies == [] && work.records.last?.verb == "site remove")
    // The removed one does not take the place of the other.
    #expect(seen(by: lyon, work).directory.site == nil && seen(by: lyon, work).directory.sortedPools.isEmpty)
  }

  @Test("names, endpoints and keys of gateways are their own; a store has eight at most") func refusals() throws {
    var work = try two()
    let free = try #require(Endpoint("192.0.2.9:51820"))
    let (taken, wg) = (try #require(Endpoint("192.0.2.1:51820")), try link())
    #expect(throws: GatewayError.self) { try work.addSite(try name("main"), free, publicKey: try key(93), link: wg) }
    #expect(throws: GatewayError.self) { try work.addSite(try name("nice"), taken, publicKey: try key(93), link: wg) }
    #expect(throws: GatewayError.self) { try work.addSite(try name("nice"), free, publicKey: try key(1), link: wg) }
    #expect(throws: GatewayError.self) { try work.addDevice(try path("alice/other"), publicKey: paris) }
    #expect(throws: GatewayError.self) { try work.renameSite(try name("main"), to: try name("lyon")) }
    try work.renameSite(try name("main"), to: try name("paris"))
    for i in 2..<Site.most {
      try work.addSite(
        try name("site\(i)"), try #require(Endpoint("192.0.2.\(100 + i):51820")), publicKey: try key(200 + UInt64(i)), link: wg)
    }
    #expect(throws: GatewayError.self) { try work.addSite(try name("ninth"), free, publicKey: try key(300), link: wg) }
    #expect(work.directory.sortedSites.map(\.name.description).prefix(3) == ["lyon", "paris", "site2"])
  }

  @Test("one gateway is as before, with its key and without; another key is none of it") func one() throws {
    var work = Administration()
    try work.addPool("10.77.0.0/24")
    work.setSite(try #require(Endpoint("192.0.2.1:51820")), publicKey: paris, link: try link())
    for viewpoint in [nil, paris] {
      let directory = seen(by: viewpoint, work).directory
      #expect(directory.site?.publicKey == paris && directory.sortedPools.count == 1)
      #expect(directory.poolList.first == "pool4  10.77.0.0/24  0 leased, 0 held, 253 free")
    }
    #expect(seen(by: lyon, work).directory.site == nil)
    #expect(seen(by: try key(5), try two()).directory.site == nil)
  }

  @Test("what a gateway offers is told once, and changes of it reach everything") func offer() throws {
    var work = seen(by: lyon, try two())
    let count = work.records.count
    let offer = Site.Offer(pin: [UInt8](repeating: 3, count: 32), relayPort: 443)
    work.publish(offer)
    work.publish(offer)
    #expect(work.records.count == count + 1 && work.directory.site?.offer == offer)
    let site = try #require(work.directory.site)
    #expect(try Site(id: site.id, values: site.values) == site)
    #expect(ChangeReach(ofSettings: [.put(.site(site))], in: work.directory) == .everything)
  }
}
