package import Metrics
package import NetworkTypes

/// The counters of a running gateway since its start. It keeps them as a file for `roamward-gateway metrics`.
package struct GatewayCounts: Hashable, Sendable {
  package var started: Timestamp
  /// Logins that brought a device its settings, by the factors that proved them: `password`, `password,code`, …
  package private(set) var accepted: [String: Int64] = [:]
  /// Refused ones, by the reason that the audit log has; `unbound`: the device was not taken.
  package private(set) var refused: [String: Int64] = [:]
  /// Logins that could not be judged: a store or a service of the network was away.
  package var unavailable: Int64 = 0
  /// Failures of the gateway's processes, by the service that each one is for.
  package private(set) var failures = Dictionary(uniqueKeysWithValues: Worker.allCases.map { ($0, Int64(0)) })
  /// Whether the machine was as the store says when the gateway last compared them.
  package var isApplied = true
  /// From the first check of a login to its settings, where nothing else was asked of the person.
  package private(set) var durations = DurationCounts()

  /// A service whose process is started again after a failure.
  package enum Worker: String, Hashable, Sendable, CaseIterable {
    /// Reads the bytes of logins and relays (`roamward-gateway-auth`).
    case logins
    /// Talks to the OpenID provider (`roamward-gateway-oidc`).
    case openID = "openid"
    /// Reads the requests for the page (`roamward-gateway-web`).
    case page
  }

  /// `reasons`: those of refusals that are counted from 0, so that a monitoring system sees the first one as an increase.
  package init(started: Timestamp, reasons: some Sequence<String> = []) {
    self.started = started
    for reason in reasons { refused[reason] = 0 }
  }

  /// `milliseconds`: `nil`: the person was asked something meanwhile.
  package mutating func accept(by methods: String, milliseconds: Int64?) {
    accepted[methods, default: 0] += 1
    if let milliseconds { durations.add(milliseconds: milliseconds) }
  }

  package mutating func refuse(_ reason: String) { refused[reason, default: 0] += 1 }

  package mutating func fail(_ worker: Worker) { failures[worker, default: 0] += 1 }
}

// As a file: a word and numbers a line.
extension GatewayCounts {
  package var text: String {
    func lines(_ word: String, _ counts: [String: Int64]) -> [String] {
      counts.sorted { $0.key < $1.key }.map { "\(word) \($0.key) \($0.value)" }
    }
    let buckets = (durations.counts + [durations.milliseconds]).map { "\($0)" }.joined(separator: " ")
    let all = ["started \(started.seconds)"] + lines("accepted", accepted) + lines("refused", refused) + ["unavailable \(unavailable)"]
    let workers = Worker.allCases.map { "failures \($0.rawValue) \(failures[$0] ?? 0)" }
    return (all + workers + ["applied \(isApplied ? 1 : 0)", "durations \(buckets)"]).map { $0 + "\n" }.joined()
  }

  /// `nil`: it is none of such a file.
  package init?(_ text: String) {
    var counts = Self(started: Timestamp(seconds: 0))
    var isDated = false
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ").map(String.init)
      guard let word = words.first, let last = words.last.flatMap({ Int64($0) }), last >= 0 else { return nil }
      switch (word, words.count) {
      case ("started", 2): (counts.started, isDated) = (Timestamp(seconds: last), true)
      case ("accepted", 3): counts.accepted[words[1]] = last
      case ("refused", 3): counts.refused[words[1]] = last
      case ("unavailable", 2): counts.unavailable = last
      case ("failures", 3): if let worker = Worker(rawValue: words[1]) { counts.failures[worker] = last }
      case ("applied", 2): counts.isApplied = last != 0
      case ("durations", _):
        let numbers = words.dropFirst().compactMap { Int64($0) }
        guard numbers.count == words.count - 1, let durations = DurationCounts(counts: numbers.dropLast(), milliseconds: last) else {
          return nil
        }
        counts.durations = durations
      // Of a later version.
      default: break
      }
    }
    guard isDated else { return nil }
    self = counts
  }
}
