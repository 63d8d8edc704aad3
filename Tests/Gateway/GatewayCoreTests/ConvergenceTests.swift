import GatewayCore
import KernelModel
import NetworkTypes
import TestKit
import Testing

/// Files that declare a part of the store.
@Suite struct ConvergenceTests {
  private let place = DeclaredPlace(file: "/etc/roamward-gateway/gateway.yaml", line: 7, column: 1)
  private let link = InterfaceName("wg-gateway")

  private func placed<Value>(_ value: Value) -> Declaration.Placed<Value> { Declaration.Placed(value, at: place) }

  private func declaration() throws -> Declaration {
    var all = Declaration()
    all.site = placed(Declaration.Site(endpoint: try #require(Endpoint("vpn.example.com:51820"))))
    all.pools = placed([placed(Declaration.Pool(name: try name("lan"), prefix: try #require(IPPrefix("10.77.0.0/24"))))])
    all.users = [placed(Declaration.User(name: try name("alice"))), placed(Declaration.User(name: try name("bob")))]
    all.groups = [placed(Declaration.Group(name: try name("staff"), precedence: 10, members: [try name("alice")]))]
    all.settings = [
      placed(
        Declaration.ScopeSettings(scope: .everybody, pushed: PushedSettings(routes: [try #require(IPPrefix("10.20.0.0/16"))])))
    ]
    all.rules = placed([
      placed(try rule("printers", isAllowing: false)), placed(try rule("web", isAllowing: true)),
    ])
    return all
  }

  private func rule(_ text: String, isAllowing: Bool) throws -> Declaration.Rule {
    Declaration.Rule(name: try name(text), isAllowing: isAllowing, source: .group(try name("staff")), destination: .everything)
  }

  private func empty() throws -> Administration {
    Administration(Directory(viewpoint: try key(1)), lastID: 0, actor: "files", now: 1_000_000)
  }

  private func later(_ work: Administration, _ actor: String = "root") -> Administration {
    Administration(work.directory, lastID: work.lastID, actor: actor, now: work.now + 60)
  }

  private func converged(_ declared: Declaration, _ work: Administration) throws -> Administration {
    var work = work
    try work.converge(to: declared, publicKey: try key(1), link: link)
    return work
  }

  @Test("a gateway begins with what is declared; again, nothing changes") func begin() throws {
    let declared = try declaration()
    let first = try converged(declared, try empty())
    #expect(first.directory.site?.endpoint == declared.site?.value.endpoint && first.directory.site?.link == link)
    #expect(first.directory.sortedRules.map(\.name.description) == ["printers", "web"])
    #expect(first.summary.lines.count == 9)
    let again = try converged(declared, later(first))
    #expect(again.changes.isEmpty && again.records.isEmpty && again.summary.isEmpty)
    #expect(again.directory.inconsistencies == [])
  }

  @Test("what is declared, no command changes; what is not, commands do") func refusals() throws {
    var work = later(try converged(try declaration(), try empty()))
    let (alice, staff) = (try name("alice"), try name("staff"))
    let prefix = try #require(IPPrefix("10.99.0.0/24"))
    func refuse(_ request: (inout Administration) throws -> Void) {
      let error = #expect(throws: GatewayError.self) { try request(&work) }
      #expect(error?.text.contains("/etc/roamward-gateway/gateway.yaml:7 declares") == true, "\(error?.text ?? "")")
    }
    refuse { try $0.removeUser(alice) }
    refuse { try $0.removeGroup(staff) }
    refuse { try $0.setMember(false, alice, of: staff) }
    refuse { try $0.change(PushedSettings(mtu: 1300), for: .everybody, named: "everybody") }
    refuse { try $0.clearSettings(for: .everybody, named: "everybody") }
    refuse { try $0.addPool(staff, prefix, isTranslated: false) }
    refuse { try $0.removeRule($0.directory.sortedRules[0].name) }
    let rule = AccessRule(id: 0, name: staff, position: 0, source: .everybody, destination: .everything, isAllowing: true)
    refuse { try $0.addRule(rule) }
    #expect(work.changes.isEmpty)
    // A lost laptop, a password, a device and a group of no file.
    try work.setLocked(true, alice)
    try work.setPassword("$argon2id$x", of: alice, mustChange: false)
    try work.addDevice(try path("alice/phone"), publicKey: try key(2))
    try work.addGroup(try name("guests"))
    try work.setMember(true, alice, of: try name("guests"))
    try work.change(PushedSettings(mtu: 1300), for: .group(try work.group(try name("guests")).id), named: "group guests")
  }

  @Test("a user who is declared no longer is locked, and is back when declared again") func leaving() throws {
    var declared = try declaration()
    var work = try converged(declared, try empty())
    work = later(work)
    try work.addDevice(try path("bob/phone"), publicKey: try key(2))
    let user = declared.users.removeLast()
    work = try converged(declared, later(work))
    #expect(work.summary.text(connected: 1) == ["change  user bob: active → locked", "concerns bob, 1 device, connected"])
    #expect(work.directory.device(at: try path("bob/phone")) != nil)
    // No file declares the user: a command may remove the user, or unlock.
    var other = later(work)
    try other.removeUser(try name("bob"))
    declared.users.append(user)
    work = try converged(declared, later(work))
    #expect(work.summary.lines.map(\.text) == ["change user bob: locked → active"])
    // One whom an administrator locked stays locked.
    work = later(work)
    try work.setLocked(true, try name("bob"), reason: "stolen")
    declared.users.removeLast()
    work = try converged(declared, later(work))
    declared.users.append(user)
    work = try converged(declared, later(work))
    #expect(work.directory.user(named: try name("bob"))?.isLocked == true)
  }

  @Test("groups, settings and lists that are declared no longer") func ends() throws {
    var declared = try declaration()
    let first = try converged(declared, try empty())
    declared.rules = nil
    declared.pools = nil
    declared.settings = []
    declared.groups = []
    // A rule of the list, which stays, names the group.
    var work = later(first)
    let fault = #expect(throws: DeclarationFault.self) { try work.converge(to: declared, publicKey: try key(1), link: link) }
    #expect(fault?.error.text.contains("group staff, once in /etc/roamward-gateway/gateway.yaml:7, is declared no longer") == true)
    declared.groups = try declaration().groups
    work = try converged(declared, later(first))
    #expect(work.summary.lines.map(\.text) == ["remove settings of everybody: routes 10.20.0.0/16"])
    work = later(work)
    try work.removeRule(try name("web"))
    try work.removePool(try name("lan"))
  }

  @Test("no file at all: everything stays, and commands change it") func noFiles() throws {
    var work = later(try converged(try declaration(), try empty()))
    Convergence.forget(in: &work)
    #expect(work.summary.isEmpty)
    try work.removeUser(try name("alice"))
  }

  @Test("rules follow their order in the file, and one that moves is told as an order") func order() throws {
    var declared = try declaration()
    let first = try converged(declared, try empty())
    declared.rules?.value.swapAt(0, 1)
    var work = try converged(declared, later(first))
    #expect(work.directory.sortedRules.map(\.name.description) == ["web", "printers"])
    #expect(work.summary.lines.map(\.text) == ["change rules: order printers, web → web, printers"])
    declared.rules?.value.insert(placed(try rule("first", isAllowing: true)), at: 0)
    work = try converged(declared, later(work))
    #expect(work.directory.sortedRules.map(\.name.description) == ["first", "web", "printers"])
  }

  @Test("what cannot be carried out names its place, and changes nothing") func faults() throws {
    var declared = try declaration()
    declared.groups[0].value.members = [try name("zed")]
    var work = try converged(try declaration(), try empty())
    let before = work.directory
    work = later(work)
    let fault = #expect(throws: DeclarationFault.self) { try work.converge(to: declared, publicKey: try key(1), link: link) }
    #expect(fault?.place == place && fault?.error.text == "there is no user zed")
    #expect(work.directory == before)
    var none = try empty()
    #expect(throws: DeclarationFault.self) { try none.converge(to: Declaration(), publicKey: try key(1), link: link) }
  }

  @Test("of two gateways, each has its own files; one's end takes nothing from the other") func two() throws {
    var declared = try declaration()
    declared.pools = nil
    var work = try converged(declared, try empty())
    // The second gateway of the store declares alice too.
    var second = Administration(Directory(viewpoint: try key(5)), lastID: work.lastID, actor: "files", now: work.now)
    for kind in RowKind.allCases { for row in work.directory.rows(kind) { second = second.with(row) } }
    try second.addSite(try name("paris"), try #require(Endpoint("192.0.2.9:51820")), publicKey: try key(5), link: try #require(link))
    var other = Declaration()
    other.users = [placed(Declaration.User(name: try name("alice")))]
    try second.converge(to: other, publicKey: try key(5), link: link)
    // The first one declares alice no longer.
    var rows = Administration(Directory(viewpoint: try key(1)), lastID: second.lastID, actor: "files", now: work.now + 60)
    for kind in RowKind.allCases { for row in second.directory.rows(kind) { rows = rows.with(row) } }
    declared.users.removeFirst()
    declared.groups[0].value.members = []
    work = try converged(declared, rows)
    #expect(work.directory.user(named: try name("alice"))?.isLocked == false)
  }

  /// A store by random requests, and another one whose declaration is carried out on trial.
  private func trial(_ seed: UInt64) throws -> (before: Directory, random: RandomRequests, work: Administration) {
    var (random, other) = (RandomRequests(seed: seed), RandomRequests(seed: seed + 1000))
    for _ in 0..<80 { _ = try random.request() }
    for _ in 0..<80 { _ = try other.request() }
    var work = Administration(random.directory, lastID: random.lastID, actor: "root", now: random.now)
    work.setSite(try #require(Endpoint("vpn.example.com:51820")), publicKey: try key(1), link: try #require(link))
    try work.addPool(try name("lan"), try #require(IPPrefix("10.77.0.0/24")), isTranslated: seed % 2 == 0)
    (random.directory, random.lastID) = (work.directory, work.lastID)
    var declared = Declaration(of: other.directory)
    declared.settings = declared.settings.filter { if case .device = $0.value.scope { false } else { true } }
    declared.pools = placed([placed(Declaration.Pool(name: try name("other"), prefix: try #require(IPPrefix("10.78.0.0/24"))))])
    if seed % 3 == 0 { declared.rules = placed([]) }
    var trial = Administration(random.directory, lastID: random.lastID, actor: "files", now: random.now)
    try trial.converge(to: declared, publicKey: try key(1), link: link)
    return (random.directory, random, trial)
  }

  @Test("a trial that is reverted leaves each row as it was", arguments: 0..<60) func revert(seed: UInt64) throws {
    let (before, _, trial) = try trial(seed)
    var work = later(trial)
    try Reversal(trial).carryOut(in: &work)
    for kind in RowKind.allCases {
      #expect(work.directory.rows(kind).sorted { $0.id < $1.id } == before.rows(kind).sorted { $0.id < $1.id }, "\(kind)")
    }
    // Twice is once: a process may have been killed before it noted that it was done.
    let once = work
    try Reversal(trial).carryOut(in: &work)
    #expect(work.directory == once.directory)
  }

  @Test("a device that came during a trial, and has no room in the pool that comes back, keeps nothing from being as it was")
  func fullPool() throws {
    var work = try empty()
    work.setSite(try #require(Endpoint("vpn.example.com:51820")), publicKey: try key(1), link: try #require(link))
    try work.addPool(try name("small"), try #require(IPPrefix("10.77.0.0/30")), isTranslated: false)
    try work.addUser(try name("alice"))
    try work.addDevice(try path("alice/phone"), publicKey: try key(2))
    let before = work.directory
    var declared = Declaration()
    declared.pools = placed([placed(Declaration.Pool(name: try name("wide"), prefix: try #require(IPPrefix("10.78.0.0/24"))))])
    let trial = try converged(declared, later(work))
    var others = later(trial)
    try others.addDevice(try path("alice/laptop"), publicKey: try key(3))
    var end = later(others)
    try Reversal(trial).carryOut(in: &end)
    let phone = try #require(end.directory.device(at: try path("alice/phone")))
    #expect(end.directory.addresses(of: phone.id) == before.addresses(of: phone.id))
    #expect(end.directory.device(at: try path("alice/laptop")).map { end.directory.addresses(of: $0.id) } == [])
    #expect(end.directory.inconsistencies == [] && end.directory.marks.rows.isEmpty)
  }

  @Test("what others changed during a trial stays, and nothing hangs in the air", arguments: 0..<60)
  func revertLater(seed: UInt64) throws {
    var (_, random, trial) = try trial(seed)
    (random.directory, random.lastID) = (trial.directory, trial.lastID)
    for _ in 0..<40 { _ = try random.request() }
    var work = Administration(random.directory, lastID: random.lastID, actor: "root", now: random.now)
    try Reversal(trial).carryOut(in: &work)
    #expect(work.directory.inconsistencies == [])
    for entry in Reversal(trial).entries {
      let now = random.directory.row(entry.kind, entry.id)
      if now != entry.after, now != nil, ![.leases, .members, .settings, .rules, .logins].contains(entry.kind) {
        #expect(work.directory.row(entry.kind, entry.id) == now, "\(entry.kind) \(entry.id)")
      }
    }
    let pools = work.directory.pools.values
    #expect(!pools.contains { one in pools.contains { $0.id != one.id && $0.prefix.overlaps(one.prefix) } })
    #expect(Set(work.directory.users.values.map(\.name)).count == work.directory.users.count)
  }

  /// A random store, exported and declared for a new gateway, is the same but for devices, passwords and sessions.
  @Test("a random store, exported and declared, is the same", arguments: 0..<30) func export(seed: UInt64) throws {
    var random = RandomRequests(seed: seed, withEnds: true)
    for _ in 0..<80 { _ = try random.request() }
    var work = Administration(random.directory, lastID: random.lastID, actor: "root", now: random.now)
    work.setSite(try #require(Endpoint("vpn.example.com:51820")), publicKey: try key(1), link: try #require(link))
    let written = Declaration(of: work.directory)
    // Accounts that have ended cannot be added.
    var hopeful = written
    for i in hopeful.users.indices {
      if let until = hopeful.users[i].value.until, until <= random.now { hopeful.users[i].value.until = nil }
    }
    hopeful.settings = hopeful.settings.filter { if case .device = $0.value.scope { false } else { true } }
    var here = Administration(work.directory, lastID: work.lastID, actor: "files", now: random.now)
    try here.converge(to: written, publicKey: try key(1), link: link)
    #expect(here.summary.isEmpty, "\(here.summary.lines.map(\.text))")
    #expect(Declaration(of: here.directory).shown == written.shown)
    var there = Administration(Directory(viewpoint: try key(1)), lastID: 0, actor: "files", now: random.now)
    try there.converge(to: hopeful, publicKey: try key(1), link: link)
    #expect(Declaration(of: there.directory).shown == hopeful.shown)
    #expect(there.directory.inconsistencies == [])
  }
}

extension Administration {
  /// The same with a row, for a copy of a store.
  fileprivate func with(_ row: AnyRow) -> Administration {
    var directory = directory
    directory.apply(.put(row))
    return Administration(directory, lastID: lastID, actor: "files", now: now)
  }
}

extension Declaration {
  /// All that it says, without places.
  fileprivate var shown: [String] {
    [site.map { "\($0.value)" } ?? ""] + (pools?.value.map { "\($0.value)" } ?? []) + groups.map { "\($0.value)" }
      + users.map { "\($0.value)" } + settings.map { "\($0.value)" } + (rules?.value.map { "\($0.value)" } ?? [])
  }
}
