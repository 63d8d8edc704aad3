package import JSON
package import NetworkTypes
package import RoamwardCore

/// One entry of the record, with its wall-clock time. Its JSON form has short keys: it is written for every change of the machine.
package struct TimedEntry: Equatable, Sendable {
  package var time: Timestamp
  package var entry: RecordEntry

  package init(time: Timestamp, entry: RecordEntry) {
    self.time = time
    self.entry = entry
  }
}

package enum RecordEntry: Equatable, Sendable {
  /// The first entry of a segment. The entries after it repeat everything that they build on.
  case begin(SegmentBegin)
  /// Another policy set is in force.
  case policy(RecordedPolicy)
  /// A network that evaluations refer to by its number.
  case network(RecordedNetwork)
  /// An evaluation of the rules.
  case pass(RecordedPass)
  /// An event as `roamward monitor --json` prints it, without version and time.
  case event(JSON)
  /// The agent stops.
  case end
}

/// The beginning of a segment.
package struct SegmentBegin: Equatable, Sendable {
  package enum Cause: String, Equatable, Sendable, CaseIterable {
    /// The agent has started: what it decided before is forgotten.
    case start
    /// The segment before was full or a day old.
    case rotation
    /// The policy's settings of the record have changed.
    case settings
    /// The record could be written again.
    case resumed
  }

  package static let version: Int64 = 1

  package var cause: Cause
  package var names: HistorySettings.Names
  /// Entries that could not be written since the segment before.
  package var lost: Int

  package init(cause: Cause, names: HistorySettings.Names, lost: Int = 0) {
    self.cause = cause
    self.names = names
    self.lost = lost
  }
}

/// A policy set: what identifies it, and what the record depends on.
package struct RecordedPolicy: Equatable, Sendable {
  /// A keyed digest of the set as text.
  package var digest: String
  package var tunnels: [String]
  /// The facts that its rules ask for; others are not in the networks.
  package var facts: [String]

  package init(digest: String, tunnels: [String], facts: [String]) {
    self.digest = digest
    self.tunnels = tunnels
    self.facts = facts
  }
}

/// A network in the form of a snapshot file, without the time.
package struct RecordedNetwork: Equatable, Sendable {
  package var number: Int
  package var snapshot: JSON
  /// Unknown facts that no source of the host can provide, by link; those of the machine under an empty name.
  package var unavailable: [String: [String]]

  package init(number: Int, snapshot: JSON, unavailable: [String: [String]]) {
    self.number = number
    self.snapshot = snapshot
    self.unavailable = unavailable
  }
}

/// An evaluation of the rules. `nil`: as in the evaluation before.
package struct RecordedPass: Equatable, Sendable {
  package var now: Moment
  /// Seconds since Monday, local time; `nil`: not known.
  package var localSecond: Int?
  package var network: Int
  package var changedAt: Moment?
  /// The tunnels that were up or coming up.
  package var running: [String]?
  package var overrides: [String: RecordedOverride]?
  /// The ends of waits, where they do not follow from the evaluations before.
  package var waits: [String: Moment]?
  /// The member of each group that is in use, and the one that is tried beside it.
  package var turns: [String: [String]]?
  /// The decisions that differ from those before.
  package var decisions: [String: RecordedDecision]

  package init(
    now: Moment, localSecond: Int?, network: Int, changedAt: Moment?, running: [String]?, overrides: [String: RecordedOverride]?,
    waits: [String: Moment]?, turns: [String: [String]]? = nil, decisions: [String: RecordedDecision]
  ) {
    self.now = now
    self.localSecond = localSecond
    self.network = network
    self.changedAt = changedAt
    self.running = running
    self.overrides = overrides
    self.waits = waits
    self.turns = turns
    self.decisions = decisions
  }
}

/// A manual override in force.
package struct RecordedOverride: Equatable, Sendable {
  package var wantsUp: Bool
  package var since: Timestamp

  package init(wantsUp: Bool, since: Timestamp) {
    self.wantsUp = wantsUp
    self.since = since
  }
}

/// A decision, as far as it is recorded.
package struct RecordedDecision: Equatable, Sendable {
  package var outcome: Decision.Outcome
  package var rule: Int?
  package var code: String
  /// The reason why it is not acted on, as a code, with the tunnel that comes first.
  package var inert: String?
  package var carries: String?
  /// The rule's name and the reason as text; `nil`: left out.
  package var name: String?
  package var reason: String?

  package init(_ decision: Decision, withText: Bool) {
    outcome = decision.outcome
    rule = decision.rule?.index
    code = decision.code.rawValue
    inert = decision.inert.map { inert in inert.code.rawValue + (inert.winner.map { " \($0)" } ?? "") }
    carries = decision.carries
    name = withText ? decision.rule?.name : nil
    reason = withText ? decision.reason : nil
  }

  fileprivate init(outcome: Decision.Outcome, rule: Int?, code: String, inert: String?, carries: String?, name: String?, reason: String?) {
    self.outcome = outcome
    self.rule = rule
    self.code = code
    self.inert = inert
    self.carries = carries
    self.name = name
    self.reason = reason
  }

  /// Whether both decide the same by the same rule; texts do not count.
  package func isSame(as other: RecordedDecision) -> Bool {
    outcome == other.outcome && rule == other.rule && code == other.code && inert == other.inert && carries == other.carries
  }
}

// MARK: JSON

extension TimedEntry {
  package var json: JSON {
    var members: [JSON.Member] = [.init(key: "t", value: .integer(time.milliseconds))]
    func add(_ key: String, _ value: JSON) { members.append(.init(key: key, value: value)) }
    switch entry {
    case .begin(let begin):
      add("begin", .string(begin.cause.rawValue))
      add("v", .integer(SegmentBegin.version))
      add("names", .string(begin.names.rawValue))
      if begin.lost > 0 { add("lost", JSON(begin.lost)) }
    case .policy(let policy):
      add("policy", .string(policy.digest))
      add("tunnels", JSON(policy.tunnels))
      add("facts", JSON(policy.facts))
    case .network(let network):
      add("n", JSON(network.number))
      add("network", network.snapshot)
      if !network.unavailable.isEmpty { add("unavailable", object(network.unavailable) { JSON($0) }) }
    case .pass(let pass): members += pass.members
    case .event(let event): add("event", event)
    case .end: add("end", true)
    }
    return .object(members)
  }

  /// `nil`: it is no entry of this version.
  package init?(_ json: JSON) {
    guard let time = json["t"]?.integer, let entry = RecordEntry(json) else { return nil }
    self.init(time: Timestamp(milliseconds: time), entry: entry)
  }
}

extension RecordEntry {
  fileprivate init?(_ json: JSON) {
    if let now = json["m"]?.integer {
      guard let pass = RecordedPass(json, now: now) else { return nil }
      self = .pass(pass)
    } else if let event = json["event"] {
      self = .event(event)
    } else if let snapshot = json["network"] {
      guard let number = json["n"]?.integer.flatMap({ Int(exactly: $0) }) else { return nil }
      let unavailable = json["unavailable"]?.members?.map { ($0.key, $0.value.texts) } ?? []
      self = .network(
        RecordedNetwork(number: number, snapshot: snapshot, unavailable: Dictionary(unavailable) { first, _ in first }))
    } else if let digest = json["policy"]?.string {
      self = .policy(RecordedPolicy(digest: digest, tunnels: json["tunnels"]?.texts ?? [], facts: json["facts"]?.texts ?? []))
    } else if let cause = json["begin"]?.string.flatMap({ SegmentBegin.Cause(rawValue: $0) }) {
      guard json["v"]?.integer == SegmentBegin.version, let names = json["names"]?.string.flatMap({ HistorySettings.Names(rawValue: $0) })
      else { return nil }
      self = .begin(SegmentBegin(cause: cause, names: names, lost: json["lost"]?.integer.flatMap { Int(exactly: $0) } ?? 0))
    } else if json["end"]?.bool == true {
      self = .end
    } else {
      return nil
    }
  }
}

extension RecordedPass {
  fileprivate var members: [JSON.Member] {
    var members: [JSON.Member] = [.init(key: "m", value: JSON(now)), .init(key: "n", value: JSON(network))]
    func add(_ key: String, _ value: JSON?) { if let value { members.append(.init(key: key, value: value)) } }
    add("l", localSecond.map { JSON($0) })
    add("c", changedAt.map { JSON($0) })
    add("up", running.map { JSON($0) })
    add(
      "by-hand",
      overrides.map { object($0) { .array([.bool($0.wantsUp), .integer($0.since.milliseconds)]) } })
    add("waits", waits.map { object($0) { JSON($0) } })
    add("in-use", turns.map { object($0) { JSON($0) } })
    if !decisions.isEmpty { add("d", object(decisions) { $0.json }) }
    return members
  }

  fileprivate init?(_ json: JSON, now: Int64) {
    guard let now = UInt64(exactly: now), let network = json["n"]?.integer.flatMap({ Int(exactly: $0) }) else { return nil }
    self.init(
      now: Moment(nanoseconds: now), localSecond: json["l"]?.integer.flatMap { Int(exactly: $0) }, network: network,
      changedAt: json["c"]?.moment, running: json["up"].map(\.texts),
      overrides: json["by-hand"].map { dictionary($0) { RecordedOverride($0) } }, waits: json["waits"].map { dictionary($0) { $0.moment } },
      turns: json["in-use"].map { dictionary($0) { $0.texts } }, decisions: json["d"].map { dictionary($0) { RecordedDecision($0) } } ?? [:]
    )
  }
}

extension RecordedOverride {
  fileprivate init?(_ json: JSON) {
    guard let parts = json.array, parts.count == 2, let wantsUp = parts[0].bool, let since = parts[1].integer else { return nil }
    self.init(wantsUp: wantsUp, since: Timestamp(milliseconds: since))
  }
}

extension RecordedDecision {
  fileprivate var json: JSON {
    var parts: [JSON] = [.string(outcome.rawValue), JSON(rule), .string(code), JSON(inert), JSON(carries), JSON(name), JSON(reason)]
    while parts.last == .null { parts.removeLast() }
    return .array(parts)
  }

  fileprivate init?(_ json: JSON) {
    guard let parts = json.array, parts.count >= 3, let outcome = parts[0].string.flatMap({ Decision.Outcome(rawValue: $0) }),
      let code = parts[2].string
    else { return nil }
    func text(_ place: Int) -> String? { parts.count > place ? parts[place].string : nil }
    self.init(
      outcome: outcome, rule: parts[1].integer.flatMap { Int(exactly: $0) }, code: code, inert: text(3), carries: text(4), name: text(5),
      reason: text(6))
  }
}

extension JSON {
  fileprivate init(_ moment: Moment) { self = .integer(Int64(clamping: moment.nanoseconds)) }
  fileprivate var moment: Moment? { integer.flatMap { UInt64(exactly: $0) }.map { Moment(nanoseconds: $0) } }
  fileprivate var texts: [String] { array?.compactMap(\.string) ?? [] }
}

private func object<Value>(_ values: [String: Value], _ json: (Value) -> JSON) -> JSON {
  .object(values.sorted { $0.key < $1.key }.map { JSON.Member(key: $0.key, value: json($0.value)) })
}

private func dictionary<Value>(_ json: JSON, _ value: (JSON) -> Value?) -> [String: Value] {
  let pairs = (json.members ?? []).compactMap { member in value(member.value).map { (member.key, $0) } }
  return Dictionary(pairs) { first, _ in first }
}
