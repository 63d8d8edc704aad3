import ControlProtocol
import NetworkTypes
import RoamwardCore

/// A moment at which the agent wakes without an event, with the reason.
struct Deadline: Equatable, Sendable {
  /// The work at a deadline, in ascending order of effort.
  enum Action: Int, Equatable, Sendable, Comparable {
    case sample, poll
    /// A pass on the last observation.
    case pass
    /// A pass that observes the machine first.
    case look

    static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
  }

  let reason: WakeReason
  let at: Moment
  /// `nil`: it concerns no single tunnel.
  var tunnel: String?

  var action: Action {
    switch reason {
    case .sample: .sample
    case .poll: .poll
    case .networkSettled, .observation, .retry, .repair, .resolver, .networkEvent, .facts, .damage, .sleep, .packet, .firstPacket: .look
    case .contestOver, .repairsOver, .portal, .trial, .suspensionOver, .rules, .probe, .stop, .underlay, .tunnel, .nameServers, .policies,
      .lookup, .routesByName, .programsEnded:
      .pass
    }
  }
}

/// The pending deadlines, and the reason of the last wake-up.
struct Agenda {
  private(set) var deadlines: [Deadline] = []
  var lastWake: Deadline?
  var polling = Polling()
  var sleep = SleepWatch()
  var counters = StatusReport.Counters()

  var next: Deadline? { deadlines.min { $0.at < $1.at } }

  /// Whether no pass and no poll is due: only samples of connected tunnels are pending.
  var isAtRest: Bool { deadlines.allSatisfy { $0.action == .sample } }

  /// Whether nothing but samples is due within a second.
  func isQuiet(at now: Moment) -> Bool { deadlines.allSatisfy { $0.action == .sample || $0.at > now + .seconds(1) } }

  mutating func set(_ deadlines: [Deadline]) { self.deadlines = deadlines }

  /// The deadlines that have come, in order.
  func due(at now: Moment) -> [Deadline] { deadlines.filter { $0.at <= now }.sorted { $0.at < $1.at } }
}

extension AgentState {
  /// All pending deadlines, as of now.
  func openDeadlines(probe: Moment?, trial: Moment?, at now: Moment, wallClock: Timestamp) -> [Deadline] {
    let awaiting = tunnels.engaged.filter(\.isPolled)
    agenda.polling.await(Dictionary(uniqueKeysWithValues: awaiting.map { ($0.policy.name, $0.machine.state) }), at: now)
    let moments: [(WakeReason, Moment?)] =
      schedule.deadlines + repairs.deadlines(at: now) + [
        (.resolver, resolver.nextDeadline(at: now)), (.portal, killSwitch.portalDeadline(at: now)), (.trial, trial),
        (.suspensionOver, killSwitch.machine.suspension?.lifetime.end.map { now + max(.zero, $0 - wallClock) }),
        (.rules, decisions.nextDeadline(of: set, seen.snapshot, seen: seen.at, at: now, time: wallClock)), (.probe, probe),
        (.nameServers, lookups.nextDeadline), (.stop, stop.cutAt), (.underlay, seen.pathNews.event.map { _ in now }),
        (.poll, agenda.polling.next), (.sleep, agenda.sleep.deadline(at: now)), (.routesByName, names.routes.nextDeadline),
        (.programsEnded, killSwitch.machine.ended.map(\.until).min()),
      ]
    let common = moments.compactMap { reason, at in at.map { Deadline(reason: reason, at: $0) } }
    return tunnels.timed.reduce(into: common) { deadlines, tunnel in
      func add(_ reason: WakeReason, _ at: Moment?) {
        if let at { deadlines.append(Deadline(reason: reason, at: at, tunnel: tunnel.policy.name)) }
      }
      add(.tunnel, tunnel.machine.nextDeadline)
      add(.sample, tunnel.nextSample)
      add(.firstPacket, tunnel.nextWatch)
      add(.tunnel, tunnel.driverDeadline)
    }
  }
}
