import ControlProtocol
import NetworkTypes
import RoamwardCore

/// Repairs that are not yet reported. Those of one burst are reported together, at its end or after a minute. Pure: no clock.
struct RepairTally {
  private static let quiet = Duration.seconds(2)
  private static let longest = Duration.seconds(60)

  private struct Burst {
    let since: Moment
    var last: Moment
    var count = 1

    var end: Moment { min(last + RepairTally.quiet, since + RepairTally.longest) }
  }

  private var bursts: [RepairBackoff.Subject: Burst] = [:]

  /// The moment of the first report that is due.
  var nextDeadline: Moment? { bursts.values.map(\.end).min() }

  /// Counts repairs. Several steps of one plan are one repair.
  mutating func add(_ subjects: some Sequence<RepairBackoff.Subject>, at now: Moment) {
    for subject in Set(subjects) {
      bursts[subject]?.last = now
      bursts[subject]?.count += 1
      if bursts[subject] == nil { bursts[subject] = Burst(since: now, last: now) }
    }
  }

  /// Removes and returns the bursts that have ended, in order.
  mutating func takeEnded(at now: Moment) -> [(subject: RepairBackoff.Subject, count: Int)] {
    let ended = bursts.filter { $0.value.end <= now }.sorted { $0.key < $1.key }
    for (subject, _) in ended { bursts[subject] = nil }
    return ended.map { ($0.key, $0.value.count) }
  }
}

extension RepairBackoff.Subject {
  var reason: ReasonCode {
    switch self {
    case .firewall: .killSwitchChanged
    case .nameCapture: .captureChanged
    case .rules: .rulesChanged
    case .routes: .routesChanged
    case .link: .linkChanged
    }
  }

  var link: String? { if case .link(let name) = self { name } else { nil } }
}
