import GatewayCore
import KernelModel
import NetworkTypes
import SeededRandom
import TestKit
import Testing

@Suite struct PushLedgerTests {
  /// Two users with two devices each, which have logged in but for bob's phone; alice is of the group.
  private func sample() throws -> Administration {
    var work = Administration()
    try work.addPool("10.77.0.0/24")
    for user in ["alice", "bob"] { try work.addUser(try name(user)) }
    try work.addGroup(try name("staff"))
    try work.setMember(true, try name("alice"), of: try name("staff"))
    for (i, text) in ["alice/laptop", "alice/phone", "bob/laptop"].enumerated() {
      let device = try path(text)
      let user = try #require(work.directory.user(named: device.user)).id
      let binding = Administration.Binding(
        user: user, device: device.device, publicKey: try key(UInt64(i)), factors: "password", source: "192.0.2.1")
      _ = try work.bind(binding)
    }
    try work.addDevice(try path("bob/phone"), publicKey: try key(3))
    return work
  }

  private func peers(_ handshakes: [Int64]) throws -> [WireGuardState.Peer] {
    try handshakes.enumerated().map { WireGuardState.Peer(publicKey: try key(UInt64($0.offset)), lastHandshake: $0.element) }
  }

  private func names(_ numbers: [Int64], _ directory: Directory) -> [String] {
    numbers.compactMap { directory.devices[$0] }.compactMap { directory.path(of: $0)?.description }
  }

  @Test("each new handshake of a device that has logged in is a reason, once") func handshakes() throws {
    let directory = try sample().directory
    var ledger = PushLedger()
    ledger.look(at: try peers([0, 50, 60, 70]), directory)
    ledger.look(at: try peers([0, 50, 61, 70]), directory)
    #expect(names(ledger.take(9), directory) == ["alice/phone", "bob/laptop"] && ledger.isEmpty)
    ledger.look(at: try peers([0, 50, 61, 70]), directory)
    #expect(ledger.isEmpty)
    ledger.look(at: try peers([80, 50, 61, 90]), directory)
    #expect(names(ledger.take(1), directory) == ["alice/laptop"])
    // A peer that was removed and added again has no handshake, and then one that may be older.
    ledger.look(at: [], directory)
    ledger.look(at: try peers([70]), directory)
    #expect(names(ledger.take(9), directory) == ["alice/laptop"])
  }

  @Test("a change reaches the devices whose settings it may change, if they were there within a day")
  func changes() throws {
    let work = try sample()
    func reached(_ body: (inout Administration) throws -> Void) throws -> [String] {
      var ledger = PushLedger()
      ledger.look(at: try peers([1000, 1000, 1000, 1000]), work.directory)
      _ = ledger.take(9)
      var next = work.later(by: 1)
      try body(&next)
      let reach = ChangeReach(ofSettings: next.changes, in: work.directory).union(ChangeReach(ofSettings: next.changes, in: next.directory))
      ledger.record(reach, next.directory, at: 2000)
      return names(ledger.take(9), next.directory)
    }
    let (alice, staff) = (try work.user(name("alice")).id, try work.group(name("staff")).id)
    let phone = try work.device(path("alice/phone")).id
    let mtu = PushedSettings(mtu: 1300)
    #expect(try reached { try $0.change(mtu, for: .everybody, named: "x") } == ["alice/laptop", "alice/phone", "bob/laptop"])
    #expect(try reached { try $0.change(mtu, for: .group(staff), named: "x") } == ["alice/laptop", "alice/phone"])
    #expect(try reached { try $0.change(mtu, for: .user(alice), named: "x") } == ["alice/laptop", "alice/phone"])
    #expect(try reached { try $0.change(mtu, for: .device(phone), named: "x") } == ["alice/phone"])
    #expect(try reached { try $0.setMember(true, name("bob"), of: name("staff")) } == ["bob/laptop"])
    #expect(try reached { try $0.setMember(false, name("alice"), of: name("staff")) } == ["alice/laptop", "alice/phone"])
    #expect(try reached { try $0.addPool("fd77::/64") }.count == 3)
    #expect(try reached { try $0.rename(path("bob/laptop"), to: name("notebook")) } == ["bob/notebook"])
    #expect(try reached { try $0.setLocked(true, name("bob")) }.isEmpty)
    #expect(try reached { try $0.removeDevice(path("bob/laptop")) }.isEmpty)
    var ledger = PushLedger()
    let login = try #require(work.directory.logins.values.map(\.proven).max())
    ledger.look(at: try peers([login.seconds + 1, 0, login.seconds + 90_000]), work.directory)
    _ = ledger.take(9)
    ledger.record(.everything, work.directory, at: login + 90_001)
    #expect(names(ledger.take(9), work.directory) == ["bob/laptop"])
  }

  @Test("a change reaches a device that has just logged in, before a look at the link has shown its handshake") func justLoggedIn() throws {
    let directory = try sample().directory
    let login = try #require(directory.logins.values.map(\.proven).max())
    var ledger = PushLedger()
    ledger.look(at: [], directory)
    ledger.record(.everything, directory, at: login + 5)
    #expect(names(ledger.take(9), directory) == ["alice/laptop", "alice/phone", "bob/laptop"])
    ledger.record(.everything, directory, at: login + 60)
    #expect(ledger.isEmpty)
  }

  @Test("a greeting is a reason once, of a device that comes back, or that was sent a change since the last sign of it")
  func greetings() throws {
    let work = try sample()
    let directory = work.directory
    let (laptop, phone) = (try work.device(path("alice/laptop")), try work.device(path("alice/phone")))
    let login = try #require(directory.logins.values.map(\.proven).max())
    var ledger = PushLedger()
    func greeted(_ device: Device, at seconds: Int64) -> [String] {
      ledger.greet(device, directory, at: login + seconds)
      return names(ledger.take(9), directory)
    }
    ledger.look(at: try peers([login.seconds + 100]), directory)
    _ = ledger.take(9)
    // In its session: it has what the handshake brought.
    #expect(greeted(laptop, at: 279).isEmpty)
    #expect(greeted(laptop, at: 280) == ["alice/laptop"] && greeted(laptop, at: 281).isEmpty)
    #expect(greeted(phone, at: 281) == ["alice/phone"])
    // Each look at the link makes it possible again; a handshake is a reason by itself.
    ledger.look(at: try peers([login.seconds + 282]), directory)
    #expect(names(ledger.take(9), directory) == ["alice/laptop"])
    #expect(greeted(laptop, at: 283).isEmpty && greeted(phone, at: 283) == ["alice/phone"])
    ledger.record(.devices([laptop.id]), directory, at: login + 284)
    #expect(names(ledger.take(9), directory) == ["alice/laptop"])
    #expect(greeted(laptop, at: 290) == ["alice/laptop"] && greeted(laptop, at: 291).isEmpty)
    ledger.record(.devices([laptop.id]), directory, at: login + 292)
    ledger.look(at: try peers([login.seconds + 293]), directory)
    #expect(names(ledger.take(9), directory) == ["alice/laptop"] && greeted(laptop, at: 294).isEmpty)
    // A stock client takes none.
    #expect(greeted(try work.device(path("bob/phone")), at: 300).isEmpty)
    func connected(_ device: Device, at seconds: Int64) throws -> Bool {
      let address = try #require(directory.addresses(of: device.id).first)
      let ended = EndedLogin(device: device.id, publicKey: device.publicKey, address: address, proven: login)
      return ledger.isConnected(ended, at: login + seconds)
    }
    #expect(try connected(laptop, at: 472) && !connected(laptop, at: 473))
    // By its greeting, and later by its login alone.
    #expect(greeted(phone, at: 309) == ["alice/phone"])
    #expect(try connected(phone, at: 310))
    ledger.look(at: [], directory)
    #expect(try connected(phone, at: 59) && !connected(phone, at: 60))
  }

  @Test("the logins that a change ends are those of sessions and devices, not those of locked users or of a newer key") func ends() throws {
    let work = try sample()
    func ended(_ work: Administration, _ body: (inout Administration) throws -> Void) throws -> [String] {
      var next = work.later(by: 1)
      try body(&next)
      let ended = EndedLogin.all(in: next.changes, from: work.directory, at: next.now)
      #expect(ended == DeviceChange(of: next.changes, from: work.directory, at: next.now)?.ended)
      for login in ended {
        #expect(work.directory.device(of: login.publicKey)?.id == login.device)
        #expect(work.directory.addresses(of: login.device).first == login.address)
      }
      return names(ended.map(\.device), work.directory)
    }
    var site = work
    site.setSite(try #require(Endpoint("192.0.2.1:51820")), publicKey: try key(99), link: try #require(InterfaceName("wg-gateway")))
    let phone = try work.device(path("alice/phone"))
    #expect(try ended(site) { try $0.endSession(of: path("alice/phone")) } == ["alice/phone"])
    #expect(try ended(site) { try $0.removeUser(name("alice")) } == ["alice/laptop", "alice/phone"])
    #expect(try ended(site) { try $0.removeDevice(path("bob/laptop")) } == ["bob/laptop"])
    #expect(try ended(site) { try $0.setLocked(true, name("bob")) }.isEmpty)
    let again = Administration.Binding(
      user: phone.user, device: try name("phone"), publicKey: try key(50), factors: "password", source: "192.0.2.1")
    #expect(try ended(site) { _ = try $0.bind(again) }.isEmpty)
    #expect(try ended(site) { try $0.removeDevice(path("bob/phone")) }.isEmpty)
    #expect(try ended(site) { try $0.change(PushedSettings(mtu: 1300), for: .everybody, named: "x") }.isEmpty)
    // Also where the change reaches everything.
    var ruled = site.later(by: 1)
    try ruled.addRule(
      AccessRule(
        id: 0, name: try name("office"), position: 0, source: .user(try site.user(name("alice")).id), destination: .everything,
        transport: .any, ports: [], isAllowing: true))
    #expect(try ended(ruled.later(by: 1)) { try $0.removeUser(name("alice")) } == ["alice/laptop", "alice/phone"])
    // A device that could not connect before is told nothing.
    var locked = site.later(by: 1)
    try locked.setLocked(true, name("bob"))
    #expect(try ended(locked) { try $0.removeUser(name("bob")) }.isEmpty)
    #expect(try ended(locked) { try $0.setLocked(false, name("bob")) }.isEmpty)
  }

  @Test("no change of a device's settings is missed", arguments: 1...20) func nothingMissed(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var work = try sample()
    for _ in 0..<200 {
      let old = work.directory
      var next = work.later(by: 1)
      let (user, group) = (try name(random.chance(0.5) ? "alice" : "bob"), try name(random.chance(0.7) ? "staff" : "guests"))
      let device = DevicePath(user: user, device: try name(random.chance(0.5) ? "laptop" : "phone"))
      let pushed = PushedSettings(mtu: 1300 + UInt32(random.next() % 9))
      do {
        switch random.next() % 9 {
        case 0: try next.change(pushed, for: .everybody, named: "x")
        case 1: try next.change(pushed, for: .group(next.group(group).id), named: "x")
        case 2: try next.change(pushed, for: .user(next.user(user).id), named: "x")
        case 3: try next.change(pushed, for: .device(next.device(device).id), named: "x")
        case 4: try next.clearSettings(for: random.chance(0.5) ? .everybody : .user(try next.user(user).id), named: "x")
        case 5, 6: try next.setMember(random.chance(0.5), user, of: group)
        case 7: try next.addGroup(group, precedence: Int64(random.next() % 200))
        default: try next.removeGroup(group)
        }
      } catch { continue }
      let reach = ChangeReach(ofSettings: next.changes, in: old).union(ChangeReach(ofSettings: next.changes, in: next.directory))
      work = next
      guard case .devices(let devices) = reach else { continue }
      for device in work.directory.devices.values where !devices.contains(device.id) {
        #expect(old.pushedSettings(of: device) == work.directory.pushedSettings(of: device))
      }
    }
  }
}
