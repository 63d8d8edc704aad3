package import FlightRecord
package import NetworkTypes
package import RoamwardCore

/// The recorded evaluations, evaluated again: the agent's own scheduler, on the recorded inputs.
package struct Replay: Sendable {
  /// A recorded decision that the replay does not reproduce.
  package struct Difference: Equatable, Sendable {
    package var time: Timestamp
    package var tunnel: String
    package var recorded: RecordedDecision
    /// `nil`: the policies have no such tunnel.
    package var replayed: RecordedDecision?
  }

  /// Decisions that were made by other policies, which the record does not have.
  package struct OtherPolicies: Equatable, Sendable {
    package var from: Timestamp
    package var to: Timestamp
    package var decisions: Int
  }

  /// Recorded decisions that are the same.
  package private(set) var reproduced = 0
  package private(set) var differences: [Difference] = []
  /// The number of decisions of each tunnel that cannot be reproduced: the record leaves out facts on which they depend (`history: names`).
  package private(set) var unknown: [String: Int] = [:]
  package private(set) var others: [OtherPolicies] = []

  package var isComplete: Bool { differences.isEmpty && others.isEmpty && unknown.isEmpty }

  /// `identification`: of these policies, under the record's key.
  package init(_ history: RecordedHistory, policies: PolicySet, identification: String) {
    var scheduler = DecisionScheduler()
    let untold = Set(policies.tunnels.lazy.filter { !history.leftOut(for: $0, of: policies).isEmpty }.map(\.name))
    for pass in history.passes {
      guard history.policies[pass.policy].digest == identification else {
        scheduler = DecisionScheduler()
        record(pass)
        continue
      }
      if pass.isFirst { scheduler = DecisionScheduler() }
      scheduler.replay(overrides: pass.overrides.mapValues(\.manual), waits: pass.waits, turns: policies.turns(pass.turns))
      let snapshot = history.snapshot(of: pass)
      let verdicts = scheduler.decide(
        on: policies.owned(by: snapshot.users), snapshot, changed: pass.changedAt, at: pass.now, time: pass.time,
        isRunning: pass.running.contains)
      let replayed = Dictionary(verdicts.map { ($0.policy.name, RecordedDecision($0.decision, withText: false)) }) { first, _ in first }
      for (tunnel, recorded) in pass.decisions.sorted(by: { $0.key < $1.key }) {
        // The decision of another tunnel may be the one that is not known.
        let isOfOthers = !untold.isEmpty && replayed[tunnel].map { $0.outcome == recorded.outcome && $0.rule == recorded.rule } ?? false
        guard let found = replayed[tunnel], found.isSame(as: recorded) else {
          if replayed[tunnel] != nil, untold.contains(tunnel) || isOfOthers {
            unknown[tunnel, default: 0] += 1
            continue
          }
          differences.append(Difference(time: pass.time, tunnel: tunnel, recorded: recorded, replayed: replayed[tunnel]))
          continue
        }
        if pass.changed.contains(tunnel) { reproduced += 1 }
      }
    }
  }

  private mutating func record(_ pass: RecordedHistory.Pass) {
    guard !pass.changed.isEmpty else { return }
    if let last = others.last, pass.time >= last.to, pass.time - last.to < .seconds(86_400) {
      others[others.count - 1].to = pass.time
      others[others.count - 1].decisions += pass.changed.count
    } else {
      others.append(OtherPolicies(from: pass.time, to: pass.time, decisions: pass.changed.count))
    }
  }
}

extension PolicySet {
  /// Recorded turns, as the scheduler takes them.
  fileprivate func turns(_ recorded: [String: [String]]) -> [String: GroupTurn] {
    let turns = groups.compactMap { group -> (String, GroupTurn)? in
      guard let member = recorded[group.name]?.first else { return nil }
      let trial = recorded[group.name]?.dropFirst().first
      return (group.name, GroupTurn(group: group.name, members: group.members.map(\.name), member: member, trial: trial))
    }
    return Dictionary(turns) { first, _ in first }
  }
}

extension RecordedOverride {
  /// As the scheduler takes it. Its end is an entry of its own.
  var manual: ManualOverride { ManualOverride(wantsUp: wantsUp, since: since, lifetime: .resume) }
}
