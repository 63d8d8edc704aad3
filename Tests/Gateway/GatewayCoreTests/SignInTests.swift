import GatewayCore
import KernelModel
import SeededRandom
import TestKit
import Testing

@Suite("People who sign in at an OpenID provider")
struct SignInTests {
  private func sample() throws -> Administration {
    var work = Administration()
    for user in ["alice", "bob"] { try work.addUser(try name(user)) }
    for group in ["staff", "admins", "local"] { try work.addGroup(try name(group)) }
    for group in ["admins", "local"] { try work.setMember(true, try name("alice"), of: try name(group)) }
    return work
  }

  private func person(_ subject: String, _ user: String, _ groups: [String: Bool] = [:]) throws -> SignedInPerson {
    let pairs = try groups.map { (try name($0.key), $0.value) }
    return SignedInPerson(subject: "https://login.example.com \(subject)", name: try name(user), groups: Dictionary(pairs) { a, _ in a })
  }

  private func groups(_ work: Administration, _ user: String) throws -> [String] {
    let id = try #require(work.directory.user(named: try name(user))).id
    return work.directory.groups(of: id).map(\.name.description)
  }

  @Test("a user is linked to one person, who is in the groups that the provider says; a name is no link") func binding() throws {
    var work = try sample()
    let alice = try person("1", "alice", ["staff": true, "admins": false, "missing": true])
    #expect(throws: GatewayError.self) { try work.signIn(alice, creating: true) }
    try work.link(try name("alice"), to: alice.subject)
    _ = try work.signIn(alice, creating: false)
    #expect(try groups(work, "alice") == ["local", "staff"])
    #expect(work.records.map(\.verb).suffix(3) == ["user link", "group leave", "group join"])
    let (before, count) = (work.directory, work.changes.count)
    _ = try work.signIn(alice, creating: false)
    try work.link(try name("alice"), to: alice.subject)
    #expect(work.directory == before && work.changes.count == count)
    let other = try person("2", "alice")
    #expect(work.directory.refusal(of: other, creating: true, at: work.now) == .otherPerson)
    #expect(throws: GatewayError.self) { try work.signIn(other, creating: true) }
    // A user has one person, and a person one user.
    let two = try #require(throws: GatewayError.self) { try work.link(try name("alice"), to: other.subject) }
    #expect(two.text == "user alice is linked to another person: https://login.example.com 1")
    #expect(two.help?.contains("alice --no-identity") == true)
    let taken = try #require(throws: GatewayError.self) { try work.link(try name("bob"), to: alice.subject) }
    #expect(taken.text == "this person is user alice")
    // The same person after a marriage, also where the new name is another user's.
    #expect(try work.signIn(person("1", "bob", ["staff": false]), creating: true).name == name("alice"))
    #expect(try groups(work, "alice") == ["local"] && groups(work, "bob").isEmpty)
    // Without a person, the next one under the name gets nothing.
    try work.removeSubject(of: try name("alice"))
    for stranger in [alice, other] { #expect(work.directory.refusal(of: stranger, creating: true, at: work.now) == .notLinked) }
    #expect(work.directory.inconsistencies.isEmpty)
  }

  @Test("whoever signs in under an existing name gets nothing of it, whatever the user has; a free name is a new user", arguments: 1...20)
  func strangers(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var work = try sample()
    let alice = try name("alice")
    if random.chance(0.5) { try work.setPassword("hash", of: alice, mustChange: false) }
    if random.chance(0.5) { try work.addDevice(try path("alice/laptop"), publicKey: try key(1)) }
    if random.chance(0.3) { try work.setLocked(true, alice) }
    if random.chance(0.3) { try work.link(alice, to: "pam roamward alice") }
    let (user, before) = (try work.user(alice), work.directory)
    for subject in ["https://login.example.com 666", "pam other alice", "https://login.example.com alice"] {
      let stranger = SignedInPerson(subject: subject, name: alice, groups: [try name("admins"): true])
      for creating in [true, false] {
        let refusal = work.directory.refusal(of: stranger, creating: creating, at: work.now)
        #expect(refusal == (user.subject == nil ? .notLinked : .otherPerson))
        #expect(throws: GatewayError.self) { try work.signIn(stranger, creating: creating) }
      }
    }
    #expect(work.directory == before)
    let new = try person("666", "carol")
    #expect(try work.signIn(new, creating: true).subject == new.subject)
    #expect(work.records.suffix(2).map(\.verb) == ["user add", "user link"])
  }

  @Test("a login links the user that it proves, in the transaction that binds the device, or changes nothing") func login() throws {
    var work = try sample()
    try work.setPassword("hash", of: try name("alice"), mustChange: false)
    let id = try work.user(try name("alice")).id
    func binding(_ subject: String, _ number: UInt64) throws -> Administration.Binding {
      Administration.Binding(
        user: id, device: try name("laptop"), publicKey: try key(number), factors: "openID,password", source: "192.0.2.7",
        person: try person(subject, "alice", ["staff": true]))
    }
    _ = try work.bind(try binding("1", 1))
    #expect(try work.user(try name("alice")).subject == "https://login.example.com 1" && groups(work, "alice").contains("staff"))
    let linked = try #require(work.records.first { $0.verb == "user link" })
    #expect(linked.detail == "https://login.example.com 1, by openID,password")
    let before = work.directory
    #expect(throws: GatewayError.self) { try work.bind(try binding("2", 2)) }
    #expect(work.directory == before)
  }

  @Test("the audit log has the command that links a refused person, as a shell reads it") func commands() throws {
    let name = try name("alice")
    for (subject, option) in [
      ("https://login.example.com 1", "--openid=1"), ("https://login.example.com a b", "--openid='a b'"),
      ("https://login.example.com $(x)'`", "--openid='$(x)'\\''`'"), ("pam roamward alice.smith", "--pam=alice.smith"),
    ] {
      let detail = SignInRefusal.notLinked.detail(SignedInPerson(subject: subject, name: name))
      let start = "user alice exists and is not linked to \(subject); only if this person is alice: "
      #expect(detail == start + "`roamward-gateway user set alice \(option)`")
    }
  }

  @Test("a locked user stays out, and one who does not exist, but where users are added") func refusals() throws {
    var work = try sample()
    try work.link(try name("bob"), to: try person("3", "bob").subject)
    try work.setLocked(true, try name("bob"))
    #expect(work.directory.refusal(of: try person("3", "bob"), creating: true, at: work.now) == .lockedUser)
    let carol = try person("4", "carol", ["staff": true])
    #expect(work.directory.refusal(of: carol, creating: false, at: work.now) == .unknownName)
    #expect(throws: GatewayError.self) { try work.signIn(carol, creating: false) }
    #expect(try work.signIn(carol, creating: true).name == name("carol"))
    #expect(try groups(work, "carol") == ["staff"])
    try work.setLocked(true, try name("carol"))
    #expect(work.directory.refusal(of: carol, creating: true, at: work.now) == .lockedUser)
    try work.addUser(try name("dave"), until: work.now + 10)
    try work.link(try name("dave"), to: try person("5", "dave").subject)
    #expect(work.directory.refusal(of: try person("5", "dave"), creating: false, at: work.now + 10) == .lockedUser)
  }

  @Test("the person is in the row") func row() throws {
    var work = try sample()
    try work.link(try name("alice"), to: try person("1", "alice").subject)
    let user = try work.signIn(try person("1", "alice"), creating: false)
    #expect(try User(id: user.id, values: user.values) == user && user.subject != nil)
    let bob = try #require(work.directory.user(named: try name("bob")))
    #expect(try User(id: bob.id, values: bob.values) == bob && bob.subject == nil)
  }
}
