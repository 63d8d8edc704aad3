import GatewayCore
import GatewayLogin
import NetworkTypes
import SeededRandom
import TestKit
import Testing

@Suite("Refused logins in the audit log") struct RefusalNotesTests {
  /// The end of a number of hours.
  private static func hour(_ number: Int64) -> Timestamp { Timestamp(seconds: 3600 * number) }

  @Test("a flood from one address leaves all entries to others, and ends in one that counts the rest") func flood() throws {
    var notes = RefusalNotes()
    var flood = 0
    for i in 0..<5_000 {
      let source = try address("2001:db8:0:1::\(String(i % 500, radix: 16))")
      flood += notes.record(i % 5 == 0 ? .wrongPassword : .unknownName, "n\(i)", from: source, at: Self.hour(10) + Int64(i % 3000)).count
    }
    #expect(flood == RefusalNotes.ofPlace)
    // Another /64 of the same /48, and another network.
    #expect(notes.record(.wrongCode, "alice", from: try address("2001:db8:0:2::1"), at: Self.hour(10) + 3000).map(\.object) == ["alice"])
    let bob = notes.record(.wrongPassword, "bob", from: try address("192.0.2.7"), "the cure", at: Self.hour(10) + 3001)
    #expect(bob.map(\.detail) == ["wrongPassword, from 192.0.2.7; the cure"])
    #expect(notes.endHour(at: Self.hour(10) + 3599) == [])
    #expect(
      notes.endHour(at: Self.hour(11)).map { "\($0.verb) \($0.object) (\($0.detail))" }
        == ["login refused others (4980 more from 2001:db8::/48: 3984 unknownName, 996 wrongPassword)"])
    #expect(notes.endHour(at: Self.hour(11)) == [] && notes.endShares() == [])
  }

  @Test("a /48 has a share, and networks that fill the shares of all leave an entry to others") func networks() throws {
    var notes = RefusalNotes()
    func count(_ text: String, _ attempts: Int) throws -> Int {
      let source = try address(text)
      return (0..<attempts).count { _ in !notes.record(.unknownName, "x", from: source, at: 5).isEmpty }
    }
    _ = notes.endHour(at: 5)
    let ofOne = try (0..<100).map { try count("2001:db8:7:\($0)::1", 3) }.reduce(0, +)
    #expect(ofOne == RefusalNotes.ofNetwork)
    for network in 0..<20 { _ = try count("203.0.\(network).9", 100) }
    // Of each, one.
    let later = try (0..<20).map { try count("198.51.\($0).9", 100) }
    #expect(later == Array(repeating: 1, count: 20))
    let rest = notes.endShares()
    #expect(rest.count == RefusalNotes.namedNetworks + 1 && rest.last?.detail.contains("more from other networks: ") == true)
  }

  @Test("whatever strangers do in a day: an hour's entries have a bound, and with the counts they are all refusals", arguments: 1...10)
  func anyDay(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var notes = RefusalNotes()
    var records: [Int64: [AuditEntry.Record]] = [:]
    var (now, all) = (Timestamp(seconds: 86_400 * 20_000), 0)
    let networks = 1 + random.next() % 1_000
    while now.seconds < 86_400 * 20_001 {
      let network = random.next() % networks
      let place = random.next() % (random.chance(0.5) ? 3 : 200)
      let text = network % 2 == 0 ? "10.\(network / 250).\(network % 250).\(place)" : "2001:db8:\(network):\(place)::1"
      records[now.seconds / 3600, default: []] += notes.record(random.pick(LoginRefusal.allCases), "x", from: try address(text), at: now)
      all += 1
      now += Int64(random.next() % 4)
    }
    records[now.seconds / 3600, default: []] += notes.endShares()
    let bound = RefusalNotes.ofAll + RefusalNotes.ofFirst + RefusalNotes.namedNetworks + 1
    for (hour, records) in records { #expect(records.count <= bound, "hour \(hour)") }
    let counted = records.values.joined().reduce(0) { sum, record in
      sum + (record.object == "others" ? record.detail.split(separator: " ").first.flatMap { Int($0) } ?? 0 : 1)
    }
    #expect(counted == all)
  }
}
