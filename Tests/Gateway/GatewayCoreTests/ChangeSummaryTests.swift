import GatewayCore
import KernelModel
import NetworkTypes
import SeededRandom
import TestKit
import Testing

/// The effect of requests in words.
@Suite struct ChangeSummaryTests {
  private func people() throws -> Administration {
    var work = Administration()
    try work.addPool("10.77.0.0/24")
    for user in ["alice", "bob"] { try work.addUser(try name(user)) }
    try work.addGroup(try name("staff"))
    try work.setMember(true, try name("alice"), of: try name("staff"))
    try work.addDevice(try path("alice/phone"), publicKey: try key(1))
    try work.addDevice(try path("bob/laptop"), publicKey: try key(2))
    return work.later(by: 1)
  }

  private func texts(_ body: (inout Administration) throws -> Void) throws -> [String] {
    var work = try people()
    try body(&work)
    return work.summary.text(connected: 1)
  }

  @Test("a list shows its old and its new values, and whom it concerns") func list() throws {
    var work = try people()
    try work.change(PushedSettings(routes: [try #require(IPPrefix("10.20.0.0/16"))]), for: .everybody, named: "everybody")
    #expect(
      work.summary.text(connected: 0) == ["add     settings of everybody: routes 10.20.0.0/16", "concerns 2 users, 2 devices, 0 connected"])
    work = work.later(by: 1)
    let staff = try work.group(try name("staff")).id
    try work.change(PushedSettings(routes: []), for: .group(staff), named: "staff")
    #expect(work.summary.text(connected: nil) == ["add     settings of group staff: routes none", "concerns alice, 1 device"])
    work = work.later(by: 1)
    // Staff has its own list.
    try work.change(PushedSettings(routes: [try #require(IPPrefix("10.30.0.0/16"))]), for: .everybody, named: "everybody")
    #expect(
      work.summary.text(connected: 1) == [
        "change  settings of everybody: routes 10.20.0.0/16 → 10.30.0.0/16", "concerns bob, 1 device, connected",
      ])
  }

  @Test("a lock, a removal, a rule, a rename and a key") func objects() throws {
    #expect(
      try texts { try $0.setLocked(true, try name("bob")) } == ["change  user bob: active → locked", "concerns bob, 1 device, connected"])
    #expect(
      try texts { try $0.removeUser(try name("bob")) } == [
        "remove  user bob: active", "remove  device bob/laptop: 10.77.0.3", "concerns bob, 1 device, connected",
      ])
    #expect(
      try texts { work in
        try work.addRule(
          AccessRule(
            id: 0, name: try name("web"), position: 0, source: .group(try work.group(try name("staff")).id), destination: .everything,
            transport: .tcp, ports: [try #require(PortRange("443"))], isAllowing: true))
      } == ["add     rule web: allow group staff to everything tcp 443", "concerns alice, 1 device, connected"])
    #expect(
      try texts { try $0.rename(try path("bob/laptop"), to: try name("desk")) }.first
        == "change  device bob/laptop: name bob/laptop → bob/desk")
    let rekeyed = try texts { try $0.setKey(try key(9), of: try path("bob/laptop")) }
    #expect(rekeyed.first == "change  device bob/laptop: key the present one → another one")
    #expect(try texts { try $0.setMember(true, try name("alice"), of: try name("staff")) } == ["nothing changes"])
    #expect(
      try texts {
        try $0.setLocked(true, try name("bob")); try $0.setLocked(false, try name("bob"))
      } == ["nothing changes"])
  }

  @Test("a rule that is put before others changes no word of them") func places() throws {
    var work = try people()
    func rule(_ text: String) throws -> AccessRule {
      AccessRule(id: 0, name: try name(text), position: 0, source: .everybody, destination: .everything, isAllowing: true)
    }
    try work.addRule(try rule("a"))
    try work.addRule(try rule("b"))
    work = work.later(by: 1)
    try work.addRule(try rule("c"), before: try name("a"))
    #expect(work.summary.lines.map(\.text) == ["add rule c: allow everybody to everything"])
  }

  @Test("no secret, and no digest of one, is in the words") func secrets() throws {
    var work = try people()
    try work.setPassword("$argon2id$hash", of: try name("bob"), mustChange: false)
    try work.setCodeSecret([UInt8](repeating: 65, count: 20), of: try name("bob"))
    try work.addToken([UInt8](repeating: 66, count: 32), for: try name("bob"), uses: 1, until: work.now + .seconds(9))
    let first = work.summary.text(connected: nil).joined(separator: "\n")
    #expect(first.contains("logins of bob: password set") && first.contains("one-time code asked for") && first.contains("token"))
    work = work.later(by: 1)
    try work.setPassword("$argon2id$other", of: try name("bob"), mustChange: false)
    let second = work.summary.text(connected: nil)
    #expect(second == ["change  logins of bob: password the present one → another one", "concerns bob"])
    #expect(!(first + second.joined()).contains("argon") && !first.contains("AAAA") && !first.contains("BBBB"))
  }

  @Test("settings of a file: each value, old and new") func files() {
    let summary = ChangeSummary(setting: "page", from: "port 80\nname a.example\nname b.example\n", to: "port 81\nname a.example\n")
    #expect(summary.lines.map(\.text) == ["change page: name a.example, b.example → a.example", "change page: port 80 → 81"])
    #expect(ChangeSummary(setting: "relay", from: "443\n", to: nil).text(connected: nil) == ["remove  relay: 443"])
    #expect(ChangeSummary(setting: "relay", from: "443\n", to: "443\n").text(connected: nil) == ["nothing changes"])
  }

  @Test("any text of settings has a summary: blanks, ends of lines, bytes that are no text") func texts() {
    var random = SplitMix64(seed: 7)
    let parts = [" ", "\n", "\r\n", "\r", "\t", "\0", "a", "port 80", "\u{2028}", "\u{85}", "\u{fffd}"]
    for _ in 0..<2000 {
      func text() -> String { (0..<Int(random.next() % 6)).map { _ in parts[Int(random.next() % UInt64(parts.count))] }.joined() }
      let (old, new) = (text(), text())
      let summary = ChangeSummary(setting: "page", from: old, to: new)
      #expect(ChangeSummary(setting: "page", from: old, to: old).isEmpty)
      for line in summary.lines { #expect(line.before != line.after) }
    }
    let mixed = ChangeSummary(setting: "page", from: "port 80\r\nname a\r\n", to: "port 81\nname a\n \n")
    #expect(mixed.lines.map(\.text) == ["add page: ", "change page: port 80 → 81"])
  }

  /// Of random lives: the way back is the same difference turned around, and whose devices, settings or rules differ is among those that it
  /// concerns.
  @Test("of random requests, every device that differs is concerned", arguments: 0..<40) func lives(seed: UInt64) throws {
    var random = RandomRequests(seed: seed)
    for _ in 0..<120 {
      let old = random.directory
      let changes = try random.request()
      let new = random.directory
      let summary = ChangeSummary(changes, from: old, to: new)
      let back = ChangeSummary(changes, from: new, to: old)
      #expect(
        Set(
          summary.lines.filter { !["name", "key"].contains($0.title) }.map { [$0.subject, $0.title, $0.before ?? "-", $0.after ?? "-"] })
          == Set(
            back.lines.filter { !["name", "key"].contains($0.title) }.map { [$0.subject, $0.title, $0.after ?? "-", $0.before ?? "-"] }))
      #expect(summary.users == back.users && summary.paths == back.paths)
      let concerned = Set(summary.devices.map(\.id))
      for id in Set(old.devices.keys).union(new.devices.keys) where !concerned.contains(id) {
        let (before, after) = (old.devices[id], new.devices[id])
        #expect(before == after)
        guard let before, let after else { continue }
        #expect(old.addresses(of: id) == new.addresses(of: id))
        #expect(old.pushedSettings(of: before) == new.pushedSettings(of: after))
        #expect(old.isActive(before, at: random.now) == new.isActive(after, at: random.now))
        #expect(old.groups(of: before.user).map(\.name) == new.groups(of: after.user).map(\.name))
      }
    }
  }
}
