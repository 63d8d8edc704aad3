import GatewayCore
import GatewayStore
import NetworkTypes
import TestKit
import TestSupport
import Testing

/// A change costs what it changes: neither the gateway that makes it nor one that follows copies or reads the other rows.
@Suite struct InPlaceTests {
  private final class Sample {
    let folder: TemporaryFolder
    let engine: GatewayStoreTests.CountingEngine
    let store: GatewayStore

    init() throws {
      folder = try TemporaryFolder()
      engine = GatewayStoreTests.CountingEngine(try SQLiteEngine("\(folder.path)/gateway.db", creating: true))
      store = try GatewayStore(engine, creating: true)
      try store.change(as: "root", at: 1) { work throws(GatewayError) in
        for i in 0..<300 { try work.addUser(try InPlaceTests.name("u\(i)")) }
        for i in 0..<100 {
          let user = try work.user(try InPlaceTests.name("u\(i)"))
          try work.change(PushedSettings(mtu: 1_400), for: .user(user.id), named: "x")
        }
      }
    }
  }

  private static func name(_ text: String) throws(GatewayError) -> GatewayName {
    guard let name = GatewayName(text) else { throw GatewayError("no name", help: nil) }
    return name
  }

  /// The places of a directory's tables in memory: they are others after a copy.
  private static func places(_ directory: Directory) -> [UInt] {
    [unsafeBitCast(directory.users, to: UInt.self), unsafeBitCast(directory.settings, to: UInt.self)]
  }

  @Test("a request changes the known rows where they are, and reads what is new alone") func changes() throws {
    let sample = try Sample()
    var places: [UInt] = []
    for i in 0..<100 {
      sample.engine.rows = 0
      try sample.store.change(as: "root", at: 2) { work throws(GatewayError) in
        let before = Self.places(work.directory)
        if !places.isEmpty { #expect(before == places) }
        try work.setLocked(true, Self.name("u\(i)"))
        try work.change(PushedSettings(mtu: 1_300), for: .user(try work.user(Self.name("u\(i)")).id), named: "x")
        places = Self.places(work.directory)
        #expect(places == before)
      }
      #expect(sample.engine.rows < 20 || i == 0)
    }
    #expect(try sample.store.load().directory.users.values.count(where: \.isLocked) == 100)
  }

  @Test("a gateway follows where its rows are, and reads what is new alone") func follows() throws {
    let sample = try Sample()
    var view = try sample.store.load()
    let places = Self.places(view.directory)
    for i in 0..<100 {
      try sample.store.change(as: "root", at: 2, reading: .users([Self.name("u\(i)")])) { work throws(GatewayError) in
        try work.change(PushedSettings(mtu: 1_300), for: .user(try work.user(Self.name("u\(i)")).id), named: "x")
      }
      sample.engine.rows = 0
      try sample.store.refresh(&view)
      #expect(sample.engine.rows < 5 && Self.places(view.directory) == places)
    }
    #expect(try view == sample.store.load())
  }

  @Test("what a refused request, or one that could not be stored, has changed is taken back") func refusals() throws {
    let sample = try Sample()
    func refused(_ body: (inout Administration) throws(GatewayError) -> Void) {
      #expect(throws: GatewayStore.Refusal.self) { try sample.store.change(as: "root", at: 2, body) }
    }
    func known() throws -> Directory { try sample.store.change(as: "root", at: 2) { work in work.directory } }
    let before = try known()
    refused { work throws(GatewayError) in
      try work.addUser(Self.name("new"), until: 9)
      try work.setLocked(true, Self.name("new"))
      try work.setLocked(true, Self.name("u1"))
      try work.removeUser(Self.name("u2"))
      try work.addUser(Self.name("u2"))
      try work.addUser(Self.name("u3"))
    }
    #expect(try known() == before)
    sample.engine.failsCommits = true
    refused { work throws(GatewayError) in try work.removeUser(Self.name("u4")) }
    sample.engine.failsCommits = false
    #expect(try known() == before)
    try sample.store.change(as: "root", at: 3) { work throws(GatewayError) in try work.removeUser(Self.name("u4")) }
    #expect(try known() == sample.store.load().directory && known() != before)
  }
}
