package import FlightRecord
package import JSON
package import NetworkTypes
internal import PolicySource
package import RoamwardCore

/// The contents of the record: evaluations with everything that they depend on, events, and gaps, in order of their recording.
package struct RecordedHistory: Sendable {
  /// One evaluation of the rules, complete.
  package struct Pass: Sendable {
    package var time: Timestamp
    package var now: Moment
    package var localSecond: Int?
    /// The place in `networks`.
    package var network: Int
    /// The place in `policies`.
    package var policy: Int
    package var changedAt: Moment?
    package var running: Set<String>
    package var overrides: [String: RecordedOverride]
    /// `nil`: they follow from the evaluation before.
    package var waits: [String: Moment]?
    /// The member of each group that was in use, and the one that was tried beside it.
    package var turns: [String: [String]]
    package var decisions: [String: RecordedDecision]
    /// The tunnels whose decision is another one than before, or whose reason is.
    package var changed: Set<String>
    /// Whether nothing before it counts: the agent has started, or there is a gap.
    package var isFirst: Bool
  }

  /// A time that is not recorded.
  package struct Gap: Equatable, Sendable {
    package var from: Timestamp
    package var to: Timestamp
    /// Entries that could not be written; 0: no agent ran, or it was killed.
    package var lost: Int
  }

  package enum Item: Sendable {
    case pass(Pass)
    case event(Timestamp, JSON)
    case gap(Gap)

    package var time: Timestamp {
      switch self {
      case .pass(let pass): pass.time
      case .event(let time, _): time
      case .gap(let gap): gap.to
      }
    }
  }

  package var networks: [NetworkSnapshot] = []
  package private(set) var policies: [RecordedPolicy] = []
  package private(set) var items: [Item] = []
  /// Lines that are damaged.
  package private(set) var damaged = 0
  /// Evaluations that build on what is damaged.
  package private(set) var skipped = 0
  /// The forms in which the segments have the names of networks.
  package private(set) var names: Set<HistorySettings.Names> = []
  private var places: [String: Int] = [:]
  /// The time of the last entry; `nil`: there is none.
  package private(set) var end: Timestamp?
  /// Whether the last entry says that the agent has stopped.
  package private(set) var isEnded = false

  package init() {}

  /// `segments`: their bytes, oldest first.
  package init(segments: [[UInt8]]) {
    var reading = SegmentReading()
    for bytes in segments {
      reading = SegmentReading(before: reading.last?.decisions ?? [:], isFirst: true)
      let reader = RecordReader(bytes)
      damaged += reader.damaged
      for entry in reader.entries {
        if let entry { add(entry, &reading) } else { reading.lose() }
      }
    }
  }

  package var passes: some Sequence<Pass> { items.lazy.compactMap { if case .pass(let pass) = $0 { pass } else { nil } } }

  package var begin: Timestamp? { items.first?.time }

  /// The evaluation in force at a time; `nil`: the record has none.
  package func pass(at time: Timestamp) -> Pass? {
    var found: Pass?
    for item in items where item.time <= time {
      switch item {
      case .pass(let pass): found = pass
      case .gap(let gap): if gap.lost == 0 { found = nil }
      case .event: break
      }
    }
    return end.map { $0 < time } ?? true ? nil : found
  }

  /// Records that the agent is running: what is last in the record goes on until now.
  package mutating func goesOn(until now: Timestamp) {
    guard !isEnded, let last = end else { return }
    end = max(last, now)
  }

  // MARK: Reading

  /// The state on which the entries of a segment build.
  private struct SegmentReading {
    /// The last decisions of the segment before, which this one goes on from.
    var before: [String: RecordedDecision] = [:]
    var numbers: [Int: Int] = [:]
    var policy: Int?
    var last: Pass?
    var isFirst = false

    /// Something is missing: what follows may build on it, until an evaluation that is complete.
    mutating func lose() {
      policy = nil
      last = nil
      isFirst = true
    }
  }

  private mutating func add(_ timed: TimedEntry, _ reading: inout SegmentReading) {
    defer { end = timed.time }
    isEnded = false
    switch timed.entry {
    case .begin(let begin):
      reading = SegmentReading(before: begin.cause == .rotation ? reading.before : [:])
      names.insert(begin.names)
      let last = end ?? timed.time
      reading.isFirst = begin.cause == .start || begin.lost > 0 || begin.cause == .resumed
      if begin.cause == .start, end != nil {
        items.append(.gap(Gap(from: min(last, timed.time), to: timed.time, lost: 0)))
      } else if reading.isFirst, end != nil {
        items.append(.gap(Gap(from: min(last, timed.time), to: timed.time, lost: max(1, begin.lost))))
      }
    case .policy(let policy):
      policies.append(policy)
      reading.policy = policies.count - 1
    case .network(let network): reading.numbers[network.number] = place(of: network)
    case .pass(let pass): add(pass, at: timed.time, &reading)
    case .event(let event): items.append(.event(timed.time, event))
    case .end: isEnded = true
    }
  }

  private mutating func add(_ pass: RecordedPass, at time: Timestamp, _ reading: inout SegmentReading) {
    guard let network = reading.numbers[pass.network], let policy = reading.policy,
      let running = pass.running.map({ Set($0) }) ?? reading.last?.running,
      let overrides = pass.overrides ?? reading.last?.overrides, reading.last != nil || pass.waits != nil
    else {
      reading.lose()
      skipped += 1
      return
    }
    let tunnels = policies[policy].tunnels
    var decisions = (reading.last?.decisions ?? [:]).merging(pass.decisions) { $1 }
    if decisions.count > tunnels.count { decisions = decisions.filter { tunnels.contains($0.key) } }
    let last = reading.last?.decisions ?? reading.before
    let changed = pass.decisions.keys.filter { last[$0] != pass.decisions[$0] }
    let whole = Pass(
      time: time, now: pass.now, localSecond: pass.localSecond, network: network, policy: policy,
      changedAt: pass.changedAt ?? reading.last?.changedAt, running: running, overrides: overrides, waits: pass.waits,
      turns: pass.turns ?? reading.last?.turns ?? [:], decisions: decisions,
      changed: Set(changed), isFirst: reading.isFirst)
    reading.isFirst = false
    reading.last = whole
    items.append(.pass(whole))
  }

  /// The place of a network; networks that are the same share it. `nil`: it cannot be read.
  private mutating func place(of network: RecordedNetwork) -> Int? {
    let text = network.snapshot.text()
    let key = text + network.unavailable.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined()
    if let place = places[key] { return place }
    guard var snapshot = readSnapshot(text: Array(text.utf8), file: "the record").snapshot else {
      damaged += 1
      return nil
    }
    func kinds(_ link: String) -> Set<FactKind> { Set((network.unavailable[link] ?? []).compactMap { FactKind(rawValue: $0) }) }
    snapshot.unavailable = kinds("")
    for i in snapshot.links.indices { snapshot.links[i].unavailable = kinds(snapshot.links[i].name) }
    networks.append(snapshot)
    places[key] = networks.count - 1
    return networks.count - 1
  }
}

extension RecordedHistory {
  /// The network of an evaluation, with its time.
  package func snapshot(of pass: Pass, after elapsed: Duration = .zero) -> NetworkSnapshot {
    var snapshot = networks[pass.network]
    if let second = pass.localSecond {
      snapshot.time = .known(LocalTime(secondOfWeek: second + Int(clamping: elapsed.components.seconds)))
    }
    return snapshot
  }
}

extension NetworkSnapshot {
  /// The network for people: `wifi wlan0 "Cafe"`.
  package var label: String {
    guard let link = primaryLink else { return "no network" }
    let type = link.type.value?.rawValue ?? "unknown type"
    return "\(type) \(link.name)" + ((link.ssid.value ?? nil).map { " \"\($0)\"" } ?? "")
  }
}
