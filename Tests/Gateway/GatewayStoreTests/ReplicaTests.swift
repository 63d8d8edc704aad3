import GatewayCore
import GatewayStore
import KernelModel
import NetworkTypes
import TestKit
import TestSupport
import Testing

/// The replica that a gateway keeps for the time without its store's server, and the notes of a pair's gateways in the store.
@Suite struct ReplicaTests {
  private func key(_ number: UInt8) throws -> WireGuardKey { try #require(WireGuardKey(bytes: [UInt8](repeating: number, count: 32))) }

  @Test("a replica has the last view without secrets, and the server replaces all of it when it is back")
  func replica() throws {
    let folder = try TemporaryFolder()
    let store = try GatewayStore(try SQLiteEngine("\(folder.path)/gateway.db", creating: true), creating: true)
    let first = StoreReplica("\(folder.path)/replica.db")
    #expect(try first.load() == nil)
    try store.change(as: "root", at: 100) { work throws(GatewayError) in
      try work.addPool(GatewayName("lan")!, IPPrefix("10.77.0.0/24")!, isTranslated: true)
      for user in ["alice", "bob"] { try work.addUser(GatewayName(user)!) }
      _ = try work.addDevice(DevicePath("alice/laptop")!, publicKey: WireGuardKey(bytes: [UInt8](repeating: 1, count: 32))!)
      try work.setPassword("$argon2id$secret", of: GatewayName("alice")!, mustChange: false)
    }
    var view = try store.load()
    #expect(!view.directory.credentials.isEmpty)
    try first.write(view, after: .everything)
    // Changes are written as they come.
    try store.change(as: "root", at: 101) { work throws(GatewayError) in
      try work.removeUser(GatewayName("bob")!)
      try work.setLocked(true, GatewayName("alice")!)
    }
    let update = try store.refresh(&view)
    try first.write(view, after: update)
    var kept = try #require(try StoreReplica("\(folder.path)/replica.db").load())
    #expect(kept.directory.credentials.isEmpty)
    #expect(kept.directory.users == view.directory.users && kept.directory.devices == view.directory.devices)
    #expect(kept.directory.leases == view.directory.leases && kept.directory.pools == view.directory.pools)
    #expect(try shell("stat -c %a \(folder.path)/replica.db") == "600\n")
    #expect((try? shell("grep -aq argon2id \(folder.path)/replica.db*")) == nil)
    #expect(try store.refresh(&kept) == .everything && kept == view)
    // A damaged file is made anew, and never keeps a gateway from what its store says.
    try shell("head -c 10000 /dev/urandom > \(folder.path)/replica.db; rm -f \(folder.path)/replica.db-*")
    let other = StoreReplica("\(folder.path)/replica.db")
    #expect(throws: StoreError.self) { try other.load() }
    try other.write(view, after: .rows([]))
    #expect(try other.load()?.directory.users == view.directory.users)
  }

  @Test(
    "what gateways note of themselves and of devices is read by the others, and an older handshake replaces nothing",
    arguments: GatewayStoreTests.Kind.all)
  func notes(kind: GatewayStoreTests.Kind) throws {
    let database = try GatewayStoreTests.Database(kind)
    let one = try GatewayStore(try database.open(), creating: true)
    let two = try GatewayStore(try database.open())
    for (id, time) in [("a", 1_000), ("b", 2_000), ("a", 3_000)] as [(String, Timestamp)] {
      try one.record(GatewayStore.Partner(id: id, publicKey: try key(1), host: "host-\(id)", seen: time))
    }
    #expect(try two.partners().map(\.seen) == [3_000, 2_000])
    // Nothing of it is a change of the store.
    #expect(try two.load().version == 0)
    func last(_ number: UInt8, _ place: Int, _ handshake: Timestamp, _ gateway: String) throws -> LastEndpoint {
      LastEndpoint(
        publicKey: try key(number), endpoint: try #require(Endpoint("192.0.2.\(place):1")), handshake: handshake, gateway: gateway)
    }
    try one.record([try last(1, 1, 100, "a"), try last(2, 2, 100, "a")])
    let first = try two.endpoints(after: 0)
    #expect(Set(first.endpoints) == [try last(1, 1, 100, "a"), try last(2, 2, 100, "a")])
    try two.record([try last(1, 9, 90, "b"), try last(2, 3, 110, "b")])
    let next = try one.endpoints(after: first.version)
    #expect(next.endpoints == [try last(2, 3, 110, "b")])
    #expect(try one.endpoints(after: next.version).endpoints.isEmpty)
    // After a month without a word, a gateway and an endpoint are forgotten.
    try one.record(GatewayStore.Partner(id: "a", publicKey: try key(1), host: "host-a", seen: 10_000_000))
    #expect(try two.partners().map(\.id) == ["a"] && two.endpoints(after: 0).endpoints.isEmpty)
  }
}
