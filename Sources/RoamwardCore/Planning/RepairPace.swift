package import NetworkTypes

/// How often what others keep undoing is done again: at once, as a rule; but where the same thing is undone again and again, ever more seldom,
/// for a war of two programs helps nobody. Pure: no clock.
package struct RepairPace: Hashable, Sendable {
  /// What is undone, as far as it is counted together.
  package enum Subject: Hashable, Sendable, Comparable {
    case firewall, rules, routes, link(String)
  }

  /// So many repairs within the window are nothing to speak of.
  package static let freeRepairs = 5
  package static let window = Duration.seconds(60)
  package static let longestWait = Duration.seconds(300)
  /// What must not flow is never left open for longer than this: a replacement costs a millisecond.
  package static let longestWaitForFirewall = Duration.seconds(1)

  private struct Record: Hashable, Sendable {
    var repairs: [Moment] = []
    /// Between repairs, from now on; zero: at once.
    var wait = Duration.zero

    /// When it is as if nothing had happened.
    var quietAt: Moment? { repairs.last.map { $0 + max(RepairPace.window, wait * 2) } }
  }

  private var records: [Subject: Record] = [:]

  package init() {}

  /// Asks for one repair of each of the subjects now. Gives those that have to wait, and until when; the others are counted as done.
  package mutating func repair(_ subjects: Set<Subject>, at now: Moment) -> [Subject: Moment] {
    var waiting: [Subject: Moment] = [:]
    for subject in subjects {
      var record = records[subject] ?? Record()
      if record.quietAt.map({ $0 <= now }) ?? true { record = Record() }
      record.repairs.removeAll { now - $0 > max(Self.window, record.wait) }
      if record.wait == .zero, record.repairs.count >= Self.freeRepairs { record.wait = .seconds(1) }
      if let last = record.repairs.last, last + record.wait > now {
        waiting[subject] = last + record.wait
      } else {
        record.repairs.append(now)
        let limit = subject == .firewall ? Self.longestWaitForFirewall : Self.longestWait
        record.wait = min(record.wait * 2, limit)
      }
      records[subject] = record
    }
    return waiting
  }

  /// Subjects that are fought over now, in order.
  package func contested(at now: Moment) -> [Subject] {
    records.filter { _, record in record.wait > .zero && record.quietAt.map { now < $0 } ?? false }.keys.sorted()
  }

  /// When the first of them is over, should nothing more happen.
  package func endOfContests(at now: Moment) -> Moment? { contested(at: now).compactMap { records[$0]?.quietAt }.min() }

  /// `the firewall's table keeps being changed by somebody; it is put right again at most every second`.
  package func words(for subject: Subject) -> String {
    let wait = records[subject]?.wait ?? .zero
    return "\(subject) by another program; "
      + (wait > .zero
        ? "it is put right at most every \(wait.components.seconds) s, and more seldom as long as that goes on" : "it is put right")
  }
}

extension RepairPace.Subject: CustomStringConvertible {
  package var description: String {
    switch self {
    case .firewall: "the firewall's table keeps being changed"
    case .rules: "routing rules keep being taken away"
    case .routes: "routes of the tunnels' tables keep being changed"
    case .link(let name): "the link \(name) keeps being changed"
    }
  }
}

extension DesiredState {
  /// What each step puts right that was so already when everything was as `settled` wanted it; `nil` for one that makes or unmakes something new.
  package func repairs(by steps: [Step], since settled: DesiredState) -> [RepairPace.Subject?] {
    let hasRoutes = steps.contains { if case .addRoute = $0 { true } else if case .removeRoute = $0 { true } else { false } }
    let routes = hasRoutes ? Set(settled.routes) : []
    let kept = Set(Set(settled.links).intersection(links).map(\.name))
    return steps.map { step in
      switch step {
      case .replaceFirewall(let table): settled.firewall == .table(table) ? .firewall : nil
      case .addRule(let rule): settled.rules.contains(rule) ? .rules : nil
      case .removeRule(let rule): settled.rules.contains(rule) ? nil : .rules
      case .addRoute(let route): routes.contains(route) ? .routes : nil
      case .removeRoute(let route): routes.contains(route) ? nil : .routes
      default: step.link.flatMap { kept.contains($0) ? .link($0) : nil }
      }
    }
  }
}
