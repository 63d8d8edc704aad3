import GatewayCore
import KernelModel
import NetworkTypes
import SeededRandom
import TestKit
import Testing

/// A gateway changes a few devices by themselves. That has to lead to what a comparison of everything would lead to.
@Suite struct ChangeReachTests {
  @Test("changes of a few devices lead to the same as a comparison of everything", arguments: 1...20) func parts(seed: UInt64) throws {
    var world = RandomRequests(seed: seed)
    var setUp = Administration()
    try setUp.addPool("10.77.0.0/24")
    try setUp.addPool("fd77::/64")
    world.directory = setUp.directory
    world.lastID = setUp.lastID
    var table = GatewayTable(world.directory, link: "wg", at: 0)
    var peers: Set<WireGuardPeer> = []
    var (parts, wholes) = (0, 0)
    for _ in 0..<400 {
      let old = world.directory
      let changes = try world.request()
      let now = world.now
      let reach = ChangeReach(of: changes, in: old).union(ChangeReach(of: changes, in: world.directory))
      let whole = GatewayTable(world.directory, link: "wg", at: now)
      let all = DevicePart(world.directory, Set(world.directory.devices.keys), link: "wg", at: now)
      if case .devices(let devices) = reach, let changed = replaced(table, devices, old, world.directory, at: now) {
        parts += 1
        table = changed
        let before = DevicePart(old, devices, link: "wg", at: now)
        peers.subtract(before.peers)
        peers.formUnion(DevicePart(world.directory, devices, link: "wg", at: now).peers)
      } else {
        wholes += 1
        table = whole
        peers = Set(all.peers)
      }
      #expect(table.sources == whole.sources)
      #expect(table.groups == whole.groups)
      #expect(whole.profiles.allSatisfy { table.profiles[$0.key] == $0.value })
      #expect(peers == Set(all.peers))
    }
    #expect(parts > 50 && wholes > 5)
  }

  private func replaced(_ table: GatewayTable, _ devices: Set<Int64>, _ old: Directory, _ new: Directory, at now: Timestamp)
    -> GatewayTable?
  {
    var table = table
    let before = DevicePart(old, devices, link: "wg", at: now).table
    return table.replace(before, with: DevicePart(new, devices, link: "wg", at: now).table).map { _ in table }
  }

  @Test("settings of a user reach no device, a lock reaches those of the user, a rule everything") func reaches() throws {
    var work = Administration()
    try work.addPool("10.77.0.0/24")
    try work.addUser(try name("alice"))
    let device = try work.addDevice(try path("alice/laptop"), publicKey: try key(1))
    func reach(_ body: (inout Administration) throws -> Void) throws -> ChangeReach {
      var next = work.later(by: 1)
      try body(&next)
      return ChangeReach(of: next.changes, in: work.directory).union(ChangeReach(of: next.changes, in: next.directory))
    }
    let user = try #require(work.directory.user(named: try name("alice"))).id
    #expect(try reach { try $0.change(PushedSettings(mtu: 1300), for: .user(user), named: "x") } == .devices([]))
    #expect(try reach { try $0.change(PushedSettings(mtu: 1300), for: .everybody, named: "x") } == .everything)
    #expect(try reach { try $0.setLocked(true, name("alice")) } == .devices([device.id]))
    #expect(try reach { try $0.removeDevice(path("alice/laptop")) } == .devices([device.id]))
    #expect(try reach { try $0.addPool("fd77::/64") } == .everything)
  }
}
