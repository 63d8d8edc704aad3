import GatewayCore
import GatewayHost
import GatewayPostgreSQL
import GatewayStore
import KernelModel
import NetworkTypes
import SeededRandom
import TestKit
import TestSupport
import Testing

/// The suite of every engine: it is given a way to open the same empty database as often as wanted.
@Suite struct GatewayStoreTests {
  /// An engine of the suite, by name.
  enum Kind: String, CaseIterable, Sendable {
    case sqlite, postgresql
    /// PostgreSQL by way of `roamward-gateway-store`.
    case process

    /// The engines of this machine.
    static let all = PostgreSQLServer.shared == nil ? [Kind.sqlite] : allCases
  }

  /// An empty database, which may be opened several times.
  struct Database {
    let kind: Kind
    let folder: TemporaryFolder
    let target: String?

    init(_ kind: Kind) throws {
      folder = try TemporaryFolder()
      self.kind = kind
      target = kind != .sqlite ? try PostgreSQLServer.shared?.database() : nil
    }

    func open() throws -> any StoreEngine {
      if let target { return kind == .process ? StoreProcess(target) : try PostgreSQLEngine(target) }
      return try SQLiteEngine("\(folder.path)/gateway.db", creating: true)
    }
  }

  private func name(_ text: String) throws -> GatewayName { try #require(GatewayName(text)) }
  private func path(_ text: String) throws -> DevicePath { try #require(DevicePath(text)) }
  private func key(_ number: UInt64) throws -> WireGuardKey {
    try #require(WireGuardKey(bytes: (0..<32).map { UInt8(truncatingIfNeeded: $0 < 8 ? number >> (8 * $0) : 7) }))
  }

  @Test("a change waits for one whose connection hangs in the middle of it, and is made", arguments: Kind.all.filter { $0 != .sqlite })
  func hangingChange(kind: Kind) throws {
    let database = try Database(kind)
    let store = try GatewayStore(try database.open(), creating: true)
    let hanging = try database.open()
    try hanging.beginWriting()
    try store.change(as: "root", at: 100) { work throws(GatewayError) in try work.addUser(GatewayName("alice")!) }
    #expect(throws: StoreError.self) { try hanging.commit() }
  }

  @Test("rows that were removed and are put back are read by each follower, wherever it was", arguments: Kind.all)
  func backAgain(kind: Kind) throws {
    let database = try Database(kind)
    let store = try GatewayStore(try database.open(), creating: true)
    let (alice, staff) = (try name("alice"), try name("staff"))
    func change(_ body: (inout Administration) throws(GatewayError) -> Void) throws { try store.change(as: "root", at: 100, body) }
    try change { work throws(GatewayError) in
      try work.addUser(alice)
      try work.addGroup(staff)
      try work.setMember(true, alice, of: staff)
    }
    let followers = try (0..<3).map { _ in try GatewayStore(try database.open()) }
    var views = try followers.map { try $0.load() }
    let before = views[0].directory
    var reversal = Reversal([])
    try change { work throws(GatewayError) in
      try work.removeGroup(staff)
      try work.removeUser(alice)
      reversal = Reversal(work)
    }
    try followers[1].refresh(&views[1])
    #expect(views[1].directory.users.isEmpty)
    try change { work throws(GatewayError) in try reversal.carryOut(in: &work) }
    try followers[2].refresh(&views[2])
    try followers[1].refresh(&views[1])
    #expect(views[1].directory == before && views[2].directory == before)
    // A second time, and within one change.
    try change { work throws(GatewayError) in
      try work.removeUser(alice)
      reversal = Reversal(work)
      try reversal.carryOut(in: &work)
    }
    try change { work throws(GatewayError) in try work.removeUser(alice) }
    for i in followers.indices {
      try followers[i].refresh(&views[i])
      #expect(views[i].directory.users.isEmpty)
    }
  }

  @Test("requests are read back as they were made, by every reader, and a refused one leaves nothing", arguments: Kind.all)
  func roundTrip(kind: Kind) throws {
    let database = try Database(kind)
    let store = try GatewayStore(try database.open(), creating: true)
    let reader = try GatewayStore(try database.open())
    var view = try reader.load()
    #expect(view.directory == Directory())
    try store.change(as: "root", at: 100) { work throws(GatewayError) in
      try work.addPool(GatewayName("lan")!, IPPrefix("10.77.0.0/24")!, isTranslated: true)
      try work.addUser(GatewayName("alice")!)
    }
    let alice = try path("alice/laptop")
    let key = try key(1)
    try store.change(as: "root", at: 101) { work throws(GatewayError) in _ = try work.addDevice(alice, publicKey: key) }
    #expect(try !reader.refresh(&view).isEmpty)
    #expect(try view == store.load())
    #expect(view.directory.lease(of: IPAddress("10.77.0.2")!)?.holder == alice)
    #expect(try reader.refresh(&view).isEmpty)
    #expect(throws: GatewayStore.Refusal.self) {
      try store.change(as: "root", at: 102) { work throws(GatewayError) in
        try work.addUser(GatewayName("bob")!)
        try work.addUser(GatewayName("bob")!)
      }
    }
    #expect(try reader.refresh(&view).isEmpty)
    try store.change(as: "root", at: 103) { work throws(GatewayError) in try work.removeUser(GatewayName("alice")!) }
    #expect(try !reader.refresh(&view).isEmpty)
    #expect(view.directory.users.isEmpty && view.directory.devices.isEmpty)
    #expect(try store.verifyAudit().broken == nil)
    #expect(try store.newestEntries(2).map(\.record.verb) == ["device add", "user remove"])
    #expect(try store.problems() == [])
  }

  /// The statement of SQL that takes back one of a migration; `nil`: it goes with the column that it fills.
  private func inverse(of statement: String) throws -> String? {
    let words = statement.split(separator: " ")
    return switch words.prefix(2) {
    case ["CREATE", "TABLE"]: "DROP TABLE \(words[2])"
    case ["CREATE", "INDEX"]: "DROP INDEX \(words[2])"
    case ["ALTER", "TABLE"]: "ALTER TABLE \(words[2]) DROP COLUMN \(words[5])"
    case ["UPDATE", "pools"]: nil
    default: throw UnknownStatement(text: statement)
    }
  }

  private struct UnknownStatement: Error { let text: String }

  @Test("a store from before sign-ins by OpenID and several gateways is brought up to date, and keeps what it has", arguments: Kind.all)
  func migration(kind: Kind) throws {
    let database = try Database(kind)
    let engine = try database.open()
    let (own, phone) = (try key(1), try key(2))
    try GatewayStore(engine, creating: true).change(as: "root", at: 100) { work throws(GatewayError) in
      work.setSite(Endpoint("192.0.2.1:51820")!, publicKey: own, link: InterfaceName("wg-gateway")!)
      try work.addPool(GatewayName("lan")!, IPPrefix("10.77.0.0/24")!, isTranslated: false)
      for user in ["alice", "bob"] { try work.addUser(GatewayName(user)!) }
      let bob = try work.user(GatewayName("bob")!).id
      _ = try work.bind(.init(user: bob, device: GatewayName("laptop")!, publicKey: phone, factors: "password", source: "192.0.2.7"))
    }
    for statement in try Migrations.all.dropFirst(2).joined().reversed().compactMap(inverse) { try engine.run(statement, []) }
    try engine.run("UPDATE meta SET value = 2 WHERE name = 'schema'", [])
    let store = try GatewayStore(try database.open())
    let person = SignedInPerson(subject: "https://login.example.com 1", name: try name("alice"))
    try store.change(as: "login", at: 101) { work throws(GatewayError) in
      try work.link(person.name, to: person.subject)
      _ = try work.signIn(person, creating: false)
    }
    let directory = try GatewayStore(try database.open(), viewpoint: own).load().directory
    #expect(directory.site?.name.description == "main" && directory.pools.values.map(\.site) == [directory.site?.id])
    let users = directory.users.values
    #expect(users.compactMap(\.subject) == [person.subject] && users.count == 2)
    #expect(directory.device(of: phone).map { directory.isActive($0, at: 102) } == true && directory.logins.count == 1)
  }

  @Test("after any requests a follower, a new reader and the requests themselves agree", arguments: Kind.all, 1...5)
  func random(kind: Kind, seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let database = try Database(kind)
    let store = try GatewayStore(try database.open(), creating: true)
    let follower = try GatewayStore(try database.open())
    var view = try follower.load()
    var now: Timestamp = 1_000_000
    for _ in 0..<60 {
      // Tombstones are swept meanwhile.
      now += Int64(random.next() % 200_000)
      let numbers = (0..<4).map { _ in random.next() }
      var expected: Directory?
      do {
        try store.change(as: "root", at: now) { work throws(GatewayError) in
          let user = GatewayName("u\(numbers[1] % 3)")!
          let device = DevicePath(user: user, device: GatewayName("d\(numbers[2] % 3)")!)
          switch numbers[0] % 9 {
          case 0: try work.addUser(user)
          case 1: try work.addPool(GatewayName("p\(numbers[2] % 2)")!, IPPrefix("10.\(numbers[3] % 3).0.0/28")!, isTranslated: false)
          case 2: try work.removePool(GatewayName("p\(numbers[2] % 2)")!)
          case 3: try work.removeUser(user)
          case 4: try work.removeDevice(device)
          case 5: try work.setLocked(numbers[2] % 2 == 0, user)
          default: try work.addDevice(device, publicKey: WireGuardKey(bytes: [UInt8](repeating: UInt8(numbers[3] % 200), count: 32))!)
          }
          expected = work.directory
        }
      } catch {
        guard case GatewayStore.Refusal.request = error else { throw error }
        expected = nil
      }
      if let expected { #expect(try store.load().directory == expected) }
      if random.chance(0.4) {
        try follower.refresh(&view)
        #expect(try view == store.load())
      }
    }
    try follower.refresh(&view)
    #expect(try view == store.load())
    #expect(try store.problems() == [])
  }

  @Test("whatever a text has in it, the audit log is as it was written", arguments: Kind.all) func texts(kind: Kind) throws {
    let database = try Database(kind)
    let store = try GatewayStore(try database.open(), creating: true)
    var random = SplitMix64(seed: 4)
    let pieces = ["bob", "\0", "\n", "\u{1b}[2J", "e\u{301}", "\u{202e}", "'", "\\", "𝒳", "\u{85}", " lock alice", "\u{fffd}"]
    for number in 0..<60 {
      let text = (0..<Int.random(in: 0..<6, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
      try store.record(
        [AuditEntry.Record(actor: text, verb: "login refused", object: text, detail: text)], at: Timestamp(seconds: Int64(number)))
    }
    #expect(try store.verifyAudit().broken == nil)
    #expect(try store.problems() == [])
  }

  @Test("a changed row of the audit log is found and named; so is a broken reference", arguments: Kind.all)
  func tampering(kind: Kind) throws {
    let database = try Database(kind)
    let engine = try database.open()
    let store = try GatewayStore(engine, creating: true)
    for i in 1...4 {
      try store.change(as: "root", at: Timestamp(seconds: Int64(i))) { work throws(GatewayError) in try work.addUser(GatewayName("u\(i)")!)
      }
    }
    try engine.run("UPDATE audit SET actor = $1 WHERE sequence = 3", [.text("nobody")])
    let found = try store.verifyAudit()
    #expect((found.intact, found.broken) == (2, 3))
    try engine.run("INSERT INTO members (id, version, user_id, group_id) VALUES (77, 1, 1, 5)", [])
    #expect(
      try store.problems() == [
        "membership 77 names a user or a group that does not exist",
        "audit log: entry 3 is not as it was written, or one before it is missing (2 are intact)",
      ])
  }

  @Test("a store of a later version is refused, and nothing in it is changed", arguments: Kind.all)
  func laterVersion(kind: Kind) throws {
    let database = try Database(kind)
    let engine = try database.open()
    _ = try GatewayStore(engine, creating: true)
    try engine.run("UPDATE meta SET value = 99 WHERE name = 'schema'", [])
    let error = try #require(throws: StoreError.self) { try GatewayStore(engine) }
    #expect(error.text == "the store was made by a later version of roamward-gateway")
    #expect(try engine.run("SELECT value FROM meta WHERE name = 'schema'", []) == [[.integer(99)]])
  }

  @Test("a copy to another engine and back is the same store, and a store that is not empty is not copied over", arguments: Kind.all)
  func copy(kind: Kind) throws {
    let folder = try TemporaryFolder()
    let (first, back) = (try GatewayStore(try file("first", in: folder), creating: true), try file("back", in: folder))
    var random = SplitMix64(seed: 5)
    try first.change(as: "root", at: 1) { work throws(GatewayError) in
      try work.addPool(GatewayName("lan")!, IPPrefix("10.77.0.0/16")!, isTranslated: true)
      try work.addUser(GatewayName("alice")!)
    }
    // More than a page and a part.
    for i in 0..<1_200 {
      let bytes = (0..<32).map { _ in UInt8(truncatingIfNeeded: random.next()) }
      try first.change(as: "root", at: 2) { work throws(GatewayError) in
        _ = try work.addDevice(DevicePath("alice/d\(i)")!, publicKey: WireGuardKey(bytes: bytes)!, by: .administrator)
      }
    }
    try first.change(as: "root", at: 3) { work throws(GatewayError) in try work.removeDevice(DevicePath("alice/d7")!) }
    let database = try Database(kind)
    let other = try GatewayStore(try database.open(), creating: true)
    #expect(try first.copy(to: other) > 3_600)
    #expect(try other.load() == first.load())
    #expect(try other.verifyAudit().head == first.verifyAudit().head)
    #expect(try other.problems() == [])
    let again = try GatewayStore(back, creating: true)
    try other.copy(to: again)
    #expect(try again.load() == first.load())
    for table in ["tombstones", "audit", "leases", "meta"] {
      let text = "SELECT * FROM \(table) ORDER BY 1"
      #expect(try back.run(text, []) == file("first", in: folder).run(text, []), "\(table)")
    }
    let error = try #require(throws: StoreError.self) { try first.copy(to: other) }
    #expect(error.text == "the store to copy into is not empty")
    #expect(try other.load() == first.load())
    // The next change of the copy has a number of its own.
    try other.change(as: "root", at: 4) { work throws(GatewayError) in try work.addUser(GatewayName("bob")!) }
    #expect(try other.problems() == [])
  }

  private func file(_ name: String, in folder: TemporaryFolder) throws -> SQLiteEngine {
    try SQLiteEngine("\(folder.path)/\(name).db", creating: true)
  }

  @Test("a change reads only what others have changed since the last one") func readsChanges() throws {
    let folder = try TemporaryFolder()
    let engine = CountingEngine(try file("gateway", in: folder))
    let store = try GatewayStore(engine, creating: true)
    let other = try GatewayStore(try file("gateway", in: folder))
    try store.change(as: "root", at: 1) { work throws(GatewayError) in
      for i in 0..<1_000 { try work.addUser(GatewayName("u\(i)")!) }
    }
    // Its own rows are read once.
    try store.change(as: "root", at: 2) { work throws(GatewayError) in try work.setLocked(true, GatewayName("u1")!) }
    #expect(engine.rows > 1_000)
    for i in 2..<50 {
      engine.rows = 0
      if i % 2 == 0 { try other.change(as: "root", at: 3) { work throws(GatewayError) in try work.addUser(GatewayName("o\(i)")!) } }
      // A refused request changes nothing of what is known.
      _ = try? store.change(as: "root", at: 3) { work throws(GatewayError) in
        try work.addUser(GatewayName("gone\(i)")!)
        try work.addUser(GatewayName("u1")!)
      }
      try store.change(as: "root", at: 3) { work throws(GatewayError) in try work.setLocked(true, GatewayName("u\(i)")!) }
      #expect(engine.rows < 30)
    }
    #expect(try store.load().directory == other.load().directory)
    #expect(try store.load().directory.user(named: GatewayName("gone2")!) == nil)
    #expect(try store.load().directory.user(named: GatewayName("o2")!) != nil)
  }

  /// Counts the rows that are read.
  final class CountingEngine: StoreEngine {
    let engine: any StoreEngine
    var rows = 0
    var failsCommits = false

    init(_ engine: any StoreEngine) { self.engine = engine }
    func beginWriting() throws(StoreError) { try engine.beginWriting() }
    func beginReading() throws(StoreError) { try engine.beginReading() }
    func commit() throws(StoreError) {
      if failsCommits { throw StoreError("the disk is full") }
      try engine.commit()
    }
    func rollBack() { engine.rollBack() }
    func announce() throws(StoreError) { try engine.announce() }
    func problems() throws(StoreError) -> [String] { try engine.problems() }
    func run(_ statement: String, _ values: [SQLValue]) throws(StoreError) -> [[SQLValue]] {
      let result = try engine.run(statement, values)
      rows += result.count
      return result
    }
  }

  @Test("a backup is a store of its own with the same contents") func backup() throws {
    let place = try TemporaryFolder()
    let store = try GatewayStore(try SQLiteEngine("\(place.path)/gateway.db", creating: true), creating: true)
    try store.change(as: "root", at: 1) { work throws(GatewayError) in try work.addUser(GatewayName("alice")!) }
    try store.backUp(to: "\(place.path)/copy.db")
    #expect(try GatewayStore(try SQLiteEngine("\(place.path)/copy.db")).load() == store.load())
    #expect(throws: StoreError.self) { try store.backUp(to: "\(place.path)/copy.db") }
  }

  @Test("a copy that a killed move has left is made again, and one that is used or has more is not", arguments: Kind.all)
  func unusedCopy(kind: Kind) throws {
    let (place, database) = (try TemporaryFolder(), try Database(kind))
    let store = try GatewayStore(try SQLiteEngine("\(place.path)/gateway.db", creating: true), creating: true)
    let name = GatewayName("alice")!
    try store.change(as: "root", at: 1) { work throws(GatewayError) in try work.addUser(name) }
    let target = try GatewayStore(try database.open(), creating: true)
    func moveAndDie() { _ = try? store.move(to: target) { () throws(StoreError) in throw StoreError("killed") } }
    moveAndDie()
    #expect(try !store.wasMoved() && target.load() == store.load())
    try store.change(as: "root", at: 2) { work throws(GatewayError) in try work.setLocked(true, name) }
    moveAndDie()
    #expect(try target.load() == store.load())
    // It was in use, or has a change of its own.
    try target.change(as: "root", at: 3) { work throws(GatewayError) in try work.setLocked(false, name) }
    #expect(throws: StoreError.self) { try store.move(to: target) { () throws(StoreError) in } }
    let other = try GatewayStore(try SQLiteEngine("\(place.path)/other.db", creating: true), creating: true)
    _ = try? store.move(to: other) { () throws(StoreError) in throw StoreError("killed") }
    try other.endArrival()
    #expect(throws: StoreError.self) { try store.move(to: other) { () throws(StoreError) in } }
    #expect(try !store.wasMoved())
  }

  @Test("a missing store, and a file that is none, are reported with the remedy") func missing() throws {
    let place = try TemporaryFolder()
    let missing = try #require(throws: StoreError.self) { try SQLiteEngine("\(place.path)/gateway.db") }
    #expect(missing.help?.contains("init") == true)
    try shell("head -c 10000 /dev/urandom > \(place.path)/noise.db")
    let noise = try #require(throws: StoreError.self) { try SQLiteEngine("\(place.path)/noise.db") }
    #expect(noise.text.hasSuffix("file is not a database"))
  }
}
