package import KernelModel
package import NetworkTypes

/// Limits how often changes by other programs are repaired. A repair is immediate at first, and delayed more and more if the same change
/// comes back, so that two programs do not fight. Pure: no clock.
package struct RepairBackoff: Hashable, Sendable {
  /// A group of changes that are counted together.
  package enum Subject: Hashable, Sendable, Comparable {
    case firewall, nameCapture, rules, routes, link(String)
  }

  /// The number of repairs within the window that cause no delay.
  package static let freeRepairs = 5
  package static let window = Duration.seconds(60)
  package static let longestWait = Duration.seconds(300)
  /// The longest delay of a firewall repair. The kill switch must not stay open for longer, and a replacement costs a millisecond.
  package static let longestWaitForFirewall = Duration.seconds(1)

  private struct Record: Hashable, Sendable {
    var repairs: [Moment] = []
    /// The pause between repairs from now on; zero: immediate.
    var wait = Duration.zero

    /// When the repairs are forgotten.
    var quietAt: Moment? { repairs.last.map { $0 + max(RepairBackoff.window, wait * 2) } }
  }

  private var records: [Subject: Record] = [:]

  package init() {}

  /// Requests one repair of each subject now. Returns those that have to wait, with their times; the others are counted as done.
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

  /// The subjects that are in conflict now, in order.
  package func contested(at now: Moment) -> [Subject] {
    records.filter { _, record in record.wait > .zero && record.quietAt.map { now < $0 } ?? false }.keys.sorted()
  }

  /// When the first conflict ends, if no further repair is needed.
  package func endOfContests(at now: Moment) -> Moment? { contested(at: now).compactMap { records[$0]?.quietAt }.min() }

  /// The text for people: `routing rules keep being taken away by another program; it is repaired`.
  package func text(for subject: Subject) -> String {
    let wait = records[subject]?.wait ?? .zero
    return "\(subject) by another program; "
      + (wait > .zero
        ? "it is repaired at most every \(wait.components.seconds) s, and less often while this continues" : "it is repaired")
  }
}

extension RepairBackoff.Subject: CustomStringConvertible {
  package var description: String {
    switch self {
    case .firewall: "the firewall's table keeps being changed"
    case .nameCapture: "the table of `names: capture` keeps being changed"
    case .rules: "routing rules keep being taken away"
    case .routes: "routes of the tunnels' tables keep being changed"
    case .link(let name): "the link \(name) keeps being changed"
    }
  }
}

/// The steps that are executed now.
package struct AdmittedSteps: Equatable, Sendable {
  package var steps: [Step] = []
  /// The subject of each step that is a repair.
  package var repairs: [RepairBackoff.Subject] = []
  /// The earliest time of a delayed repair.
  package var nextRepair: Moment?
}

extension RepairBackoff {
  /// Removes the repairs that are delayed. Steps that follow a change of the desired state are never delayed, and neither are removals.
  package mutating func admit(_ steps: [Step], after applied: AppliedState, at now: Moment) -> AdmittedSteps {
    let subjects = applied.repairs(by: steps)
    var found = Set<Subject>()
    for case let subject? in subjects { found.insert(subject) }
    if found.isEmpty { return AdmittedSteps(steps: steps) }
    let waiting = repair(found, at: now)
    let isDelayed = zip(steps, subjects).map { step, subject in !step.traits.takesAway && subject.map { waiting[$0] != nil } == true }
    let delayed = DelayedSteps(zip(steps, isDelayed).lazy.filter(\.1).map(\.0))
    var admitted = AdmittedSteps(nextRepair: waiting.values.min())
    for i in steps.indices where !isDelayed[i] && !delayed.holdBack(steps[i]) {
      admitted.steps.append(steps[i])
      if let subject = subjects[i] { admitted.repairs.append(subject) }
    }
    return admitted
  }
}

/// The steps that depend on a delayed repair, or that would only make room for it.
private struct DelayedSteps {
  private var missingLinks: Set<String> = []
  private var linksDown: Set<String> = []
  private var routes: Set<RouteKey> = []

  init(_ steps: some Sequence<Step>) {
    for step in steps {
      switch step {
      case .addWireGuardLink(let link, _), .addTUNLink(let link, _), .addXFRMLink(let link, _), .addDummyLink(let link):
        missingLinks.insert(link)
      case .setUp(let link): linksDown.insert(link)
      case .addRoute(let route): routes.insert(RouteKey(route))
      default: break
      }
    }
  }

  func holdBack(_ step: Step) -> Bool {
    switch step {
    case .removeRoute(let route): routes.contains(RouteKey(route))
    case .addRoute(let route): route.link.map { missingLinks.contains($0) || linksDown.contains($0) } ?? false
    default: !step.traits.takesAway && step.link.map(missingLinks.contains) ?? false
    }
  }
}
