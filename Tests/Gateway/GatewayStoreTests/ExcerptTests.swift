import GatewayCore
import GatewayStore
import KernelModel
import NetworkTypes
import SeededRandom
import TestKit
import TestSupport
import Testing

/// A command reads the rows that it needs. That has to lead to what it would do with all rows.
@Suite struct ExcerptTests {
  /// A request with the rows that its command reads.
  private struct Request {
    let excerpt: Excerpt
    let body: (inout Administration) throws(GatewayError) -> Void
  }

  // swift-format-ignore: NeverForceUnwrap
  private static func name(_ text: String) -> GatewayName { GatewayName(text)! }

  /// Users with devices, groups, settings of each kind, rules and tokens.
  // swift-format-ignore: NeverForceUnwrap
  private func fill(_ store: GatewayStore, _ random: inout SplitMix64) throws {
    let numbers = (0..<200).map { _ in random.next() }
    try store.change(as: "root", at: 1_000_000) { work throws(GatewayError) in
      try work.addPool(Self.name("lan"), IPPrefix("10.77.0.0/24")!, isTranslated: true)
      try work.addPool(Self.name("six"), IPPrefix("fd77::/64")!, isTranslated: true)
      for i in 0..<2 { try work.addGroup(Self.name("g\(i)"), precedence: Int64(numbers[i] % 3)) }
      var i = 2
      func next() -> UInt64 {
        i += 1
        return numbers[i % numbers.count]
      }
      for user in 0..<6 {
        let name = Self.name("u\(user)")
        try work.addUser(name)
        for group in 0..<2 where next() % 2 == 0 { try work.setMember(true, name, of: Self.name("g\(group)")) }
        for device in 0..<Int(next() % 3) {
          let path = DevicePath(user: name, device: Self.name("d\(device)"))
          let id = try work.user(name).id
          let key = WireGuardKey(bytes: [UInt8](repeating: UInt8(10 * user + device + 1), count: 32))!
          let binding = Administration.Binding(user: id, device: path.device, publicKey: key, factors: "password", source: "192.0.2.1")
          if next() % 2 == 0 { _ = try work.bind(binding) } else { try work.addDevice(path, publicKey: key) }
          if next() % 2 == 0 { try work.change(PushedSettings(mtu: 1400), for: .device(try work.device(path).id), named: "x") }
        }
        if next() % 2 == 0 { try work.change(PushedSettings(mtu: 1300), for: .user(try work.user(name).id), named: "x") }
        if next() % 2 == 0 { try work.setPassword("$argon2id$", of: name, mustChange: false) }
        if next() % 2 == 0 { try work.addToken([UInt8](repeating: UInt8(user), count: 32), for: name, uses: 2, until: 2_000_000) }
        if next() % 2 == 0 {
          let rule = AccessRule(
            id: 0, name: Self.name("r\(user)"), position: 0, source: .user(try work.user(name).id),
            destination: .devices(ofGroup: try work.group(Self.name("g0")).id), isAllowing: true)
          try work.addRule(rule)
        }
      }
      try work.change(PushedSettings(keepalive: 20), for: .everybody, named: "x")
      try work.change(PushedSettings(keepalive: 21), for: .group(try work.group(Self.name("g1")).id), named: "x")
    }
  }

  /// Each request of the commands that read an excerpt.
  private func requests(_ random: inout SplitMix64) -> [Request] {
    let user = Self.name("u\(random.next() % 7)")
    let other = Self.name("u\(random.next() % 7)")
    let group = Self.name("g\(random.next() % 3)")
    let path = DevicePath(user: user, device: Self.name("d\(random.next() % 2)"))
    let (one, pushed) = (Excerpt.users([user]), PushedSettings(mtu: 1350))
    func request(_ excerpt: Excerpt, _ body: @escaping (inout Administration) throws(GatewayError) -> Void) -> Request {
      Request(excerpt: excerpt, body: body)
    }
    return [
      request(one) { work throws(GatewayError) in try work.addUser(user) },
      request(one) { work throws(GatewayError) in try work.removeUser(user) },
      request(one) { work throws(GatewayError) in try work.setLocked(true, user) },
      request(.users([])) { work throws(GatewayError) in try work.addGroup(group) },
      request(.users([user, other])) { work throws(GatewayError) in
        for name in [user, other] { try work.setMember(true, name, of: group) }
      },
      request(one) { work throws(GatewayError) in try work.setMember(false, user, of: group) },
      request(one) { work throws(GatewayError) in try work.removePassword(of: user) },
      request(one) { work throws(GatewayError) in try work.setPassword("$new", of: user, mustChange: true) },
      request(one) { work throws(GatewayError) in try work.setCodeSecret([1, 2], of: user) },
      request(one) { work throws(GatewayError) in
        try work.addToken([UInt8](repeating: 99, count: 32), for: user, uses: 1, until: 3_000_000)
      },
      request(one) { work throws(GatewayError) in try work.removeDevice(path) },
      request(one) { work throws(GatewayError) in try work.endSession(of: path) },
      request(one) { work throws(GatewayError) in _ = try work.endSessions(of: user) },
      request(one) { work throws(GatewayError) in try work.rename(path, to: Self.name("d1")) },
      request(.users([])) { work throws(GatewayError) in try work.change(pushed, for: .everybody, named: "x") },
      request(.users([])) { work throws(GatewayError) in try work.change(pushed, for: .group(work.group(group).id), named: "x") },
      request(one) { work throws(GatewayError) in try work.change(pushed, for: .user(work.user(user).id), named: "x") },
      request(one) { work throws(GatewayError) in try work.change(pushed, for: .device(work.device(path).id), named: "x") },
      request(one) { work throws(GatewayError) in try work.clearSettings(for: .user(try work.user(user).id), named: "x") },
      request(.users([])) { work throws(GatewayError) in try work.removeRule(user == other ? Self.name("r0") : Self.name("r1")) },
      request(one) { work throws(GatewayError) in
        let source = AccessRule.Source.user(try work.user(user).id)
        let rule = AccessRule(id: 0, name: Self.name("new"), position: 0, source: source, destination: .everything, isAllowing: false)
        try work.addRule(rule, before: Self.name("r1"))
      },
    ]
  }

  /// The outcome of a request: its changes and its entries. Throws its refusal.
  private func outcome(_ request: Request, _ work: inout Administration) throws(GatewayError) -> [String] {
    try request.body(&work)
    return work.changes.map { "\($0)" } + work.records.map { "\($0)" }
  }

  @Test("each request does the same with its excerpt as with all rows", arguments: GatewayStoreTests.Kind.all, 1...4)
  func requests(kind: GatewayStoreTests.Kind, seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let database = try GatewayStoreTests.Database(kind)
    let store = try GatewayStore(try database.open(), creating: true)
    try fill(store, &random)
    var made = 0
    for _ in 0..<3 {
      for request in requests(&random) {
        func run(_ excerpt: Excerpt) throws -> [String] {
          var seen: [String] = []
          do {
            try store.change(as: "root", at: 1_100_000, reading: excerpt) { work throws(GatewayError) -> Void in
              seen = try outcome(request, &work)
              made += 1
              // Nothing is written: the next one finds the same rows.
              throw GatewayError("undone", help: "")
            }
          } catch {
            guard case .request(let refusal) = error else { throw error }
            return seen + ["\(refusal)"]
          }
          return seen
        }
        #expect(try run(request.excerpt) == run(.everything))
      }
    }
    #expect(made > 30)
  }

  @Test(
    "an excerpt has the settings, the file and the access of a device as all rows have them", arguments: GatewayStoreTests.Kind.all, 1...4)
  func questions(kind: GatewayStoreTests.Kind, seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let database = try GatewayStoreTests.Database(kind)
    let store = try GatewayStore(try database.open(), creating: true)
    try fill(store, &random)
    let all = try store.load().directory
    let targets = all.leases.values.map(\.address).sorted() + ["192.0.2.1"].compactMap { IPAddress($0) }
    for device in all.devices.values {
      let path = try #require(all.path(of: device))
      let target = random.pick(targets)
      let part = try store.load(.users([path.user], addresses: [target]))
      #expect(!part.isWhole && part.users.count <= all.users.count)
      #expect(part.device(at: path) == device && part.addresses(of: device.id) == all.addresses(of: device.id))
      #expect(part.pushedSettings(of: device) == all.pushedSettings(of: device))
      for target in targets {
        let part = try store.load(.users([path.user], addresses: [target]))
        let found = PacketEvaluation(part, device, to: target, .icmp, port: nil, at: 5)
        #expect(found == PacketEvaluation(all, device, to: target, .icmp, port: nil, at: 5))
      }
    }
  }

  @Test("a command reads rows in the number of what it names, not of what there is") func rows() throws {
    let folder = try TemporaryFolder()
    let engine = GatewayStoreTests.CountingEngine(try SQLiteEngine("\(folder.path)/gateway.db", creating: true))
    let store = try GatewayStore(engine, creating: true)
    try store.change(as: "root", at: 1) { work throws(GatewayError) in
      try work.addPool(Self.name("lan"), IPPrefix("10.77.0.0/16")!, isTranslated: true)
      for i in 0..<500 {
        let user = Self.name("u\(i)")
        try work.addUser(user)
        try work.change(PushedSettings(mtu: 1400), for: .user(try work.user(user).id), named: "x")
      }
    }
    let other = try GatewayStore(engine)
    engine.rows = 0
    try other.change(as: "root", at: 2, reading: .users([Self.name("u7")])) { work throws(GatewayError) in
      try work.change(PushedSettings(mtu: 1300), for: .user(try work.user(Self.name("u7")).id), named: "x")
    }
    #expect(engine.rows < 20)
    #expect(try store.load().directory.settings.values.count { $0.pushed.mtu == 1300 } == 1)
  }
}
