import GatewayCore
import KernelModel
import NetworkTypes
import SeededRandom
import TestKit
import Testing

@Suite struct LeaseTests {
  @Test("devices get ascending addresses of every pool, after the gateway's own") func ascending() throws {
    var work = Administration()
    try work.addPool("10.77.0.0/24")
    try work.addPool("fd77::/64")
    try work.addUser(try name("alice"))
    let first = try work.addDevice(try path("alice/laptop"), publicKey: try key(1))
    let second = try work.addDevice(try path("alice/phone"), publicKey: try key(2))
    #expect(work.directory.addresses(of: first.id).map(\.description) == ["10.77.0.2", "fd77::2"])
    #expect(work.directory.addresses(of: second.id).map(\.description) == ["10.77.0.3", "fd77::3"])
  }

  @Test("a pool that is added later gives addresses to the devices that exist") func laterPool() throws {
    var work = Administration()
    try work.addUser(try name("alice"))
    let device = try work.addDevice(try path("alice/laptop"), publicKey: try key(1))
    #expect(work.directory.addresses(of: device.id) == [])
    try work.addPool("fd77::/64")
    #expect(work.directory.addresses(of: device.id).map(\.description) == ["fd77::2"])
  }

  @Test("a device that comes back gets its address; others get one that is held only where no other is free, the longest held first")
  func sticky() throws {
    var work = Administration()
    // Room for five devices: .2 to .6.
    try work.addPool("10.77.0.0/29")
    try work.addUser(try name("alice"))
    for i in 1...5 { try work.addDevice(try path("alice/d\(i)"), publicKey: try key(UInt64(i))) }
    try work.removeDevice(try path("alice/d2"))
    work = work.later(by: 60)
    try work.removeDevice(try path("alice/d1"))
    #expect(work.directory.poolList.first?.hasSuffix("3 leased, 2 held, 0 free") == true)
    var other = work
    let back = try work.addDevice(try path("alice/d1"), publicKey: try key(11))
    #expect(work.directory.addresses(of: back.id).map(\.description) == ["10.77.0.2"])
    // Another user's, at once.
    try other.addUser(try name("bob"))
    for (device, address) in [("bob/one", "10.77.0.3"), ("bob/two", "10.77.0.2")] {
      let added = try other.addDevice(try path(device), publicKey: try key(device == "bob/one" ? 20 : 21))
      #expect(other.directory.addresses(of: added.id).map(\.description) == [address])
    }
    let full = #expect(throws: GatewayError.self) { try other.addDevice(try path("bob/three"), publicKey: try key(9)) }
    #expect(full?.text == "pool pool4 (10.77.0.0/29) is full: devices have all addresses")
    #expect(other.directory.device(at: try path("bob/three")) == nil)
  }

  @Test(
    "pools that cannot be are refused with the reason",
    arguments: [
      ("10.77.0.0/31", "a pool of 10.77.0.0/31 is not possible"), ("fd77::/48", "a pool of fd77::/48 is not possible"),
      ("224.0.0.0/24", "224.0.0.0/24 has no addresses for devices"),
      ("10.77.0.128/25", "10.77.0.128/25 overlaps with pool pool (10.77.0.0/24)"),
    ])
  func refused(prefix: String, text: String) throws {
    var work = Administration()
    try work.addPool(try name("pool"), try #require(IPPrefix("10.77.0.0/24")), isTranslated: false)
    let (other, wanted) = (try name("other"), try #require(IPPrefix(prefix)))
    let error = try #require(throws: GatewayError.self) { try work.addPool(other, wanted, isTranslated: false) }
    #expect(error.text == text)
    #expect(error.help != nil)
  }

  @Test(
    "in any order of requests no address is leased twice, leases lie in their pools, and addresses stay with their devices",
    arguments: 1...20)
  func anyOrder(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var work = Administration()
    try work.addPool("10.77.0.0/28")
    try work.addPool("fd77::/125")
    for user in 1...3 { try work.addUser(try name("u\(user)")) }
    var replayed = Directory()
    var had: [DevicePath: [IPAddress]] = [:]
    for _ in 0..<200 {
      let device = try path("u\(random.next() % 3 + 1)/d\(random.next() % 5)")
      let before = work
      do {
        switch random.next() % 6 {
        case 0, 1:
          let added = try work.addDevice(device, publicKey: try key(random.next() % 40))
          let addresses = work.directory.addresses(of: added.id)
          #expect(addresses.map(\.family) == [.v4, .v6])
          // Unless it was given away meanwhile.
          let kept = Set(had[device] ?? []).intersection(Self.held(before.directory, device))
          #expect(kept.isSubset(of: addresses))
        case 2:
          let old = work.directory.device(at: device).map { work.directory.addresses(of: $0.id) }
          try work.removeDevice(device)
          had[device] = old
        case 3: try work.setKey(try key(random.next() % 40), of: device)
        case 4: work.advance(by: Int64(random.next() % 500_000))
        default:
          try work.rename(device, to: try name("d\(random.next() % 5)"))
          // A name that a device takes over no longer stands for the addresses of the one before.
          had = [:]
        }
      } catch is GatewayError {
        #expect(work.directory == before.directory)
        #expect(work.changes.count == before.changes.count)
      }
      try check(work.directory)
    }
    for change in work.changes { replayed.apply(change) }
    #expect(replayed == work.directory)
  }

  /// The addresses that are held for a device.
  private static func held(_ directory: Directory, _ device: DevicePath) -> [IPAddress] {
    directory.leases.values.filter { $0.device == nil && $0.holder == device }.map(\.address)
  }

  private func check(_ directory: Directory) throws {
    let addresses = directory.leases.values.map(\.address)
    #expect(Set(addresses).count == addresses.count)
    for lease in directory.leases.values {
      #expect(directory.pools[lease.pool]?.place(of: lease.address) != nil)
      if let device = lease.device { #expect(directory.devices[device] != nil) }
    }
    let keys = directory.devices.values.map(\.publicKey)
    #expect(Set(keys).count == keys.count)
    for device in directory.devices.values { #expect(directory.addresses(of: device.id).count == directory.pools.count) }
  }
}

extension Administration {
  /// Lets time pass within the requests of a test.
  fileprivate mutating func advance(by seconds: Int64) { now += seconds }
}
