package import NetworkTypes

/// Which of several gateways a client uses: the nearest one by measured round trips, with hysteresis, or the one that the policy names
/// (docs/decisions/0065). Round trips and times go in, the gateway to change to comes out.
///
/// A round of probes measures all of them. A change needs a clear gain in each round of a span, and the gateway that is left, or that has
/// died, needs twice the span to come back.
package struct SiteMachine: Sendable {
  /// A gateway's public key.
  package typealias Key = [UInt8]

  /// The policy's choice of a gateway: `gateway` of the provider's options.
  package enum Preference: Equatable, Sendable {
    case nearest
    case named(String)
  }

  package struct Candidate: Equatable, Sendable {
    package let key: Key
    package let name: String

    package init(key: Key, name: String) {
      self.key = key
      self.name = name
    }
  }

  /// Answers to a round's probes are awaited for so long.
  package static let patience = Duration.seconds(2)
  /// From the connection to the first round, and the longest time between two. Each is twice as long as the one before.
  package static let firstPause = Duration.seconds(6)
  package static let longestPause = Duration.seconds(640)
  /// Between rounds while another gateway is better, or the present one is suspected to be dead. The engine sends a peer no two initiations
  /// within 5 s.
  static let shortPause = Duration.seconds(4)
  /// The least gain: this much, and a quarter of the present round trip.
  package static let gain = Duration.milliseconds(5)
  /// For so long, and in so many rounds, another one has to be better.
  package static let span = Duration.seconds(15)
  static let rounds = 4
  /// The span is doubled at most so often: 16 minutes.
  static let mostFaults = 6
  /// A gateway that has carried for so long has no faults any more.
  static let trust = Duration.seconds(600)
  /// Round trips that count.
  private static let memory = 3
  /// An answer is news for so long.
  private static let news = Duration.seconds(15)

  /// The measurements of a gateway, and its faults.
  private struct Record: Equatable, Sendable {
    var samples: [Duration] = []
    var answered: Moment?
    /// Whether the last round had no answer of it.
    var isMissing = false
    var faults = 0
  }

  package let preference: Preference
  private(set) var candidates: [Candidate] = []
  private var records: [Key: Record] = [:]
  private(set) var present: Key = []
  /// Since when it is connected; `nil`: it is not.
  private var since: Moment?
  private var pause = Self.firstPause
  private var nextRound: Moment?
  private var lastRound: Moment?
  private var better: (key: Key, since: Moment, rounds: Int)?
  /// The gateways that were silent in this search.
  private var tried: Set<Key> = []

  package init(_ preference: Preference) { self.preference = preference }

  private var isMeasuring: Bool { preference == .nearest && candidates.count > 1 }

  /// The gateway that the policy names, if it is another one.
  package var wanted: Key? {
    guard case .named(let name) = preference, let key = candidates.first(where: { $0.name == name })?.key, key != present else {
      return nil
    }
    return key
  }

  /// Whether there is a choice.
  package var hasOthers: Bool { isMeasuring }

  /// The list, as a login or a push brings it, and the present gateway.
  package mutating func update(_ candidates: [Candidate], present: Key, at now: Moment) {
    guard candidates != self.candidates || present != self.present else { return }
    self.candidates = candidates
    let keys = Set(candidates.map(\.key))
    records = records.filter { keys.contains($0.key) }
    if let key = better?.key, !keys.contains(key) { better = nil }
    self.present = present
    if !isMeasuring {
      (nextRound, better) = (nil, nil)
    } else if since != nil, nextRound == nil {
      nextRound = now + Self.firstPause
    }
  }

  /// The present gateway is connected by UDP.
  package mutating func connected(at now: Moment) {
    (since, better, tried, pause) = (now, nil, [], Self.firstPause)
    nextRound = isMeasuring ? now + pause : nil
    records[present, default: Record()].answered = now
    records[present]?.isMissing = false
  }

  /// It is sought again, or connected by TCP: nothing is measured.
  package mutating func suspend() { (since, nextRound, better) = (nil, nil, nil) }

  /// In another network, what was measured counts no more.
  package mutating func forget() { records = [:] }

  /// When the next round begins.
  package var deadline: Moment? { nextRound }

  /// The gateways to probe now.
  package mutating func look(at now: Moment) -> [Key] {
    guard let due = nextRound, now >= due, isMeasuring else { return [] }
    (nextRound, lastRound) = (nil, now)
    return candidates.map(\.key)
  }

  /// Data is not answered: the next round, which shows the gateways that answer, begins soon.
  package mutating func suspect(at now: Moment) {
    guard since != nil, isMeasuring, let due = nextRound else { return }
    nextRound = min(due, max(now, (lastRound ?? now) + Self.shortPause))
  }

  /// The round trips of a round. Returns the gateway to change to.
  package mutating func finish(_ trips: [Key: Duration], at now: Moment) -> Key? {
    guard let since, isMeasuring else { return nil }
    for key in candidates.map(\.key) {
      var record = records[key, default: Record()]
      record.isMissing = trips[key] == nil
      if let trip = trips[key] {
        record.samples = record.samples.suffix(Self.memory - 1) + [trip]
        record.answered = now
      } else if key != present {
        record.samples = []
      }
      records[key] = record
    }
    if now - since >= Self.trust { records[present]?.faults = 0 }
    compare(trips, at: now)
    if let better, better.rounds >= Self.rounds, now - better.since >= span(of: better.key) {
      // It has to earn its return.
      fault(of: present)
      return better.key
    }
    pause = better == nil ? min(pause * 2, Self.longestPause) : Self.shortPause
    nextRound = now + pause
    return nil
  }

  private mutating func compare(_ trips: [Key: Duration], at now: Moment) {
    // A round in which the present one is missing says nothing of a gain: it is `suspect` that matters then.
    guard trips[present] != nil, let own = roundTrip(of: present) else { return better = nil }
    let others = candidates.map(\.key).filter { $0 != present && trips[$0] != nil }
    let best = others.compactMap { key in roundTrip(of: key).map { (key, $0) } }.min { $0.1 < $1.1 }
    guard let best, best.1 + max(Self.gain, own / 4) <= own else { return better = nil }
    let isSame = better?.key == best.0
    better = (best.0, isSame ? better?.since ?? now : now, isSame ? (better?.rounds ?? 0) + 1 : 1)
  }

  private func span(of key: Key) -> Duration { Self.span * (1 << min(records[key]?.faults ?? 0, Self.mostFaults)) }

  private mutating func fault(of key: Key) { records[key, default: Record()].faults += 1 }

  /// The present gateway does not answer data. Returns another one that has answered since.
  package mutating func died(at now: Moment) -> Key? {
    guard isMeasuring, records[present]?.isMissing ?? false else { return nil }
    let alive = order.first { key in (records[key]?.answered).map { now - $0 < Self.news } ?? false }
    guard let alive else { return nil }
    fault(of: present)
    tried.insert(present)
    return alive
  }

  /// A gateway was sought in vain. Returns the one to seek next; `nil`: all of them were.
  package mutating func silent(at now: Moment) -> Key? {
    guard isMeasuring else { return nil }
    if tried.insert(present).inserted { fault(of: present) }
    records[present]?.isMissing = true
    return order.first { !tried.contains($0) }
  }

  /// All of them are sought again.
  package mutating func searchAgain() { tried = [] }

  /// The others: those that answered last first, then the nearest, then as in the list.
  private var order: [Key] {
    candidates.enumerated().filter { $0.element.key != present }.map { index, candidate in
      let isMissing = records[candidate.key]?.isMissing ?? true
      return (key: candidate.key, rank: (isMissing ? 1 : 0, roundTrip(of: candidate.key) ?? .seconds(3600), index))
    }.sorted { $0.rank < $1.rank }.map(\.key)
  }

  /// The median of the last round trips.
  package func roundTrip(of key: Key) -> Duration? {
    guard let samples = records[key]?.samples.sorted(), !samples.isEmpty else { return nil }
    return samples[samples.count / 2]
  }

  /// Whether it had no answer in the last round.
  package func isMissing(_ key: Key) -> Bool { records[key]?.isMissing ?? false }

  /// `gateway paris, 12 ms; lyon, 35 ms; nice does not answer`; empty where there is no choice.
  package var text: String {
    guard candidates.count > 1 else { return "" }
    let own = candidates.first { $0.key == present }?.name ?? "?"
    var parts = ["gateway \(own)\(words(present))"]
    switch preference {
    case .nearest:
      parts += candidates.filter { $0.key != present && (isMissing($0.key) || roundTrip(of: $0.key) != nil) }.map { other in
        isMissing(other.key) ? "\(other.name) does not answer" : "\(other.name)\(words(other.key))"
      }
    case .named(let name):
      parts += [name == own ? "as the policy wants" : "the policy wants \(name), which is not in the gateways' list"]
    }
    return parts.joined(separator: "; ")
  }

  private func words(_ key: Key) -> String {
    guard let trip = roundTrip(of: key) else { return "" }
    let microseconds = trip.components.seconds * 1_000_000 + trip.components.attoseconds / 1_000_000_000_000
    return microseconds < 1000 ? ", below 1 ms" : ", \((microseconds + 500) / 1000) ms"
  }
}
