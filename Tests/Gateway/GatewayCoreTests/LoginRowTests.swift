import GatewayCore
import TestKit
import Testing

@Suite struct LoginRowTests {
  private func sample() throws -> Administration {
    var work = Administration()
    try work.addPool("10.77.0.0/24")
    try work.addUser(try name("alice"))
    return work
  }

  private func binding(_ work: Administration, _ number: UInt64, token: Int64? = nil) throws -> Administration.Binding {
    let user = try #require(work.directory.user(named: try name("alice")))
    return Administration.Binding(
      user: user.id, token: token, device: try name("laptop"), publicKey: try key(number), factors: "password", source: "192.0.2.7")
  }

  @Test("a login adds a device; another one changes its key, and keeps its address") func rebinding() throws {
    var work = try sample()
    let first = try work.bind(try binding(work, 1))
    let address = work.directory.addresses(of: first.id)
    let second = try work.bind(try binding(work, 2))
    #expect(second.id == first.id && work.directory.addresses(of: second.id) == address && !address.isEmpty)
    #expect(work.directory.device(of: try key(1)) == nil && work.directory.login(of: second.id)?.factors == "password")
    #expect(work.records.map(\.verb).filter { $0 == "login" }.count == 2)
    // A key that an administrator gives was not logged in with.
    try work.setKey(try key(3), of: try path("alice/laptop"))
    #expect(work.directory.login(of: second.id) == nil)
    try work.removeUser(try name("alice"))
    #expect(work.directory.inconsistencies.isEmpty && work.directory.logins.isEmpty)
  }

  @Test("a token works as often as it says, until its end, for an active user") func tokens() throws {
    var work = try sample()
    let hash = [UInt8](repeating: 5, count: 32)
    let id = try work.addToken(hash, for: try name("alice"), uses: 2, until: work.now + 100)
    _ = try work.bind(try binding(work, 1, token: id))
    #expect(work.directory.token(withHash: hash)?.uses == 1)
    var late = work.later(by: 100)
    #expect(throws: GatewayError.self) { try late.bind(try binding(work, 2, token: id)) }
    var locked = work
    try locked.setLocked(true, try name("alice"))
    let before = locked.directory
    #expect(throws: GatewayError.self) { try locked.bind(try binding(work, 2, token: id)) }
    #expect(locked.directory == before)
    _ = try work.bind(try binding(work, 2, token: id))
    #expect(work.directory.tokens.isEmpty)
    #expect(throws: GatewayError.self) { try work.bind(try binding(work, 3, token: id)) }
  }

  @Test("a login that cannot end changes nothing: the token is not used") func refused() throws {
    var work = try sample()
    try work.addUser(try name("bob"))
    try work.addDevice(try path("bob/phone"), publicKey: try key(9))
    let id = try work.addToken([UInt8](repeating: 5, count: 32), for: try name("alice"), uses: 1, until: work.now + 100)
    let before = work.directory
    #expect(throws: GatewayError.self) { try work.bind(try binding(work, 9, token: id)) }
    #expect(work.directory == before)
  }

  @Test("a code is used once, and a new secret begins anew") func codes() throws {
    var work = try sample()
    let alice = try #require(work.directory.user(named: try name("alice")))
    #expect(throws: GatewayError.self) { try work.useCode(ofStep: 5, user: alice.id) }
    try work.setCodeSecret([UInt8](repeating: 9, count: 20), of: alice.name)
    try work.useCode(ofStep: 5, user: alice.id)
    for step: Int64 in [5, 4] { #expect(throws: GatewayError.self) { try work.useCode(ofStep: step, user: alice.id) } }
    try work.setCodeSecret([UInt8](repeating: 4, count: 20), of: alice.name)
    try work.useCode(ofStep: 4, user: alice.id)
    #expect(work.records.allSatisfy { !$0.detail.contains("9, 9, 9") })
  }

  @Test("a recovery code is used once, and all end with their secret; without one there are none") func recovery() throws {
    var work = try sample()
    let alice = try #require(work.directory.user(named: try name("alice")))
    let hashes = ["a", "b"].map { String(repeating: $0, count: 64) }
    #expect(throws: GatewayError.self) { try work.setRecovery(hashes, of: alice.name) }
    try work.setCodeSecret([UInt8](repeating: 9, count: 20), of: alice.name)
    try work.setRecovery(hashes, of: alice.name)
    try work.useRecovery(hashes[0], user: alice.id)
    #expect(throws: GatewayError.self) { try work.useRecovery(hashes[0], user: alice.id) }
    #expect(work.records.last?.detail == "a code was used, 1 left")
    #expect(work.directory.credential(of: alice.id)?.recoveryHashes == [hashes[1]])
    #expect(work.records.allSatisfy { !$0.detail.contains("aaa") })
    try work.setCodeSecret([UInt8](repeating: 4, count: 20), of: alice.name)
    #expect(throws: GatewayError.self) { try work.useRecovery(hashes[1], user: alice.id) }
    try work.setRecovery(hashes, of: alice.name)
    try work.setRecovery([], of: alice.name)
    #expect(throws: GatewayError.self) { try work.useRecovery(hashes[1], user: alice.id) }
    try work.setRecovery(hashes, of: alice.name)
    try work.setLocked(true, alice.name)
    #expect(throws: GatewayError.self) { try work.useRecovery(hashes[1], user: alice.id) }
  }
}
