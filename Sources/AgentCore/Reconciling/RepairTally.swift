import ControlProtocol
import NetworkTypes
import RoamwardCore

/// Repairs that have not been told yet: those of one burst are told together, when it is over or after a minute. Pure: no clock.
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

  /// When the first of them has to be told.
  var nextDeadline: Moment? { bursts.values.map(\.end).min() }

  /// Several steps of one plan are one repair.
  mutating func add(_ subjects: some Sequence<RepairBackoff.Subject>, at now: Moment) {
    for subject in Set(subjects) {
      bursts[subject]?.last = now
      bursts[subject]?.count += 1
      if bursts[subject] == nil { bursts[subject] = Burst(since: now, last: now) }
    }
  }

  /// Takes out those that are over, in order.
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
    case .rules: .rulesChanged
    case .routes: .routesChanged
    case .link: .linkChanged
    }
  }

  var link: String? { if case .link(let name) = self { name } else { nil } }
}
