import ControlProtocol
import FlightRecord
import Glibc
import History
import JSON
import NetworkTypes
import PolicySource
import RoamwardCore
import SeededRandom
import Simulation
import TestKit
import Testing

/// The flight record: a replay decides what the agent decided, and what is damaged, private or old does no harm.
@Suite struct RecordTests {
  /// `LIVES` in the environment takes more of them.
  private static let lives = (getenv("LIVES").flatMap { UInt64(String(cString: $0)) } ?? 8) * 25
  private static let acts = 8

  @Test("hundreds of lives at random: the replay reproduces every decision") func replay() throws {
    for seed in 0..<Self.lives {
      var dice = SplitMix64(seed: seed)
      let policies = ManySidedPolicies.set
      let life = try RecordedLife(policies, on: dice.pick(ManySidedPolicies.places))
      try life.live(acts: Self.acts, &dice)
      let replay = life.replay(policies)
      #expect(replay.differences == [] && replay.others == [], "seed \(seed)")
      #expect(replay.reproduced > 0, "seed \(seed)")
      // Nothing that the agent published is missing in the record.
      let recorded = life.history.events(from: Timestamp(milliseconds: .min), to: .distantFuture).compactMap { event in
        (event.happening as? DecisionEvent).map { "\(event.time) \($0.tunnel) \($0.decision) \($0.rule.map(String.init) ?? "-")" }
      }
      let published = life.decided.map { "\($0.time) \($0.tunnel) \($0.outcome) \($0.rule.map(String.init) ?? "-")" }
      #expect(Set(published).subtracting(recorded) == [], "seed \(seed)")
    }
  }

  @Test(
    "of names as digests, the replay reproduces every decision too, and the bytes have no name",
    arguments: [HistorySettings.Names.hashed, .none])
  func privacy(names: HistorySettings.Names) throws {
    for seed in 0..<8 as Range<UInt64> {
      var dice = SplitMix64(seed: seed)
      let policies = ManySidedPolicies.set
      let life = try RecordedLife(policies, on: ManySidedPolicies.places[0], names: names)
      try life.live(acts: 25, &dice)
      let replay = life.replay(policies)
      // Without names, what depends on them is unknown, and not different.
      #expect(replay.differences == [], "seed \(seed)")
      if names == .none { #expect(!replay.unknown.isEmpty && !replay.isComplete, "seed \(seed)") }
      let text = String(decoding: life.segments.joined(), as: UTF8.self)
      for name in ["Home", "Cafe", "Hotel", "corp.example"] { #expect(!text.contains(name), "seed \(seed)") }
      if names == .none { #expect(!text.contains("203.0.113.23") && !text.contains("192.0.2.1\"")) }
      if names == .none { #expect(life.history.leftOut(for: policies, known: []).contains("ssid: left out by `history: names`")) }
    }
  }

  @Test("with names, the record shows them") func named() throws {
    let life = try RecordedLife(ManySidedPolicies.set, on: ManySidedPolicies.places[0])
    life.machine.run(for: .seconds(20))
    let lines = life.history.events(from: 0, to: .distantFuture).map(\.line)
    #expect(lines.contains("network: wifi wlan0, ssid \"Home\""))
    #expect(lines.contains("corp: disconnect (rule 1 \"at home\": in network home: ssid \"Home\" is \"Home\")"))
  }

  @Test("decisions of other policies are named as such, not as differences") func otherPolicies() throws {
    var dice = SplitMix64(seed: 7)
    let life = try RecordedLife(ManySidedPolicies.set, on: ManySidedPolicies.places[3])
    try life.live(acts: 10, &dice)
    var other = ManySidedPolicies.set
    other.tunnels.removeLast()
    let replay = life.replay(other)
    #expect(replay.differences == [] && replay.reproduced == 0)
    #expect(replay.others.reduce(0) { $0 + $1.decisions } > 0)
  }

  @Test("a record that is cut off anywhere is read up to there, and replays without a difference") func truncated() throws {
    var dice = SplitMix64(seed: 3)
    let policies = ManySidedPolicies.set
    let life = try RecordedLife(policies, on: ManySidedPolicies.places[0])
    try life.live(acts: 20, &dice)
    life.flush()
    let whole = life.segments
    for _ in 0..<80 {
      var cut = whole
      let place = Int.random(in: 0..<cut.count, using: &dice)
      guard !cut[place].isEmpty else { continue }
      cut[place].removeLast(Int.random(in: 0..<cut[place].count, using: &dice))
      let history = RecordedHistory(segments: cut)
      let replay = Replay(history, policies: policies, identification: policies.identification(life.privacy.identification))
      #expect(replay.differences == [])
    }
  }

  @Test("bytes that are changed are noticed, and nothing traps") func mutated() throws {
    var dice = SplitMix64(seed: 5)
    let policies = ManySidedPolicies.set
    let life = try RecordedLife(policies, on: ManySidedPolicies.places[0])
    try life.live(acts: 15, &dice)
    life.flush()
    for _ in 0..<100 {
      var segments = life.segments
      let place = dice.pick(segments.indices.filter { !segments[$0].isEmpty })
      for _ in 0..<Int.random(in: 1...4, using: &dice) {
        segments[place][Int.random(in: 0..<segments[place].count, using: &dice)] = UInt8.random(in: 0...255, using: &dice)
      }
      let history = RecordedHistory(segments: segments)
      #expect(segments == life.segments || history.damaged > 0)
      let replay = Replay(
        history.revealing(policies, life.privacy), policies: policies,
        identification: policies.identification(life.privacy.identification))
      #expect(replay.differences == [] && replay.others == [])
      _ = history.events(from: 0, to: .distantFuture)
      _ = Life(history, policies: policies, from: 0, to: .distantFuture)
      var page = HistoryPage(history, policies: policies, identification: "", from: 0, to: .distantFuture, .utc)
      _ = page.text()
    }
  }

  @Test(
    "lines with valid checksums and strange contents are left out",
    arguments: [
      #"{}"#, #"[]"#, #"{"t":1}"#, #"{"t":1,"m":-1,"n":0}"#, #"{"t":1,"m":1,"n":99}"#, #"{"t":1,"n":0,"network":{"version":1,"links":7}}"#,
      #"{"t":1,"begin":"never","v":1,"names":"full"}"#, #"{"t":1,"begin":"start","v":2,"names":"full"}"#,
    ]) func strange(_ text: String) throws
  {
    let history = RecordedHistory(segments: [RecordLine.encode(try .init(parsing: text.utf8))])
    #expect(history.damaged <= 1 && history.passes.isEmpty)
  }
}

extension Sequence {
  var isEmpty: Bool { first { _ in true } == nil }
}

extension LocalCalendar {
  /// UTC.
  static let utc = LocalCalendar(
    civil: { time in
      let numbers = "\(time)".split { !$0.isNumber }.compactMap { Int($0) }
      return CivilTime(
        year: numbers[0], month: numbers[1], day: numbers[2], hour: numbers[3], minute: numbers[4], second: numbers[5])
    },
    timestamp: { civil in
      let first = Timestamp(CivilTime(year: civil.year, month: civil.month, day: 1).text.replacing(" ", with: "T") + ".000Z") ?? 0
      return first + .seconds((civil.day - 1) * 86_400 + civil.hour * 3600 + civil.minute * 60 + civil.second)
    })
}
