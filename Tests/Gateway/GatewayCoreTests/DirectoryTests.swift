import GatewayCore
import KernelModel
import NetworkTypes
import TestKit
import Testing

@Suite struct DirectoryTests {
  @Test(
    "names ignore letter case, and have no other alphabets",
    arguments: [
      ("Alice", "alice"), ("a.b-c_d@example.com", "a.b-c_d@example.com"), ("", nil), (".hidden", nil), ("аlice", nil), ("a/b", nil),
      ("a b", nil),
    ])
  func names(text: String, expected: String?) { #expect(GatewayName(text)?.description == expected) }

  @Test("the settings of the most specific scope hold, each for itself; of two groups those of the lower precedence") func settings() throws
  {
    var work = Administration()
    try work.addUser(try name("alice"))
    let device = try work.addDevice(try path("alice/laptop"), publicKey: try key(1))
    try work.addGroup(try name("staff"), precedence: 20)
    try work.addGroup(try name("admins"), precedence: 10)
    for group in ["staff", "admins"] { try work.setMember(true, try name("alice"), of: try name(group)) }
    let user = try #require(work.directory.user(named: try name("alice")))
    func set(_ pushed: PushedSettings, _ scope: Settings.Scope) throws { try work.change(pushed, for: scope, named: "x") }
    try set(PushedSettings(routes: [try #require(IPPrefix("10.0.0.0/8"))], mtu: 1400, keepalive: 25), .everybody)
    try set(PushedSettings(mtu: 1380), .group(try work.group(try name("staff")).id))
    try set(PushedSettings(dns: [try #require(IPAddress("10.0.0.53"))], mtu: 1360), .group(try work.group(try name("admins")).id))
    try set(PushedSettings(routes: []), .user(user.id))
    #expect(work.directory.pushedSettings(of: device).text == "routes none\ndns 10.0.0.53\nmtu 1360\nkeepalive 25\n")
    try set(PushedSettings(mtu: 1300), .device(device.id))
    #expect(work.directory.pushedSettings(of: device).mtu == 1300)
    #expect(throws: GatewayError.self) { try set(PushedSettings(mtu: 100), .everybody) }
  }

  @Test("a removed user takes devices, memberships, settings and rules along") func removal() throws {
    var work = Administration()
    try work.addPool("10.77.0.0/24")
    try work.addUser(try name("alice"))
    try work.addGroup(try name("staff"))
    let empty = work.directory
    try work.setMember(true, try name("alice"), of: try name("staff"))
    let device = try work.addDevice(try path("alice/laptop"), publicKey: try key(1))
    let user = try #require(work.directory.user(named: try name("alice")))
    try work.change(PushedSettings(mtu: 1300), for: .device(device.id), named: "x")
    try work.change(PushedSettings(mtu: 1300), for: .user(user.id), named: "x")
    try work.addRule(
      AccessRule(id: 0, name: try name("own"), position: 0, source: .user(user.id), destination: .everything, isAllowing: true))
    #expect(throws: GatewayError.self) { try work.addUser(try name("ALICE")) }
    try work.removeUser(try name("alice"))
    #expect(work.directory.devices.isEmpty && work.directory.members.isEmpty && work.directory.settings.isEmpty)
    #expect(work.directory.rules.isEmpty && work.directory.users.isEmpty)
    #expect(work.directory.groups == empty.groups)
    #expect(work.directory.leases.values.map(\.device) == [nil])
  }

  @Test("a group that a rule names cannot be removed") func namedGroup() throws {
    var work = Administration()
    try work.addGroup(try name("staff"))
    let group = try work.group(try name("staff"))
    try work.addRule(
      AccessRule(id: 0, name: try name("web"), position: 0, source: .group(group.id), destination: .everything, isAllowing: true))
    let error = try #require(throws: GatewayError.self) { try work.removeGroup(try name("staff")) }
    #expect(error.text == "rules of access name group staff: web")
    try work.removeRule(try name("web"))
    try work.removeGroup(try name("staff"))
    #expect(work.directory.groups.isEmpty)
  }

  @Test("every row is read as it was written, and no other values are taken") func rows() throws {
    var work = Administration()
    work.setSite(
      try #require(Endpoint("vpn.example.com:51820")), publicKey: try key(99), link: try #require(InterfaceName("wg-gateway")))
    try work.addPool("10.77.0.0/24", isTranslated: true)
    try work.addPool("fd77::/64")
    try work.addUser(try name("alice"), until: 2_000_000)
    try work.addGroup(try name("staff"))
    try work.setMember(true, try name("alice"), of: try name("staff"))
    try work.addDevice(try path("alice/laptop"), publicKey: try key(1))
    try work.addDevice(try path("alice/phone"), publicKey: try key(2))
    try work.removeDevice(try path("alice/phone"))
    let group = try work.group(try name("staff")).id
    let pushed = PushedSettings(routes: [], search: [try #require(DomainName("example.com"))])
    try work.change(pushed, deviceLimit: 3, for: .group(group), named: "x")
    let destinations: [AccessRule.Destination] = [.everything, .devices(ofGroup: group), .prefixes([.everything(.v6)])]
    for (i, destination) in destinations.enumerated() {
      try work.addRule(
        AccessRule(
          id: 0, name: try name("rule\(i)"), position: 0, source: i == 0 ? .everybody : .group(group), destination: destination,
          transport: i == 1 ? .tcp : .any, ports: i == 1 ? [try #require(PortRange("80-90"))] : [], isAllowing: i != 2))
    }
    try work.setCodeSecret([UInt8](repeating: 9, count: 20), of: try name("alice"))
    try work.setRecovery([String(repeating: "a", count: 64), String(repeating: "0", count: 64)], of: try name("alice"))
    try work.addToken([UInt8](repeating: 5, count: 32), for: try name("alice"), uses: 1, until: 2_000_000)
    let alice = try work.user(try name("alice")).id
    _ = try work.bind(
      Administration.Binding(
        user: alice, device: try name("tablet"), publicKey: try key(3), factors: "password", source: "192.0.2.7"))
    try work.endSession(of: try path("alice/tablet"))
    let site = try #require(work.directory.site)
    try work.converge(
      to: Declaration(), also: [DeclaredSubject(.rules): DeclaredPlace(file: "f", line: 1, column: 1)], publicKey: site.publicKey, link: nil
    )
    var kinds = Set<RowKind>()
    for case .put(let row) in work.changes {
      kinds.insert(row.kind)
      #expect(row.values.count == row.kind.table.columns.count)
      #expect(try AnyRow(row.kind, id: row.id, values: row.values) == row)
      for place in row.values.indices {
        var values = row.values
        // A value that no column has.
        values[place] = .bytes([1, 2, 3])
        #expect(throws: RowError.self) { try AnyRow(row.kind, id: row.id, values: values) }
      }
      #expect(throws: RowError.self) { try AnyRow(row.kind, id: row.id, values: row.values.dropLast()) }
    }
    #expect(kinds == Set(RowKind.allCases))
  }

  @Test("the audit chain breaks at the first entry with any changed byte, or that is missing, or at another place") func chain() throws {
    var chain = AuditChain(digest: digest)
    let entries = (1...6).map { i in
      chain.append(
        AuditEntry.Record(actor: "root", verb: "user add", object: "u\(i)", detail: i == 3 ? "ab" : ""),
        at: Timestamp(seconds: Int64(1_000 + i)))
    }
    func firstBroken(_ entries: [AuditEntry]) -> Int? {
      var chain = AuditChain(digest: digest)
      return entries.firstIndex { !chain.accept($0) }
    }
    #expect(firstBroken(entries) == nil)
    let changes: [(inout AuditEntry) -> Void] = [
      { $0.time += 1 }, { $0.record.actor += "x" }, { $0.record.verb = "user ad" }, { $0.record.object = "" }, { $0.record.detail += "d" },
      { $0.hash[31] ^= 1 }, { $0.sequence += 1 },
      // The same characters, at another boundary.
      { ($0.record.verb, $0.record.object) = ("user ad", "d" + $0.record.object) },
    ]
    for place in entries.indices {
      for change in changes {
        var altered = entries
        change(&altered[place])
        #expect(firstBroken(altered) == place)
      }
    }
    #expect(firstBroken(Array(entries.dropFirst())) == 0)
    #expect(firstBroken([entries[0], entries[2]]) == 1)
    #expect(firstBroken([entries[1], entries[0]]) == 0)
  }
}
