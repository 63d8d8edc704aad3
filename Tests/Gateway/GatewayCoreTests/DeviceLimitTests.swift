import GatewayCore
import KernelModel
import NetworkTypes
import SeededRandom
import TestKit
import Testing

@Suite("The limit of devices, and addresses that run out") struct DeviceLimitTests {
  private func sample() throws -> Administration {
    var work = Administration()
    try work.addPool("10.77.0.0/28")
    for user in ["alice", "mallory"] { try work.addUser(try name(user)) }
    return work
  }

  private func binding(_ work: Administration, _ path: DevicePath, _ number: UInt64) throws -> Administration.Binding {
    Administration.Binding(
      user: try work.user(path.user).id, device: path.device, publicKey: try key(number), factors: "password", source: "192.0.2.7")
  }

  @Test("a user logs in up to the limit, with a reason and its cure; known devices go on, administrators add more") func limit() throws {
    var work = try sample()
    for i in 0..<10 { _ = try work.bind(try binding(work, try path("mallory/m\(i)"), UInt64(i))) }
    let before = work.directory
    let error = try #require(throws: GatewayError.self) { _ = try work.bind(try binding(work, try path("mallory/m10"), 10)) }
    #expect(error.kind == .deviceLimit && error.text == "mallory has 10 devices, and adds no other: the limit is 10")
    #expect(error.help?.contains("roamward-gateway device remove mallory/NAME") == true)
    #expect(work.directory == before)
    _ = try work.bind(try binding(work, try path("mallory/m3"), 11))
    _ = try work.bind(try binding(work, try path("alice/laptop"), 12))
    try work.addDevice(try path("mallory/m10"), publicKey: try key(13), by: .administrator)
    try work.removeDevice(try path("mallory/m4"))
    #expect(throws: GatewayError.self) { _ = try work.bind(try binding(work, try path("mallory/m4"), 14)) }
    try work.removeDevice(try path("mallory/m5"))
    _ = try work.bind(try binding(work, try path("mallory/m4"), 14))
  }

  @Test("the limit is a setting of everybody, a group or a user, the most specific one first, and goes to no client") func scopes() throws {
    var work = try sample()
    let alice = try work.user(try name("alice")).id
    try work.addGroup(try name("staff"))
    try work.setMember(true, try name("alice"), of: try name("staff"))
    #expect(work.directory.deviceLimit(of: alice) == 10)
    let scopes: [(Settings.Scope, Int64)] = [(.everybody, 2), (.group(try work.group(try name("staff")).id), 0), (.user(alice), 7)]
    for (scope, limit) in scopes {
      try work.change(PushedSettings(), deviceLimit: limit, for: scope, named: "x")
      #expect(work.directory.deviceLimit(of: alice) == limit)
    }
    try work.change(PushedSettings(mtu: 1300), for: .user(alice), named: "user alice")
    #expect(work.directory.deviceLimit(of: alice) == 7 && work.records.last?.detail == "mtu 1300; devices 7")
    let device = try work.addDevice(try path("alice/laptop"), publicKey: try key(1))
    #expect(work.directory.pushedSettings(of: device).text == "mtu 1300\n")
    #expect(work.directory.settingOrigins(of: device).map(\.line) == ["mtu 1300  from user alice", "devices 7  from user alice"])
    for limit: Int64 in [-1, 10_001] {
      #expect(throws: GatewayError.self) { try work.change(PushedSettings(), deviceLimit: limit, for: .everybody, named: "x") }
    }
    #expect(throws: GatewayError.self) { try work.change(PushedSettings(), deviceLimit: 1, for: .device(device.id), named: "x") }
  }

  @Test(
    "whatever users and administrators do: no user adds a device above the limit, and an address is refused only if devices have all",
    arguments: 1...30)
  func anyOrder(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var work = Administration()
    // 13 and 6 places.
    try work.addPool("10.77.0.0/28")
    if random.chance(0.5) { try work.addPool("fd77::/125") }
    for user in 0..<4 { try work.addUser(try name("u\(user)")) }
    let keys = try (0..<300).map { try key(UInt64($0)) }
    var refusals: [GatewayError.Kind: Int] = [:]
    for step in 0..<300 {
      let device = try path("u\(random.next() % 4)/d\(random.next() % 9)")
      let user = try work.user(device.user).id
      let before = work
      let draw = random.next() % 10
      do throws(GatewayError) {
        switch draw {
        case 0...3:
          let isNew = before.directory.device(at: device) == nil
          _ = try work.bind(
            Administration.Binding(
              user: user, device: device.device, publicKey: keys[step], factors: "password", source: "192.0.2.7"))
          if isNew { #expect(work.directory.devices(of: user).count <= work.directory.deviceLimit(of: user)) }
        case 4, 5:
          try work.addDevice(device, publicKey: keys[step])
          #expect(work.directory.devices(of: user).count <= work.directory.deviceLimit(of: user))
        case 6: try work.addDevice(device, publicKey: keys[step], by: .administrator)
        case 7: try work.removeDevice(device)
        case 8: work.now += Int64(random.next() % 5_000_000)
        default:
          let scope: Settings.Scope = random.chance(0.5) ? .everybody : .user(user)
          try work.change(PushedSettings(), deviceLimit: Int64(random.next() % 7), for: scope, named: "x")
        }
      } catch {
        #expect(work.directory == before.directory)
        refusals[error.kind, default: 0] += 1
        switch error.kind {
        case .deviceLimit: #expect(draw < 6 && before.directory.devices(of: user).count >= before.directory.deviceLimit(of: user))
        case .request where error.text.hasPrefix("pool "): #expect(hasFullPool(before.directory))
        case .request: #expect(error.text.hasPrefix("there is "))
        }
      }
      let addresses = work.directory.leases.values.filter { $0.device != nil }.map(\.address)
      #expect(Set(addresses).count == addresses.count)
      for device in work.directory.devices.values {
        #expect(work.directory.addresses(of: device.id).count == work.directory.pools.count)
      }
    }
    #expect(refusals[.deviceLimit, default: 0] > 0 && refusals[.request, default: 0] > 0 && work.directory.inconsistencies.isEmpty)
  }

  private func hasFullPool(_ directory: Directory) -> Bool {
    directory.pools.values.contains { pool in
      let living = Set(directory.leases.values.filter { $0.device != nil && $0.pool == pool.id }.map(\.address))
      return pool.places.allSatisfy { living.contains(pool.address(at: $0)) }
    }
  }
}
