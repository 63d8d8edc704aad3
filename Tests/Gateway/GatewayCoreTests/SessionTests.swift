import GatewayCore
import KernelModel
import Metrics
import NetworkTypes
import TestKit
import Testing

@Suite("Sessions, and what a user is") struct SessionTests {
  private static let now: Timestamp = 1_000_000

  /// Alice's laptop has logged in, her phone has not; bob's laptop has.
  private func sample() throws -> Administration {
    var work = Administration(now: Self.now)
    try work.addPool("10.77.0.0/24")
    for user in ["alice", "bob"] { try work.addUser(try name(user)) }
    _ = try work.bind(try binding(work, "alice", 2))
    try work.addDevice(try path("alice/phone"), publicKey: try key(3))
    _ = try work.bind(try binding(work, "bob", 4))
    return work
  }

  private func binding(_ work: Administration, _ user: String, _ number: UInt64) throws -> Administration.Binding {
    let user = try #require(work.directory.user(named: try name(user)))
    return Administration.Binding(
      user: user.id, device: try name("laptop"), publicKey: try key(number), factors: "password", source: "192.0.2.7")
  }

  /// The keys and source addresses that the kernel should have.
  private func wanted(_ directory: Directory) throws -> (keys: Set<WireGuardKey>, sources: [String]) {
    let part = DevicePart(directory, Set(directory.devices.keys), link: "wg", at: Self.now)
    return (Set(part.peers.map(\.publicKey)), part.table.sources.keys.sorted().map(\.description))
  }

  @Test("a session that was ended: key and address are refused until the device logs in again; both stay its own") func end() throws {
    var work = try sample()
    let before = work.directory
    try work.endSession(of: try path("alice/laptop"))
    #expect(try wanted(work.directory) == ([try key(3), try key(4)], ["10.77.0.3", "10.77.0.4"]))
    #expect(work.directory.deviceList(at: Self.now).first == "alice/laptop  10.77.0.2  session ended")
    #expect(work.records.last == AuditEntry.Record(actor: "root", verb: "session end", object: "alice/laptop"))
    // The change reaches this device, and no other.
    let login = try #require(work.changes.last)
    let device = try #require(before.device(at: try path("alice/laptop")))
    for directory in [before, work.directory] { #expect(ChangeReach(of: [login], in: directory) == .devices([device.id])) }
    // Ended twice is ended once; a lock and its end change nothing of it.
    let count = work.records.count
    try work.endSession(of: try path("alice/laptop"))
    #expect(work.records.count == count)
    for isLocked in [true, false] { try work.setLocked(isLocked, try name("alice")) }
    #expect(try !wanted(work.directory).keys.contains(try key(2)))
    // The same key, or another one: a login is what counts.
    for number: UInt64 in [2, 5] {
      var again = work
      #expect(try again.bind(try binding(work, "alice", number)).id == device.id)
      #expect(try wanted(again.directory) == ([try key(number), try key(3), try key(4)], ["10.77.0.2", "10.77.0.3", "10.77.0.4"]))
      #expect(again.directory.inconsistencies.isEmpty)
    }
    // A key that an administrator gives needs no login.
    try work.setKey(try key(6), of: try path("alice/laptop"))
    #expect(try wanted(work.directory).keys.contains(try key(6)))
  }

  @Test("the end of a user's sessions names the devices that have none; one without any is refused") func endOfUser() throws {
    var work = try sample()
    #expect(try work.endSessions(of: try name("alice")) == [try path("alice/phone")])
    #expect(try wanted(work.directory) == ([try key(3), try key(4)], ["10.77.0.3", "10.77.0.4"]))
    try work.removeDevice(try path("alice/laptop"))
    let count = work.records.count
    #expect(throws: GatewayError.self) { try work.endSessions(of: try name("alice")) }
    #expect(throws: GatewayError.self) { try work.endSession(of: try path("alice/phone")) }
    #expect(throws: GatewayError.self) { try work.endSession(of: try path("carol/laptop")) }
    #expect(work.records.count == count)
  }

  @Test("a device whose session was ended is shown so, is no session of the metrics, and its packets are stopped there") func shown() throws
  {
    var work = try sample()
    try work.endSession(of: try path("alice/laptop"))
    var state = WireGuardState(engine: .kernel)
    state.peers = [.init(publicKey: try key(4), endpoint: Endpoint("198.51.100.2:4711"), lastHandshake: Self.now.seconds - 10)]
    let status = GatewayStatus(directory: work.directory, isServing: true, device: state, now: Self.now)
    #expect(
      status.sessionLines == [
        "alice/laptop  10.77.0.2  session ended  login 1970-01-12T13:46:40.000Z by password from 192.0.2.7  ended 1970-01-12T13:46:40.000Z",
        "bob/laptop  10.77.0.4  connected  from 198.51.100.2:4711  handshake 10 s ago  received 0  sent 0  "
          + "login 1970-01-12T13:46:40.000Z by password from 192.0.2.7",
      ])
    let text = MetricsFormat.openMetrics.text(GatewayMetrics.families(status, .init(), version: "1"))
    for line in [
      "roamward_gateway_sessions 1", "roamward_gateway_devices{state=\"session_ended\"} 1",
      "roamward_gateway_devices{state=\"connected\"} 1",
    ] { #expect(text.contains(line + "\n"), "\(line)") }
    try work.addRule(AccessRule(id: 0, name: try name("all"), position: 0, source: .everybody, destination: .everything, isAllowing: true))
    let device = try #require(work.directory.device(at: try path("alice/laptop")))
    let packet = PacketEvaluation(work.directory, device, to: try #require(IPAddress("10.77.0.1")), .icmp, port: nil, at: Self.now)
    #expect(packet.firstStop == .session)
  }

  @Test("no rule opens the gateway's port of its own datagrams, in the firewall and in an evaluation; it opens all others") func ownPort()
    throws
  {
    var work = try sample()
    try work.addRule(AccessRule(id: 0, name: try name("all"), position: 0, source: .everybody, destination: .everything, isAllowing: true))
    let device = try #require(work.directory.device(at: try path("bob/laptop")))
    func stop(_ transport: Transport, _ port: UInt16, _ path: HostPath) throws -> (PacketEvaluation.Place?, String?) {
      let packet = PacketEvaluation(
        work.directory, device, to: try #require(IPAddress("10.77.0.1")), transport, port: port, at: Self.now, path: { _ in path })
      return (packet.firstStop, packet.rule?.description)
    }
    #expect(try stop(.udp, 20_900, .local) == (.access, nil))
    #expect(try stop(.udp, 20_901, .local) == (nil, "all") && stop(.tcp, 20_900, .local) == (nil, "all"))
    #expect(try stop(.udp, 20_900, .leaves(link: "eth0", nextHop: nil)) == (nil, "all"))
    let lines = GatewayTable(work.directory, link: "wg-gateway", at: Self.now).transaction.split(separator: "\n").map {
      $0.drop { $0 == " " || $0 == "\t" }
    }
    let own = try #require(lines.firstIndex { $0 == "iifname \"wg-gateway\" udp dport 20900 drop" })
    #expect(lines[..<own].filter { $0.contains("dport 20900") }.count == 4 && lines[own + 1].hasSuffix("jump errors"))
    #expect(lines[own + 2] == "iifname \"wg-gateway\" ct direction original jump judge")
  }

  @Test("`user show` has everything that decides on a user's access, each setting with its origin") func report() throws {
    var work = try sample()
    for (group, precedence) in [("staff", 100), ("admins", 50)] { try work.addGroup(try name(group), precedence: Int64(precedence)) }
    for group in ["staff", "admins"] { try work.setMember(true, try name("alice"), of: try name(group)) }
    func scope(_ group: String) throws -> Settings.Scope { .group(try work.group(try name(group)).id) }
    let dns = try #require(IPAddress("10.20.0.53"))
    try work.change(PushedSettings(routes: [try #require(IPPrefix("10.20.0.0/16"))], mtu: 1380), for: .everybody, named: "everybody")
    try work.change(PushedSettings(dns: [dns]), for: try scope("staff"), named: "group staff")
    try work.change(PushedSettings(dns: [], keepalive: 25), for: try scope("admins"), named: "group admins")
    let phone = try #require(work.directory.device(at: try path("alice/phone")))
    try work.change(PushedSettings(mtu: 1300), for: .device(phone.id), named: "device alice/phone")
    try work.setPassword("hash", of: try name("alice"), mustChange: true)
    try work.setCodeSecret([UInt8](repeating: 9, count: 20), of: try name("alice"))
    let token = try work.addToken([UInt8](repeating: 5, count: 32), for: try name("alice"), uses: 2, until: Self.now + 100)
    for (rule, source) in [
      ("web", AccessRule.Source.group(try work.group(try name("staff")).id)), ("bobs", .user(try work.user(try name("bob")).id)),
    ] {
      try work.addRule(
        AccessRule(
          id: 0, name: try name(rule), position: 0, source: source, destination: .everything, transport: .tcp, ports: [], isAllowing: true))
    }
    try work.setLocked(true, try name("alice"), reason: "laptop stolen")
    #expect(
      work.directory.settingOrigins(of: phone).map(\.line) == [
        "mtu 1300  from device alice/phone", "dns none  from group admins", "keepalive 25  from group admins",
        "routes 10.20.0.0/16  from everybody",
      ])
    let record = try #require(work.records.last)
    let status = GatewayStatus(directory: work.directory, isServing: true, device: nil, now: Self.now)
    let alice = try work.user(try name("alice"))
    let report = UserReport(
      alice, status, lock: AuditEntry(sequence: 1, time: Self.now, record: record, hash: []),
      page: PageSettings(administrators: try name("admins")))
    #expect(
      report.lines == [
        "user  alice  locked since 1970-01-12T13:46:40.000Z by root: laptop stolen",
        "login  password (to be changed), one-time code, token \(token) (2 uses)", "group  admins  precedence 50",
        "group  staff  precedence 100", "page  administrator (group admins)", "device  alice/laptop  10.77.0.2  refused",
        "device  alice/phone  10.77.0.3  refused",
        "session  alice/laptop  login 1970-01-12T13:46:40.000Z by password from 192.0.2.7", "setting  dns none  from group admins",
        "setting  keepalive 25  from group admins", "setting  routes 10.20.0.0/16  from everybody", "setting  mtu 1380  from everybody",
        "setting  mtu 1300  from device alice/phone", "rule  allow web: group staff to everything tcp",
      ])
    let settings = PageSettings(administrators: try name("admins"), operators: try name("staff"))
    #expect(UserReport(alice, status, lock: nil, page: settings).lines.contains("page  administrator (group admins)"))
    let desk = PageSettings(operators: try name("staff"))
    #expect(UserReport(alice, status, lock: nil, page: desk).lines.contains("page  operator (group staff)"))
    let bob = UserReport(try work.user(try name("bob")), status, lock: nil, page: nil)
    #expect(bob.lines.prefix(2) == ["user  bob  active", "login  no password and no token"] && bob.role == (.user, nil))
  }
}
