package import FlightRecord
package import NetworkTypes
package import RoamwardCore

/// One moment of the record: the network, what was decided, and the rules with what they find on that network.
package struct PastMoment: Sendable {
  package struct Tunnel: Sendable {
    package var name: String
    package var recorded: RecordedDecision
    /// When this decision was made; `nil`: before the record begins.
    package var since: Timestamp?
    package var state: String?
    /// The manual override in force; whether it wants the tunnel up.
    package var override: RecordedOverride?
    /// The rules as they are now; empty without a policy.
    package var trace: [RuleTrace]
    package var policy: TunnelPolicy?
  }

  package var time: Timestamp
  package var network: NetworkSnapshot
  package var tunnels: [Tunnel]
  /// Whether the rules shown are those that decided.
  package var areRulesTheSame: Bool
  /// The policies that decided.
  package var policies: RecordedPolicy

  /// `nil`: nothing is recorded for this time.
  package init?(_ history: RecordedHistory, at time: Timestamp, policies: PolicySet, identification: String, only: Set<String>? = nil) {
    guard let pass = history.pass(at: time) else { return nil }
    self.time = time
    network = history.snapshot(of: pass, after: max(.zero, time - pass.time))
    self.policies = history.policies[pass.policy]
    areRulesTheSame = self.policies.digest == identification
    var since: [String: Timestamp] = [:]
    var decided: [String: RecordedDecision] = [:]
    for other in history.passes where other.time <= time {
      for (name, decision) in other.decisions where decided[name].map({ !$0.isSame(as: decision) }) ?? true {
        decided[name] = decision
        since[name] = other.time
      }
    }
    let evaluator = Evaluator(networks: policies.networks)
    let network = network
    tunnels = pass.decisions.keys.sorted().filter { only?.contains($0) ?? true }.compactMap { name in
      guard let recorded = pass.decisions[name] else { return nil }
      let policy = policies.tunnel(named: name)
      return Tunnel(
        name: name, recorded: recorded, since: since[name],
        state: history.stateSpans(of: name).last { $0.from <= time && time <= $0.to }?.value, override: pass.overrides[name],
        trace: policy.map { evaluator.trace($0, on: network) } ?? [], policy: policy)
    }
  }

  /// The text of `roamward why --at`.
  package func text(_ calendar: LocalCalendar) -> String {
    var lines = ["\(calendar.text(time)): \(network.label)"]
    if !areRulesTheSame {
      lines.append("The policies have changed since: the rules below are the present ones, on the network of that time.")
    }
    for tunnel in tunnels {
      lines.append("")
      lines += tunnel.text(calendar, at: time)
    }
    return lines.map { $0 + "\n" }.joined()
  }
}

extension PastMoment.Tunnel {
  /// `connect, by rule 2 "elsewhere": always`.
  package var decisionText: String {
    let rule = recorded.rule.map { RoamwardCore.text(forRule: $0, name: recorded.name ?? policy?.ruleName($0)) }
    let because = recorded.reason.map { rule == nil ? $0 : "\(rule ?? ""): \($0)" } ?? rule ?? recorded.code
    return "\(recorded.outcome.rawValue), because \(because)"
  }

  fileprivate func text(_ calendar: LocalCalendar, at time: Timestamp) -> [String] {
    var lines = ["\(name): \(decisionText)"]
    if let since { lines.append("  decided \(calendar.text(since)), \(RoamwardCore.text(for: time - since)) before") }
    if let state { lines.append("  the tunnel was \(state)") }
    if let override { lines.append("  manual override (\(override.wantsUp ? "up" : "down")) since \(calendar.text(override.since))") }
    if let inert = recorded.inert { lines.append("  not acted on: \(inert)") }
    if let carries = recorded.carries { lines.append("  up all the same: \(carries) goes through it") }
    guard let policy else { return lines + ["  no policy of now describes it, so its rules cannot be shown"] }
    return lines + explanation(of: policy, decidedBy: recorded.rule, trace: trace)
  }
}

extension TunnelPolicy {
  fileprivate func ruleName(_ index: Int) -> String? {
    onDemand.rules.indices.contains(index - 1) ? onDemand.rules[index - 1].name : nil
  }
}
