import GatewayCore
import KernelModel
import NetworkTypes
import SeededRandom
import Testing

/// A gateway changes a few devices by themselves. That has to lead to what a comparison of everything would lead to.
@Suite struct ChangeReachTests {
  private struct World {
    var random: SplitMix64
    var directory = Directory()
    var lastID: Int64 = 0
    var now: Int64 = 1_000_000

    mutating func number(below limit: UInt64) -> UInt64 { random.next() % limit }

    /// One request at random; the changes of rows that it made, none where it was refused.
    mutating func request() throws -> [RowChange] {
      var work = Administration(directory, lastID: lastID, actor: "root", now: now)
      let user = try name("u\(number(below: 4))")
      let group = try name("g\(number(below: 2))")
      let device = DevicePath(user: user, device: try name("d\(number(below: 3))"))
      do {
        switch number(below: 14) {
        case 0: try work.addUser(user)
        case 1: try work.removeUser(user)
        case 2, 3: try work.setLocked(number(below: 2) == 0, user)
        case 4: try work.addGroup(group, precedence: 10)
        case 5, 6: try work.setMember(number(below: 3) > 0, user, of: group)
        case 7: try work.removeDevice(device)
        case 8:
          let id = try work.group(group).id
          let destination: AccessRule.Destination = number(below: 2) == 0 ? .devices(ofGroup: id) : .everything
          try work.addRule(
            AccessRule(
              id: 0, name: try name("r\(number(below: 9))"), position: 0, source: .group(id), destination: destination, isAllowing: true))
        case 9: try work.change(PushedSettings(mtu: 1300), for: .group(try work.group(group).id), named: "x")
        default: _ = try work.addDevice(device, publicKey: try key(number(below: 1_000)))
        }
      } catch { return [] }
      (directory, lastID, now) = (work.directory, work.lastID, now + Int64(number(below: 4_000_000)))
      return work.changes
    }
  }

  @Test("changes of a few devices lead to the same as a comparison of everything", arguments: 1...20) func parts(seed: UInt64) throws {
    var world = World(random: SplitMix64(seed: seed))
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

  private func replaced(_ table: GatewayTable, _ devices: Set<Int64>, _ old: Directory, _ new: Directory, at now: Int64) -> GatewayTable? {
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
