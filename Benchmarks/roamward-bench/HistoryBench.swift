import ArgumentParser
import ControlProtocol
import FlightRecord
import History
import KeyMemory
import LinuxIO
import LinuxPlatform
import NetworkTypes
import PolicySource
import RoamwardCore
import TestKit

/// A generated month of a laptop: its record in bytes, and how long `history` and a replay take.
struct HistoryBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "history", abstract: "Generate a record, and measure its size, its reading and its replay.")

  @Option(help: "How many days.") var days = 30
  @Option(help: "Visits of networks each day.") var visits = 24
  @Option(help: "How often each is measured.") var rounds = 7
  @Option(help: "Policies instead of the usual ones.") var policies: String?
  @Option(help: "Write the record as that of a state folder, and end.") var write: String?

  func run() throws {
    guard let digest = KeyedDigest(key: Array(repeating: 7, count: KeyedDigest.keyLength)) else { throw BenchmarkError("no key") }
    let privacy = NamePrivacy(.full, digest)
    let policies = policies.map { loadPolicies(layers: [$0], requireRootOwnership: false).policies } ?? Self.policies
    let segments = Self.record(days: days, visits: visits, isSteady: write != nil, policies, privacy)
    if let write { return try Self.write(segments, to: write) }
    let bytes = segments.reduce(0) { $0 + $1.count }
    let week = Double(bytes) / Double(days) * 7 / 1_048_576
    let identification = policies.identification(privacy.identification)
    var (reading, listing, replay, living) = (Series(), Series(), Series(), Series())
    var history = RecordedHistory()
    var count = 0
    for _ in 0..<rounds {
      reading.values.append(measure { history = RecordedHistory(segments: segments) }.cpu)
      listing.values.append(
        measure { count = history.events(from: Timestamp(milliseconds: 0), to: .distantFuture).reduce(0) { $0 + $1.line.utf8.count } }.cpu)
      var result: Replay?
      replay.values.append(measure { result = Replay(history, policies: policies, identification: identification) }.cpu)
      guard result?.isComplete == true, result?.reproduced ?? 0 > 0, count > 0 else { throw BenchmarkError("the replay differs") }
      living.values.append(
        measure { _ = Life(history, policies: policies, from: Timestamp(milliseconds: 0), to: .distantFuture) }.cpu)
    }
    print(
      Row(
        what: "7 days of record, \(visits) visits of networks a day, MiB", ours: week.text(digits: 2), peer: "2 MiB (target)",
        ratio: week / 2,
        bar: "1.00", remark: "\(history.items.count) entries in \(days) days"))
    func line(_ what: String, _ series: Series) {
      print(Row(what: what, ours: series.summary, peer: "1000 ms (target)", ratio: series.median / 1000, bar: "1.00", remark: "CPU"))
    }
    line("  \(days) days of record: reading", reading)
    line("  \(days) days of record: every event as text", listing)
    line("  \(days) days of record: replay of every decision", replay)
    line("  \(days) days of record: lived through with policies", living)
  }

  private static var policies: PolicySet {
    let home = NamedNetwork(name: "home", condition: .ssid([Sample.ssid("Home")]), location: Sample.place())
    let work = TimeWindow(days: [.mon, .tue, .wed, .thu, .fri], from: 8 * 60, to: 18 * 60)
    let rules = [
      Rule(name: "at home", match: .network(["home"]), action: .disconnect, location: Sample.place(2)),
      Rule(name: "work", match: .time(work), action: .connect, location: Sample.place(3)),
      Rule(name: "elsewhere", action: .connect, location: Sample.place(4)),
    ]
    return PolicySet(
      networks: [home],
      tunnels: ["corp", "own", "lab"].map { Sample.tunnel($0, rules: rules, precedence: $0 == "own" ? .personal : .enterprise) })
  }

  private static func write(_ segments: [[UInt8]], to stateDirectory: String) throws {
    let path = HistoryFolder.path(in: stateDirectory)
    try Folder.make(path, mode: 0o700)
    try TextFile.create("\(path)/key", with: Array(repeating: 7, count: KeyedDigest.keyLength), mode: 0o600)
    let folder = HistoryFolder(path: path)
    var list = SegmentList()
    for bytes in segments { try folder.append(bytes, to: list.begin(.full, at: Timestamp(seconds: Int64(list.segments.count)))) }
  }

  /// The network of an hour of the week, from Monday on.
  private static func place(_ hour: Int) -> LinkFacts {
    let isWeekend = hour >= 5 * 24
    switch (hour % 24, isWeekend) {
    case (9..<12, false), (13..<17, false): return Sample.wired(domains: ["corp.example"], servers: ["198.51.100.53"])
    case (8, false), (17, false): return wifi("Train", 113)
    case (12, false), (10..<12, true): return wifi("Cafe", 114)
    case (14..<18, true): return wifi("Hotel", 115)
    default: return wifi("Home", 2)
    }
  }

  private static func wifi(_ name: String, _ net: Int) -> LinkFacts {
    Sample.wifi(name, servers: ["203.0.\(net).1"], gateway: "203.0.\(net).1", address: "203.0.\(net).23/24")
  }

  /// Each visit: the link without an SSID, then with it, then its name servers; the tunnels connect, or go down.
  private static func record(days: Int, visits: Int, isSteady: Bool, _ policies: PolicySet, _ privacy: NamePrivacy) -> [[UInt8]] {
    var writer = RecordWriter(privacy) { $0.identification(privacy.identification) }
    var scheduler = DecisionScheduler()
    var segments: [[UInt8]] = []
    var running = Set<String>()
    var now = Moment(nanoseconds: 1_000_000_000)
    // The last whole weeks, in UTC.
    var time = Timestamp(seconds: (Timestamp.now.seconds / 86_400 - Int64(days)) * 86_400)
    var last: LinkFacts?
    let step = Duration.seconds(86_400) / visits
    for visit in 0..<(days * visits) {
      if visit.isMultiple(of: visits) {
        writer.begin(visit == 0 ? .start : .rotation, at: time)
        segments.append([])
      }
      // 1 January 1970 was a Thursday.
      let second = Int((time.seconds + 3 * 86_400) % (7 * 86_400))
      let whole = Self.place(second / 3600)
      var link = whole
      link.ssid = .unknown(reason: "not known yet")
      link.dnsServers = .known([])
      var named = whole
      named.dnsServers = .known([])
      // A link that stays associated shows nothing new.
      let isSame = isSteady && last == whole
      last = whole
      let views: [LinkFacts] = isSame ? Array(repeating: whole, count: 5) : [link, named, whole, whole, whole]
      for (i, facts) in views.enumerated() {
        var snapshot = Sample.network(facts)
        snapshot.time = .known(LocalTime(secondOfWeek: Int((time.seconds + 3 * 86_400) % (7 * 86_400))))
        let before = scheduler.waits
        let verdicts = scheduler.decide(on: policies, snapshot, changed: now, at: now, time: time, isRunning: running.contains)
        writer.add(
          DecisionPass(
            at: now, time: time, generation: 1, policies: policies, snapshot: snapshot, changedAt: i < 3 ? now : nil, running: running,
            overrides: [:], waits: (before, scheduler.waits), decisions: verdicts.map(\.decision)))
        for verdict in verdicts where [.up, .down].contains(verdict.intent) {
          let isUp = verdict.intent == .up
          guard running.contains(verdict.policy.name) != isUp else { continue }
          if isUp { running.insert(verdict.policy.name) } else { running.remove(verdict.policy.name) }
          let states = isUp ? ["disconnected", "connecting", "connected"] : ["connected", "disconnecting", "disconnected"]
          for (from, to) in zip(states, states.dropFirst()) {
            writer.add(
              Event(
                time: time,
                kind: .state(tunnel: verdict.policy.name, from: from, to: to, code: .ruleMatched, reason: verdict.decision.reason)))
          }
        }
        // The last one is after the release delay.
        let pause = i < 3 ? Duration.milliseconds(400) : i == 3 ? .seconds(10) : step - .milliseconds(11_200)
        now = now + pause
        time = time + pause
      }
      segments[segments.count - 1] += writer.take()
    }
    return segments
  }
}
