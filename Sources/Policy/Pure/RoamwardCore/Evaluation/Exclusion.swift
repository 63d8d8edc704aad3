/// The limit of one enterprise tunnel at a time, as on Apple's systems: the others give way (docs/policy-reference.md, "class"). Personal
/// tunnels run beside it.
///
/// A manual override has precedence, the newest of several; then the tunnel that is first in the order of the policies. A tunnel that is
/// only left as it is (`ignore`) gives way to a wanted one. A tunnel that waits for a fact keeps its place: a running one runs on, and one
/// that may start keeps those after it from starting, but takes none down.
package enum Exclusion {
  /// The intent of one tunnel before the others are considered.
  package struct Claim: Equatable, Sendable {
    package var tunnel: TunnelPolicy
    package var intent: Intent
    package var isPending: Bool
    package var override: ManualOverride?
    /// Whether the tunnel is up or coming up.
    package var isRunning: Bool
    /// Whether the tunnel is down and may be wanted when an awaited fact is known: it keeps its place until then.
    package var isReserving: Bool

    package init(_ tunnel: TunnelPolicy, _ decision: Decision, override: ManualOverride? = nil, isRunning: Bool = false) {
      self.tunnel = tunnel
      intent = Intent(tunnel, decision: decision, override: override)
      isPending = decision.outcome == .pending
      self.override = override
      self.isRunning = isRunning
      isReserving =
        isPending && !isRunning && intent == .unchanged && override == nil && tunnel.onDemand.isEnabled
        && decision.pending?.then == .connect
    }
  }

  /// The tunnels that have to be down, with the tunnel that each gives way to. `claims` are in the order of the policies. An armed tunnel
  /// gives way to a wanted one, and one that is left as it is gives way to an armed one. While one is up, no look-up starts another.
  package static func losers(among claims: [Claim]) -> [String: String] {
    let rivals = claims.filter {
      $0.tunnel.precedence == .enterprise && ([.up, .armed, .watched].contains($0.intent) || $0.isRunning || $0.isReserving)
    }
    guard rivals.count > 1 else { return [:] }
    let wanted = rivals.filter { $0.intent == .up || $0.isReserving || $0.intent == .unchanged && $0.isPending }
    let byHand = wanted.filter { $0.override?.wantsUp ?? false }
    let newest = byHand.compactMap { $0.override?.since }.max()
    let first = byHand.first { $0.override?.since == newest } ?? wanted.first
    let winner =
      first ?? rivals.first { $0.intent == .armed } ?? rivals.first { [.watched, .unchanged].contains($0.intent) && $0.isRunning }
    guard let winner else { return [:] }
    let others = rivals.filter { $0.tunnel.name != winner.tunnel.name }
    if !winner.isReserving { return Dictionary(others.map { ($0.tunnel.name, winner.tunnel.name) }) { first, _ in first } }
    // Running tunnels stay until the fact is known; among them, precedence is as without the one that waits.
    let running = losers(among: others.filter { $0.isRunning && !$0.isReserving })
    let waiting = others.filter { !$0.isRunning && !$0.isReserving }.map { ($0.tunnel.name, winner.tunnel.name) }
    return running.merging(waiting) { first, _ in first }
  }
}

extension Evaluator {
  /// Decides for every tunnel, and marks the decisions that are not acted on. Running tunnels are not considered here.
  package func decide(
    _ policies: PolicySet, on snapshot: NetworkSnapshot, under overrides: [String: ManualOverride] = [:], patience: Patience = .waits,
    explaining explanation: Explanation = .whole, turns: [String: GroupTurn] = [:]
  ) -> [Decision] {
    let policies = policies.owned(by: snapshot.users)
    let prepared = prepare(snapshot)
    let decisions = policies.tunnels.map { decide($0, on: prepared, patience: patience, explaining: explanation) }
    let claims = zip(policies.tunnels, decisions).map { Exclusion.Claim($0, $1, override: overrides[$0.name]) }
    let settled = Exclusion.settle(claims, groups: policies.groups, turns: turns)
    return zip(policies.tunnels, decisions).map { tunnel, decision in
      var acted = decision.acted(by: tunnel, settled)
      if tunnel.isEnabled, acted.inert?.isOfOthers != true, let override = overrides[tunnel.name] {
        acted.inert = .overridden(wantsUp: override.wantsUp)
      }
      return acted
    }
  }
}

extension Decision {
  /// The decision with what the other tunnels make of it: the reason why it is not acted on, and the tunnel that it carries.
  func acted(by tunnel: TunnelPolicy, _ settled: SettledClaims) -> Decision {
    var decision = self
    decision.carries = settled.carrying[tunnel.name]
    decision.inert =
      if !tunnel.isEnabled {
        tunnel.availability.absentOwner.map { .ownerAway($0) } ?? .disabled
      } else if let turn = settled.standby[tunnel.name] {
        .standby(in: turn.group, for: turn.member)
      } else if let winner = settled.losers[tunnel.name] {
        settled.reserving.contains(winner) ? .reserved(for: winner) : .excluded(by: winner)
      } else if let blocked = settled.blocked[tunnel.name] {
        blocked
      } else if !tunnel.onDemand.isEnabled {
        .onDemandOff
      } else {
        outcome == .evaluateConnection && !tunnel.watches(by: self) ? tunnel.armingObstacle(of: self).map { .notArmed($0) } : nil
      }
    return decision
  }
}

extension Inert {
  /// The code for JSON: stable across versions.
  package var code: ReasonCode {
    switch self {
    case .disabled: .disabled
    case .ownerAway: .ownerAway
    case .onDemandOff: .onDemandOff
    case .excluded, .reserved: .excluded
    case .standby: .standby
    case .overridden: .manualOverride
    case .blocked: .outerDown
    case .notArmed: .unsupported
    }
  }

  /// Whether another tunnel is the reason: then a manual override does not help either.
  package var isOfOthers: Bool {
    switch self {
    case .excluded, .reserved, .standby, .blocked: true
    case .disabled, .ownerAway, .onDemandOff, .overridden, .notArmed: false
    }
  }

  /// The tunnel with precedence.
  package var winner: String? {
    switch self {
    case .excluded(let winner), .reserved(let winner), .standby(_, let winner): winner
    case .disabled, .ownerAway, .onDemandOff, .overridden, .blocked, .notArmed: nil
    }
  }

  /// The text for people: `disabled by its policy (enabled: false)`.
  package var text: String {
    switch self {
    case .disabled: "disabled by its policy (enabled: false)"
    case .ownerAway(let owner): textOfAbsence(of: owner)
    case .onDemandOff: "on-demand is off (on-demand: enabled: false)"
    case .excluded(let winner): "enterprise tunnel \(winner) comes first"
    case .reserved(let winner): "enterprise tunnel \(winner) comes first, and its decision awaits a fact"
    case .standby(let group, let member): "its group \(group) uses \(member)"
    case .overridden(let wantsUp): "held \(wantsUp ? "up" : "down") by hand; `roamward resume` ends that"
    case .blocked(let outer, let obstacle): "it goes through \(outer), which \(obstacle.text)"
    case .notArmed(let obstacle): "the tunnel cannot be armed: \(obstacle)"
    }
  }
}
