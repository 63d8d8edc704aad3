package import ControlProtocol
internal import JSON
package import NetworkTypes
package import RoamwardCore

/// Turns evaluations and events into lines of the record. Pure: it neither reads a clock nor touches a file.
///
/// Only what differs from the entries before is written. So `begin` forgets what was written: a segment can be read without those before.
package struct RecordWriter {
  /// The networks of a segment that are remembered, so that a return to one is not written whole.
  private static let networksKept = 48

  private static let decisionsInEntry = 200
  /// After so many evaluations, one repeats everything: damage before it does no harm to what follows.
  private static let passesUntilComplete = 50

  private struct Written {
    var generation: Int?
    var snapshot: NetworkSnapshot?
    var network: Int?
    var changedAt: Moment?
    var running: Set<String>?
    var overrides: [String: RecordedOverride]?
    var waits: [String: Moment]?
    var turns: [String: [String]] = [:]
    var decisions: [String: Decision] = [:]
    /// The same, as the last evaluation had them: an unchanged list is not compared one by one.
    var list: [Decision] = []
    var numbers: [String: Int] = [:]
    var count = 0
    var passes = 0

    /// Forgets what evaluations are compared with; networks keep their numbers.
    mutating func forget() {
      let (numbers, count) = (self.numbers, self.count)
      self = Written()
      (self.numbers, self.count) = (numbers, count)
    }
  }

  package let privacy: NamePrivacy
  private let limit: Int
  /// Identifies a policy set: equal sets have equal identifications.
  private let identify: (PolicySet) -> String
  private var written = Written()
  private var lines: [UInt8] = []
  /// The last policy set that was identified.
  private var policy: (generation: Int, entry: RecordedPolicy)?
  /// Policy sets that are not identified yet, and where their lines belong. That is done when lines are taken, after the agent's own work.
  private var unidentified: [(place: Int, time: Timestamp, generation: Int, policies: PolicySet)] = []
  /// Entries that did not fit.
  package private(set) var lost = 0

  /// `limit`: the bytes that may wait for a write; further lines are lost.
  package init(_ privacy: NamePrivacy, limit: Int = RecordLine.limit, identify: @escaping (PolicySet) -> String) {
    self.privacy = privacy
    self.limit = limit
    self.identify = identify
  }

  package var isEmpty: Bool { lines.isEmpty }
  package var byteCount: Int { lines.count }

  /// The lines since the last call.
  package mutating func take() -> [UInt8] {
    defer { lines = [] }
    for part in unidentified.reversed() {
      let line = RecordLine.encode(TimedEntry(time: part.time, entry: .policy(entry(of: part.policies, part.generation))).json)
      lines.insert(contentsOf: line, at: part.place)
    }
    unidentified = []
    return lines
  }

  /// Counts lines that were taken and could not be written.
  package mutating func lose(_ bytes: [UInt8]) { lost += bytes.count { $0 == UInt8(ascii: "\n") } }

  /// Begins a segment.
  package mutating func begin(_ cause: SegmentBegin.Cause, at time: Timestamp) {
    written = Written()
    append(.begin(SegmentBegin(cause: cause, names: privacy.names, lost: lost)), at: time)
    lost = 0
  }

  package mutating func end(at time: Timestamp) { append(.end, at: time) }

  package mutating func add(_ pass: DecisionPass) {
    if written.passes >= Self.passesUntilComplete { written.forget() }
    var (new, isNews) = (written, false)
    func set<Value: Equatable>(_ place: inout Value, _ value: Value) -> Bool {
      defer { place = value }
      return place != value
    }
    if set(&new.generation, pass.generation) {
      isNews = true
      unidentified.append((lines.count, pass.time, pass.generation, pass.policies))
      let present = Set(pass.decisions.map(\.tunnel))
      new.decisions = new.decisions.filter { present.contains($0.key) }
    }
    if new.network == nil || new.snapshot.map({ !$0.isSameButForTime(as: pass.snapshot) }) ?? true {
      new.snapshot = pass.snapshot
      let number = record(pass.snapshot, at: pass.time, &new)
      if set(&new.network, number) { isNews = true }
    }
    let isChangeNew = set(&new.changedAt, pass.changedAt)
    let areRunningNew = set(&new.running, pass.running)
    let overrides = pass.overrides.mapValues { RecordedOverride(wantsUp: $0.wantsUp, since: $0.since) }
    let areOverridesNew = set(&new.overrides, overrides)
    let areWaitsNew = written.waits != pass.waits.before
    if set(&new.waits, pass.waits.after) || areWaitsNew || areRunningNew || areOverridesNew { isNews = true }
    let areTurnsNew = set(&new.turns, pass.turns.mapValues { [$0.member] + ($0.trial.map { [$0] } ?? []) })
    if areTurnsNew { isNews = true }
    var decisions: [String: RecordedDecision] = [:]
    for decision in pass.decisions == new.list ? [] : pass.decisions where new.decisions[decision.tunnel] != decision {
      let recorded = RecordedDecision(decision, withText: privacy.hasText)
      let last = new.decisions.updateValue(decision, forKey: decision.tunnel)
      if last.map({ RecordedDecision($0, withText: privacy.hasText) }) != recorded { decisions[decision.tunnel] = recorded }
    }
    new.list = pass.decisions
    guard isNews || !decisions.isEmpty, let network = new.network else {
      // The comparison is with the last pass that was written.
      written.snapshot = new.snapshot
      (written.decisions, written.list) = (new.decisions, new.list)
      return
    }
    new.passes += 1
    written = new
    // Very many decisions are several entries of the same moment.
    let names = decisions.keys.sorted()
    for start in stride(from: 0, through: max(0, names.count - 1), by: Self.decisionsInEntry) {
      let part = names[start..<min(names.count, start + Self.decisionsInEntry)]
      append(
        .pass(
          RecordedPass(
            now: pass.now, localSecond: pass.snapshot.time.value?.secondOfWeek, network: network,
            changedAt: isChangeNew ? pass.changedAt : nil, running: areRunningNew ? pass.running.sorted() : nil,
            overrides: areOverridesNew ? overrides : nil, waits: areWaitsNew ? pass.waits.before : nil,
            turns: areTurnsNew ? new.turns : nil,
            decisions: Dictionary(part.map { ($0, decisions[$0]) }) { first, _ in first }.compactMapValues { $0 })), at: pass.time)
    }
  }

  package mutating func add(_ event: Event) {
    guard let json = privacy.json(of: event) else { return }
    append(.event(json), at: event.time)
  }

  // MARK: Parts

  private mutating func entry(of policies: PolicySet, _ generation: Int) -> RecordedPolicy {
    if let policy, policy.generation == generation { return policy.entry }
    let entry = RecordedPolicy(
      digest: identify(policies), tunnels: policies.tunnels.map(\.name), facts: policies.neededFacts.map(\.rawValue).sorted())
    policy = (generation, entry)
    return entry
  }

  /// The number of a network; one that the segment does not have yet is written.
  private mutating func record(_ snapshot: NetworkSnapshot, at time: Timestamp, _ new: inout Written) -> Int {
    var masked = privacy.masked(snapshot)
    masked.time = .notNeeded
    let unavailable = masked.unavailableByLink
    let json = masked.json
    let text = json.text() + unavailable.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined()
    if let number = new.numbers[text] { return number }
    if new.numbers.count >= Self.networksKept { new.numbers = [:] }
    let number = new.count
    new.count += 1
    new.numbers[text] = number
    written.numbers = new.numbers
    written.count = new.count
    append(.network(RecordedNetwork(number: number, snapshot: json, unavailable: unavailable)), at: time)
    return number
  }

  private mutating func append(_ entry: RecordEntry, at time: Timestamp) {
    let line = RecordLine.encode(TimedEntry(time: time, entry: entry).json)
    guard line.count <= RecordLine.limit, lines.count + line.count <= limit else {
      lost += 1
      return
    }
    lines += line
  }
}

extension NetworkSnapshot {
  fileprivate var unavailableByLink: [String: [String]] {
    var unavailable = Dictionary(links.map { ($0.name, $0.unavailable.map(\.rawValue).sorted()) }) { first, _ in first }
    unavailable[""] = self.unavailable.map(\.rawValue).sorted()
    return unavailable.filter { !$0.value.isEmpty }
  }
}

extension LocalTime {
  /// Seconds since the beginning of Monday.
  package var secondOfWeek: Int { (day.rawValue - 1) * 86_400 + second }

  package init(secondOfWeek: Int) {
    let week = 7 * 86_400
    let held = (secondOfWeek % week + week) % week
    self.init(day: Weekday(rawValue: held / 86_400 + 1) ?? .mon, second: held % 86_400)
  }
}
