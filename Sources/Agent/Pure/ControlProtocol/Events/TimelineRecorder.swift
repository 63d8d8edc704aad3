package import JSON
package import NetworkTypes
import RoamwardCore

/// Makes the steps of a timeline (docs/policy-reference.md, Timelines) from the events of a running agent, so that a simulation of it
/// decides the same.
///
/// A timeline counts in seconds, and a decision is expected a second after what caused it, because a network settles first. Where networks
/// follow each other more quickly, a step is as late as the last expectation before it: none is checked on a later network.
package struct TimelineRecorder: Sendable {
  private let beginning: Timestamp
  /// The time of the last network or override, and of the last step, in seconds.
  private var change: Int64 = 0
  private var latest: Int64 = 0

  package init(beginning: Timestamp) { self.beginning = beginning }

  /// The first step: the network that the recording begins on.
  package func first(_ network: JSON) -> JSON { Self.step(["network": network], at: 0) }

  /// The step for `event`; `nil` if a timeline does not show it.
  package mutating func step(for event: EventReport) -> JSON? {
    let time = max(0, event.time.seconds - beginning.seconds)
    switch event.happening {
    case let seen as SnapshotEvent: return changed(["network": seen.network], at: time)
    case let said as OverrideEvent where said.isSaid:
      guard let wants = said.override else { return changed(["resume": .string(said.tunnel)], at: time) }
      return changed([wants: .string(said.tunnel), "until": said.until, "reason": JSON(said.reason)], at: time)
    // Pending decisions end by themselves, possibly within the recording's resolution of one second.
    case let decided as DecisionEvent where decided.decision != Decision.Outcome.pending.rawValue:
      latest = max(time, change) + 1
      return Self.step(["expect": .object([JSON.Member(key: decided.tunnel, value: .string(decided.decision))])], at: latest)
    default: return nil
    }
  }

  private mutating func changed(_ step: JSON, at seconds: Int64) -> JSON {
    change = max(seconds, latest)
    latest = change
    return Self.step(step, at: change)
  }

  private static func step(_ step: JSON, at seconds: Int64) -> JSON {
    .object([JSON.Member(key: "at", value: .string("\(seconds)s"))] + (step.members ?? []).filter { $0.value != .null })
  }
}

extension OverrideEvent {
  /// The lifetime in the form of a timeline, which counts in seconds.
  fileprivate var until: JSON {
    switch lifetime {
    case .network?: "network-change"
    case .resume?: "resume"
    case .time?: .integer(max(1, (self.milliseconds ?? 0) / 1000))
    case nil: .null
    }
  }
}
