import GatewayCore
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

  @Test("the first person under a name gets it, and its groups that the provider decides on; no other person does")
  func binding() throws {
    var work = try sample()
    let alice = try person("1", "alice", ["staff": true, "admins": false, "missing": true])
    _ = try work.signIn(alice, creating: false)
    #expect(try groups(work, "alice") == ["local", "staff"])
    #expect(work.records.map(\.verb).suffix(3) == ["user identity", "group leave", "group join"])
    let (before, count) = (work.directory, work.changes.count)
    _ = try work.signIn(alice, creating: false)
    #expect(work.directory == before && work.changes.count == count)
    let other = try person("2", "alice")
    #expect(work.directory.refusal(of: other, creating: true, at: work.now) == .otherPerson)
    #expect(throws: GatewayError.self) { try work.signIn(other, creating: true) }
    // The same person after a marriage, also where the new name is another user's.
    #expect(try work.signIn(person("1", "bob", ["staff": false]), creating: true).name == name("alice"))
    #expect(try groups(work, "alice") == ["local"] && groups(work, "bob").isEmpty)
    try work.removeSubject(of: try name("alice"))
    #expect(try work.signIn(other, creating: false).subject == other.subject)
    #expect(work.directory.inconsistencies.isEmpty)
  }

  @Test("a locked user stays out, and one who does not exist, but where users are added") func refusals() throws {
    var work = try sample()
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
    #expect(work.directory.refusal(of: try person("5", "dave"), creating: false, at: work.now + 10) == .lockedUser)
  }

  @Test("the person is in the row") func row() throws {
    var work = try sample()
    let user = try work.signIn(try person("1", "alice"), creating: false)
    #expect(try User(id: user.id, values: user.values) == user && user.subject != nil)
    let bob = try #require(work.directory.user(named: try name("bob")))
    #expect(try User(id: bob.id, values: bob.values) == bob && bob.subject == nil)
  }
}
