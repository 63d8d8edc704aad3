internal import JSON
package import NetworkTypes

/// The reason for a tunnel's state, in one line: the decision, and when the state will follow it if it does not yet.
package struct StateReason: Equatable, Sendable, CustomStringConvertible {
  package let code: ReasonCode
  package let description: String

  /// `policy` is `nil` if it is gone. `isWanted`: the tunnel is up, or coming up. `timers`: its pending timers, the next first.
  /// `isFallingAsleep`: the tunnel is down until the machine wakes.
  package init(
    _ policy: TunnelPolicy?, _ decision: Decision?, override: ManualOverride?, isWanted: Bool, timers: [TunnelTimer] = [], at now: Moment,
    isStopping: Bool = false, isFallingAsleep: Bool = false
  ) {
    code =
      if isStopping { .stopping } else if policy != nil, isFallingAsleep { .sleep } else if let policy {
        Self.code(policy, decision, override)
      } else { .policyRemoved }
    description =
      if isStopping {
        "the agent is stopping"
      } else if policy != nil, isFallingAsleep {
        "the machine goes to sleep (disconnect-on-sleep)"
      } else if let policy {
        Self.text(policy, decision, override, isWanted, timers, now)
      } else {
        "its policy is gone"
      }
  }

  private static func code(_ policy: TunnelPolicy, _ decision: Decision?, _ override: ManualOverride?) -> ReasonCode {
    if !policy.isEnabled { return policy.availability.absentOwner == nil ? .disabled : .ownerAway }
    if let inert = decision?.inert, inert.isOfOthers { return inert.code }
    if decision?.carries != nil, override == nil { return .carries }
    if override != nil { return .manualOverride }
    if !policy.onDemand.isEnabled { return .onDemandOff }
    return decision?.code ?? .undecided
  }

  private static func text(
    _ policy: TunnelPolicy, _ decision: Decision?, _ override: ManualOverride?, _ isWanted: Bool, _ timers: [TunnelTimer], _ now: Moment
  ) -> String {
    if !policy.isEnabled { return policy.availability.absentOwner.map { textOfAbsence(of: $0) } ?? "disabled by its policy" }
    if let inert = decision?.inert, inert.isOfOthers {
      return inert.text + (override?.wantsUp ?? false ? ", despite the manual override (up)" : "; " + (decision?.ownText ?? ""))
    }
    if let override {
      let names = (override.options.members ?? []).map(\.key).joined(separator: ", ")
      let options = names.isEmpty ? "" : ", with options of its own (\(names))"
      return "manual override (\(override.wantsUp ? "up" : "down")) \(override.lifetime.text)\(options); `roamward resume` ends it"
    }
    if let inner = decision?.carries {
      return "\(inner) goes through it; " + (policy.onDemand.isEnabled ? decision?.ownText ?? "" : "on-demand is off")
    }
    if !policy.onDemand.isEnabled { return "on-demand is off" }
    guard let decision else { return "not decided yet" }
    let who = decision.rule?.text ?? decision.ruleReason
    let reason = decision.rule == nil ? "" : ": \(decision.ruleReason)"
    let delay = timers.first { $0.what == .release || $0.what == .settle }.map {
      ", in \(RoamwardCore.text(for: max(.zero, $0.at - now)))"
    }
    switch decision.outcome {
    case .disconnect where isWanted: return "still up: \(who) wants it down\(delay ?? "")\(reason)"
    case .connect where !isWanted && delay != nil: return "still down: \(who) wants it up\(delay ?? "")\(reason)"
    case .ignore where isWanted: return "left up by \(who)\(reason)"
    case .evaluateConnection: return who + reason + (decision.inert.map { "; not acted on, because \($0.text)" } ?? "")
    case .connect, .disconnect, .ignore, .pending: return who + reason
    }
  }
}

extension Decision {
  /// The decision's own reason: `rule 2 "trusted": in network home`.
  fileprivate var ownText: String { rule.map { "\($0.text): \(ruleReason)" } ?? ruleReason }
}
