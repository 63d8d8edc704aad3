import GatewayCore
import KernelModel
import NetworkTypes
import SeededRandom
import TestKit

/// A directory that random requests of few users, groups and devices change, while time passes.
struct RandomRequests {
  private var random: SplitMix64
  /// Whether some accounts have an end.
  private let withEnds: Bool
  var directory = Directory()
  var lastID: Int64 = 0
  var now: Timestamp = 1_000_000

  init(seed: UInt64, withEnds: Bool = false) {
    random = SplitMix64(seed: seed)
    self.withEnds = withEnds
  }

  private mutating func number(below limit: UInt64) -> UInt64 { random.next() % limit }

  /// One request at random; the changes of rows that it made, none where it was refused.
  mutating func request() throws -> [RowChange] {
    var work = Administration(directory, lastID: lastID, actor: "root", now: now)
    let user = try name("u\(number(below: 4))")
    let group = try name("g\(number(below: 2))")
    let device = DevicePath(user: user, device: try name("d\(number(below: 3))"))
    do {
      switch number(below: 17) {
      case 0: try work.addUser(user, until: withEnds && number(below: 2) == 0 ? now + 1 + Int64(number(below: 40_000_000)) : nil)
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
      case 10, 11:
        let binding = Administration.Binding(
          user: try work.user(user).id, device: device.device, publicKey: try key(number(below: 1_000)), factors: "token",
          source: "192.0.2.7")
        _ = try work.bind(binding)
      case 12: try work.endSession(of: device)
      case 13: _ = try work.endSessions(of: user)
      default: _ = try work.addDevice(device, publicKey: try key(number(below: 1_000)))
      }
    } catch { return [] }
    (directory, lastID, now) = (work.directory, work.lastID, now + Int64(number(below: 4_000_000)))
    return work.changes
  }
}
