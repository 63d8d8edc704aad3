import GatewayCore
import KernelModel
import KeyMemory
import NetworkTypes
import TestKit
import Testing

/// A running gateway computes its desired state once, and then follows. That has to lead to what a computation from all devices would lead
/// to, at the cost of what changed.
@Suite struct FollowedStateTests {
  private let secret: SecretKey

  init() throws { secret = try #require(SecretKey(bytes: [UInt8](repeating: 5, count: 32))) }

  private func sample(devices: Int) throws -> Administration {
    var work = Administration()
    let site = try #require(WireGuardKey(bytes: [UInt8](repeating: 9, count: 32)))
    work.setSite(try #require(Endpoint("192.0.2.1:51820")), publicKey: site, link: try #require(InterfaceName("wg-gateway")))
    try work.addPool("10.64.0.0/16")
    for i in 0..<devices {
      try work.addUser(try name("u\(i)"))
      try work.addDevice(try path("u\(i)/laptop"), publicKey: try key(UInt64(i)))
    }
    return work
  }

  private func change(_ old: Directory, _ changes: [RowChange], _ new: Directory, at now: Timestamp) -> DeviceChange? {
    var change = DeviceChange(of: changes, from: old, at: now)
    change?.complete(new, at: now)
    return change
  }

  @Test("the followed state is the computed one, after each of 400 random requests", arguments: 1...20) func same(seed: UInt64) throws {
    var requests = RandomRequests(seed: seed, withEnds: true)
    let begin = try sample(devices: 3)
    (requests.directory, requests.lastID) = (begin.directory, begin.lastID)
    var followed = FollowedState()
    for i in 0..<400 {
      let (old, changes) = (requests.directory, try requests.request())
      let now = requests.now
      if !changes.isEmpty { followed.follow(change(old, changes, requests.directory, at: now), at: now) }
      // Changes come between the looks at the kernel.
      guard i % 3 == 0 else { continue }
      let whole = GatewayState(requests.directory, privateKey: secret, engine: .userspace, at: now)
      #expect(followed.state(of: requests.directory, privateKey: secret, engine: .userspace, at: now) == whole)
    }
    #expect((2...100).contains(followed.computations))
  }

  @Test("settings, locks and devices of users take one computation, and evaluate the devices that they reach alone") func counts() throws {
    var work = try sample(devices: 300)
    var followed = FollowedState()
    func look() -> GatewayState? { followed.state(of: work.directory, privateKey: secret, engine: .userspace, at: work.now) }
    #expect(look()?.device.peers.count == 300)
    var evaluated = 0
    func make(_ body: (inout Administration) throws -> Void) throws {
      var next = work.later(by: 1)
      try body(&next)
      let made = try #require(change(work.directory, next.changes, next.directory, at: next.now))
      evaluated += [made.before, try #require(made.after)].reduce(0) { $0 + $1.table.holders.values.reduce(0, +) }
      followed.follow(made, at: next.now)
      work = next
    }
    for i in 0..<200 {
      let user = try name("u\(i)")
      try make { try $0.change(PushedSettings(mtu: 1_300), for: .user(try $0.user(user).id), named: "x") }
    }
    #expect(evaluated == 0)
    for i in 0..<100 { try make { try $0.setLocked(true, name("u\(i)")) } }
    #expect(evaluated == 200)
    try make { _ = try $0.addDevice(path("u0/phone"), publicKey: key(5_000)) }
    try make { try $0.removeUser(name("u299")) }
    #expect(evaluated == 202)
    #expect(look()?.device.peers.count == 199)
    #expect(followed.computations == 1)
    try make { try $0.addPool("fd77::/64") }
    #expect(look()?.table.sources.count == 398 && followed.computations == 2)
  }

  @Test("the end of an account is in force at its time, also of one that was changed meanwhile") func ends() throws {
    var work = try sample(devices: 2)
    let end = work.now + 100
    var followed = FollowedState()
    func peers(at now: Timestamp) -> Int? {
      followed.state(of: work.directory, privateKey: secret, engine: .userspace, at: now)?.device.peers.count
    }
    #expect(peers(at: work.now) == 2)
    var next = work.later(by: 1)
    try next.addUser(name("guest"), until: end)
    _ = try next.addDevice(path("guest/laptop"), publicKey: key(7))
    followed.follow(change(work.directory, next.changes, next.directory, at: next.now), at: next.now)
    work = next
    #expect(peers(at: end - 1) == 3 && followed.computations == 1)
    #expect(peers(at: end) == 2 && peers(at: end + 1) == 2 && followed.computations == 2)
    // A clock that was set back.
    #expect(peers(at: end - 1) == 3 && followed.computations == 3)
  }

  @Test("a change is made in place: nothing of the other devices is copied") func inPlace() throws {
    var work = try sample(devices: 300)
    var followed = FollowedState()
    /// The places of the peers and of the addresses in memory.
    func places() throws -> [UInt] {
      let found = followed.state(of: work.directory, privateKey: secret, engine: .userspace, at: work.now)
      let state = try #require(found)
      return [unsafeBitCast(state.device.peers, to: UInt.self), unsafeBitCast(state.table.sources, to: UInt.self)]
    }
    let before = try places()
    for i in 0..<100 {
      var next = work.later(by: 1)
      try next.setLocked(i % 2 == 0, name("u\(i / 2)"))
      followed.follow(change(work.directory, next.changes, next.directory, at: next.now), at: next.now)
      work = next
    }
    #expect(try places() == before && followed.computations == 1)
  }
}
