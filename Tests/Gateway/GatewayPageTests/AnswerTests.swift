import GatewayCore
import GatewayPage
import JSON
import KernelModel
import NetworkTypes
import PageProtocol
import TestKit
import Testing

@Suite("Answers of the page") struct AnswerTests {
  @Test("an address is its device's user, as long as this one may connect") func askers() throws {
    var work = try sample()
    let alice = try #require(try work.directory.asker("10.77.0.2", operators: "admins"))
    #expect(alice.path == (try path("alice/laptop")) && alice.role == .administrator && alice.actor == "page alice/laptop")
    let bob = try #require(try work.directory.asker("fd77::4"))
    #expect(bob.path == (try path("bob/laptop")) && bob.role == .user)
    for other in ["10.77.0.1", "10.77.0.5", "192.0.2.7", "fd77::5"] { #expect(try work.directory.asker(other) == nil, "\(other)") }
    // Without the setting, or the group, there are no administrators.
    #expect(try work.directory.asker("10.77.0.2", administrators: nil)?.role == .user)
    #expect(try work.directory.asker("10.77.0.2", administrators: "others")?.role == .user)
    try work.setLocked(true, try name("bob"))
    #expect(try work.directory.asker("10.77.0.4") == nil)
    try work.removeDevice(try path("alice/laptop"))
    #expect(try work.directory.asker("10.77.0.2") == nil)
  }

  /// The least role of each question. Without a line here a new question does not compile.
  private static func role(of question: PageQuestion) -> (role: PageRole, isChange: Bool) {
    switch question {
    case .me, .link: (.user, false)
    case .addDevice, .removeDevice: (.user, true)
    case .devices, .groups, .rules, .audit, .access: (.operator, false)
    case .endSession: (.operator, true)
    case .invite, .lock, .unlock: (.administrator, true)
    }
  }

  static func questions() throws -> [PageQuestion] {
    [
      .me, .link, .addDevice(try name("a"), publicKey: nil), .removeDevice(try name("a")), .devices(search: ""), .groups(search: ""),
      .rules,
      .audit, .access(user: try name("bob"), destination: try address("10.0.0.1"), transport: .icmp, port: nil),
      .endSession(try path("bob/laptop")), .invite(try name("bob")), .lock(try name("bob"), reason: ""), .unlock(try name("bob")),
    ]
  }

  @Test("each role may ask what is its own, and what lesser roles may") func roles() throws {
    let directory = try sample().directory
    let askers: [(PageRole, PageAsker?)] = [
      (.user, try directory.asker("10.77.0.4")), (.operator, try directory.asker("10.77.0.2", administrators: nil, operators: "admins")),
      (.administrator, try directory.asker("10.77.0.2")),
    ]
    for (role, asker) in askers {
      let asker = try #require(asker)
      #expect(asker.role == role)
      for question in try Self.questions() {
        let expected = Self.role(of: question)
        #expect(asker.may(question) == (expected.role <= role), "\(role): \(question)")
        #expect(question.isChange == expected.isChange, "\(question)")
      }
    }
    // Of two roles, a person has the greater one.
    #expect(try directory.asker("10.77.0.2", administrators: "admins", operators: "admins")?.role == .administrator)
  }

  @Test("a user adds and removes devices of this user alone, up to the limit; the audit log has the device that asked") func changes()
    throws
  {
    let before = try sample()
    let bob = try #require(try before.directory.asker("10.77.0.4"))
    var work = Administration(before.directory, lastID: before.lastID, actor: bob.actor, now: now)
    try work.change(PushedSettings(), deviceLimit: 2, for: .everybody, named: "everybody")
    let file = try work.addOwnDevice(try name("phone"), try key(9), by: bob)
    #expect(file.text(privateKey: "KEY").contains("PrivateKey = KEY\nAddress = 10.77.0.5/32, fd77::5/128\n"))
    #expect(work.directory.device(at: try path("bob/phone"))?.user == bob.user.id)
    #expect(throws: GatewayError.self) { try work.addOwnDevice(try name("tablet"), try key(10), by: bob) }
    // Alice's phone has that name, and is not Bob's.
    try work.removeOwnDevice(try name("phone"), by: bob)
    #expect(try work.directory.device(at: path("alice/phone")) != nil && work.directory.device(at: path("bob/phone")) == nil)
    #expect(throws: GatewayError.self) { try work.removeOwnDevice(try name("phone"), by: bob) }
    #expect(work.records.map(\.actor) == Array(repeating: "page bob/laptop", count: 3))
    #expect(work.records.map(\.verb) == ["settings set", "device add", "device remove"])
    try work.change(PushedSettings(), deviceLimit: 9, for: .everybody, named: "everybody")
    // A key of another device is refused, and so is everything once the device or the user is gone.
    #expect(throws: GatewayError.self) { try work.addOwnDevice(try name("copy"), try key(2), by: bob) }
    var locked = work
    try locked.setLocked(true, try name("bob"))
    #expect(throws: GatewayError.self) { try locked.addOwnDevice(try name("a"), try key(9), by: bob) }
    // A session that was ended: neither the device's next question nor a change that is on its way.
    var ended = work
    let login = Administration.Binding(
      user: bob.user.id, device: try name("laptop"), publicKey: try key(11), factors: "password", source: "192.0.2.7")
    _ = try ended.bind(login)
    #expect(try ended.directory.asker("10.77.0.4") != nil)
    try ended.endSession(of: try path("bob/laptop"))
    #expect(try ended.directory.asker("10.77.0.4") == nil)
    #expect(throws: GatewayError.self) { try ended.addOwnDevice(try name("a"), try key(9), by: bob) }
    try work.removeDevice(try path("bob/laptop"))
    #expect(throws: GatewayError.self) { try work.removeOwnDevice(try name("laptop"), by: bob) }
    #expect(throws: GatewayError.self) { try work.addOwnDevice(try name("a"), try key(9), by: bob) }
  }

  @Test("an operator ends a session, as long as this is one in the transaction too") func operators() throws {
    var work = try sample()
    let bob = try #require(work.directory.user(named: try name("bob")))
    _ = try work.bind(
      .init(user: bob.id, device: try name("laptop"), publicKey: try key(11), factors: "password", source: "192.0.2.7"))
    let settings = PageSettings(operators: try name("admins"))
    let alice = try #require(try work.directory.asker("10.77.0.2", administrators: nil, operators: "admins"))
    let target = try path("bob/laptop")
    for other in [nil, PageSettings(), PageSettings(administrators: try name("others"))] {
      #expect(throws: GatewayError.self) { try work.endSession(of: target, by: alice, other) }
    }
    #expect(throws: GatewayError.self) { try work.endSession(of: try path("alice/phone"), by: alice, settings) }
    var former = work
    try former.setMember(false, try name("alice"), of: try name("admins"))
    #expect(throws: GatewayError.self) { try former.endSession(of: target, by: alice, settings) }
    try work.endSession(of: target, by: alice, settings)
    #expect(try work.directory.asker("10.77.0.4") == nil)
  }

  @Test("an administrator locks and unlocks others, with the reason in the audit log, as long as this is one in the transaction too")
  func locks() throws {
    let before = try sample()
    let settings = PageSettings(administrators: try name("admins"), operators: try name("admins"))
    let alice = try #require(try before.directory.asker("10.77.0.2"))
    var work = Administration(before.directory, lastID: before.lastID, actor: alice.actor, now: now)
    for other in [nil, PageSettings(), PageSettings(operators: try name("admins"))] {
      #expect(throws: GatewayError.self) { try work.setLocked(true, try name("bob"), by: alice, other) }
    }
    #expect(throws: GatewayError.self) { try work.setLocked(true, try name("alice"), by: alice, settings) }
    #expect(throws: GatewayError.self) { try work.setLocked(true, try name("carol"), by: alice, settings) }
    #expect(work.changes.isEmpty && work.records.isEmpty)
    try work.setLocked(true, try name("bob"), reason: "laptop stolen", by: alice, settings)
    #expect(try work.directory.asker("10.77.0.4") == nil)
    try work.setLocked(false, try name("bob"), by: alice, settings)
    #expect(try work.directory.asker("10.77.0.4") != nil)
    #expect(
      work.records.map { "\($0.actor): \($0.verb) \($0.object) \($0.detail)" } == [
        "page alice/laptop: user lock bob laptop stolen", "page alice/laptop: user unlock bob ",
      ])
    // A file that declares the user leaves locks to the page, as to commands.
    try work.declare([name("alice"), name("bob")])
    try work.setLocked(true, try name("bob"), by: alice, settings)
    #expect(try work.user(name("bob")).isLocked)
  }

  @Test("an administrator invites for an hour and one login; nobody who could not log in, and nobody whom the files would have to name")
  func invitations() throws {
    let before = try sample()
    let settings = PageSettings(administrators: try name("admins"))
    let alice = try #require(try before.directory.asker("10.77.0.2"))
    var work = Administration(before.directory, lastID: before.lastID, actor: alice.actor, now: now)
    func hash(_ number: Int) -> [UInt8] { [UInt8(number & 255), UInt8(number >> 8)] + [UInt8](repeating: 3, count: 30) }
    for other in [nil, PageSettings(), PageSettings(operators: try name("admins"))] {
      #expect(throws: GatewayError.self) { try work.invite(try name("bob"), withHash: hash(0), by: alice, other) }
    }
    #expect(work.changes.isEmpty)
    let bob = try work.invite(try name("bob"), withHash: hash(1), by: alice, settings)
    #expect(!bob.isNew && bob.until == now + .seconds(3600))
    let carol = try work.invite(try name("carol"), withHash: hash(2), by: alice, settings)
    #expect(try carol.isNew && work.directory.user(named: try name("carol")) != nil)
    #expect(work.records.map(\.verb) == ["token create", "user add", "token create"])
    #expect(work.records.allSatisfy { $0.actor == "page alice/laptop" })
    let token = try #require(work.directory.token(withHash: hash(1)))
    #expect(token.uses == 1 && token.isValid(at: now + .seconds(3599)) && !token.isValid(at: now + .seconds(3600)))
    // It logs in once.
    let binding = Administration.Binding(
      user: token.user, token: token.id, device: try name("new"), publicKey: try key(12), factors: "token", source: "192.0.2.7")
    var used = work
    _ = try used.bind(binding)
    #expect(throws: GatewayError.self) { try used.bind(binding) }

    // Of a user, and of all; tokens that have ended make room.
    var full = work
    for number in 3...6 { _ = try full.invite(try name("bob"), withHash: hash(number), by: alice, settings) }
    #expect(throws: GatewayError.self) { try full.invite(try name("bob"), withHash: hash(7), by: alice, settings) }
    full.now = now + .seconds(3600)
    _ = try full.invite(try name("bob"), withHash: hash(8), by: alice, settings)
    let id = try full.user(bob.user).id
    #expect(full.directory.tokens.values.count { $0.user == id } == 1)
    var many = work
    for number in 3...Invitation.limit { _ = try many.invite(try name("u\(number)"), withHash: hash(number), by: alice, settings) }
    #expect(throws: GatewayError.self) { try many.invite(try name("last"), withHash: hash(200), by: alice, settings) }

    // A locked user, and one whose account has ended.
    try work.setLocked(true, try name("bob"))
    try work.addUser(try name("dora"), until: now + .seconds(10))
    work.now = now + .seconds(10)
    for user in ["bob", "dora"] {
      #expect(throws: GatewayError.self) { try work.invite(try name(user), withHash: hash(9), by: alice, settings) }
    }
    // The files declare users: one of them is invited, and no other is added.
    try work.declare([name("alice"), name("bob"), name("eve")])
    #expect(try !work.invite(try name("eve"), withHash: hash(10), by: alice, settings).isNew)
    let refusal = #expect(throws: GatewayError.self) { try work.invite(try name("mallory"), withHash: hash(11), by: alice, settings) }
    #expect(refusal?.text == "there is no user mallory, and gateway.yaml:1 declares the users")
    #expect(try work.directory.user(named: name("mallory")) == nil)
  }

  @Test("a person's own link names the user, unless the person signs in at an OpenID provider alone") func ownLinks() throws {
    var work = try sample()
    func name(of user: String) throws -> String? {
      work.directory.nameInLink(of: try work.user(try GatewayPageTests.name(user)))?.description
    }
    #expect(try name(of: "bob") == "bob")
    try work.link(try GatewayPageTests.name("bob"), to: "pam roamward bob")
    #expect(try name(of: "bob") == "bob")
    try work.link(try GatewayPageTests.name("alice"), to: "https://login.example 4711")
    #expect(try name(of: "alice") == nil)
    try work.setPassword("hash", of: try GatewayPageTests.name("alice"), mustChange: false)
    #expect(try name(of: "alice") == "alice")
  }

  @Test("the lists have what their readers may see") func lists() throws {
    let directory = try sample().directory
    let bob = try #require(try directory.asker("10.77.0.4"))
    var state = WireGuardState(engine: .kernel)
    state.peers = [
      .init(
        publicKey: try key(4), endpoint: Endpoint("198.51.100.2:4711"), lastHandshake: now.seconds - 10, receivedBytes: 7, sentBytes: .max),
      .init(publicKey: try key(3), lastHandshake: now.seconds - 1000),
    ]
    let status = GatewayStatus(directory: directory, isServing: true, device: state, now: now)
    let mine = JSON(encoding: status.page(of: bob, nil))
    #expect(mine["administrator"]?.bool == false && mine["devices"]?.array?.count == 1)
    #expect(!mine.text().contains("alice"))
    let own = try #require(mine["devices"]?.array?.first)
    #expect(mine["gateway"]?.string == "main" && mine["title"] == .null && mine["routes"]?.array == ["10.77.0.0/24", "fd77::/64"])
    #expect(status.page(of: bob, PageSettings(names: ["a.example"])).title == "a.example")
    #expect(status.page(of: bob, PageSettings(names: ["a.example"], title: "Example Corp")).title == "Example Corp")
    #expect(own["state"]?.string == "connected" && own["transport"]?.string == "udp" && own["since"] == .null)
    #expect(own["endpoint"]?.string == "198.51.100.2:4711" && own["received"]?.integer == 7)
    // Through the relay: its address is one of the gateway's machine.
    var relayed = status
    relayed.device?.peers[0].endpoint = Endpoint("127.83.0.1:4000")
    relayed.connectedSince = [try key(4): now]
    let carried = try #require(relayed.page(of: bob, nil).devices.first)
    #expect(carried.endpoint == nil && carried.transport == "tcp" && carried.since == now)
    let all = JSON(encoding: status.report())
    #expect(all["devices"]?.array?.compactMap { $0["state"]?.string } == ["never seen", "away", "connected"])
    #expect(all["connected"]?.integer == 1 && all["more"]?.integer == 0)
    #expect(status.report(search: "E/PH").devices.map(\.device) == ["phone"])
    #expect(
      status.report(isConnected: true).devices.map(\.user) == ["bob"] && status.report(search: "alice", isConnected: true).devices == [])
    let short = status.report(within: 700)
    #expect(short.devices.count == 2 && short.more == 1)
    let groups = JSON(encoding: directory.page(at: now, within: 10_000))
    let found = directory.page(search: "BO", at: now, within: 10_000)
    #expect(found.users.map(\.user) == ["bob"] && found.groups.isEmpty)
    #expect(groups["groups"]?.array?.first?["users"]?.array?.compactMap(\.string) == ["alice"])
    #expect(groups["users"]?.array?.compactMap { $0["devices"]?.integer } == [2, 1])
    // No answer has a key.
    for answer in [mine, all, groups] { #expect(!answer.text().contains(base64(try key(4).bytes)) && !answer.text().contains("ublic")) }
  }

  @Test("access is answered as `explain` does") func access() throws {
    var work = try sample()
    try work.addRule(
      AccessRule(
        id: 0, name: try name("web"), position: 0, source: .group(try work.group(try name("admins")).id),
        destination: .prefixes([try #require(IPPrefix("10.20.0.0/16"))]), transport: .tcp, ports: [try #require(PortRange("443"))],
        isAllowing: true))
    func ask(_ user: String, within limit: Int = .max) throws -> AccessReport {
      work.directory.page(
        of: AccessQuestion(
          user: try work.user(try name(user)).id, destination: try address("10.20.1.2"), transport: .tcp, port: 443), within: limit)
    }
    #expect(try ask("alice").allowed && !ask("bob").allowed)
    let text = "allow web: group admins to 10.20.0.0/16 tcp 443"
    func rules(_ user: String) throws -> [String] {
      try ask(user).rules.map { "\($0.place) \($0.rule): \($0.text): \($0.mismatch ?? "decides")" }
    }
    #expect(try rules("alice") == ["1 web: \(text): decides"] && rules("bob") == ["1 web: \(text): for other users"])
    #expect(try ask("bob", within: 10).rules.isEmpty && ask("bob", within: 10).more == 1)
  }

  @Test("questions are limited by the second, changes by the minute, for each user") func limits() {
    var limits = PageLimits()
    func admitted(_ user: Int64, _ isChange: Bool, at time: Timestamp, of count: Int) -> Int {
      (0..<count).count { _ in limits.admit(user: user, isChange: isChange, at: time) }
    }
    #expect(admitted(1, false, at: 600, of: 100) == PageLimits.questionsInSecond && admitted(2, false, at: 600, of: 5) == 5)
    #expect((601..<611).map { admitted(1, true, at: Timestamp(seconds: $0), of: 2) }.reduce(0, +) == PageLimits.changesInMinute)
    #expect(admitted(1, false, at: 611, of: 1) == 1 && admitted(1, true, at: 660, of: 1) == 1)
  }

  @Test("settings are read as they were written; another line is an error") func settings() throws {
    for settings in [
      PageSettings(),
      PageSettings(
        port: 8080, administrators: try name("admins"), operators: try name("desk"), names: ["gateway.corp.example"],
        title: "Example Corp, Ltd"),
    ] { #expect(PageSettings(settings.description) == settings) }
    for text in [
      "port 0", "port", "administrators a b", "operators", "color green", "devices -1", "devices 3", "name a b", "title", "title \u{7}",
      "title \(String(repeating: "a", count: 65))",
    ] {
      #expect(PageSettings(text) == nil, "\(text)")
    }
    #expect(PageSettings("port 80\ndevices 10\n") == PageSettings())
    #expect(PageSettings(names: ["a.example"]).hosts(of: ["10.77.0.1"]) == ["10.77.0.1", "a.example"])
    #expect(PageSettings(port: 8080).hosts(of: ["[fd77::1]"]) == ["[fd77::1]:8080"])
  }
}
