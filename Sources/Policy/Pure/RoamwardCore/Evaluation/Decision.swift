package import NetworkTypes

/// The result of one tunnel's rules on one network, with the reason.
package struct Decision: Hashable, Sendable {
  package enum Outcome: String, Equatable, Sendable {
    /// The tunnel is wanted up.
    case connect
    /// The tunnel is wanted down.
    case disconnect
    /// The tunnel is left as it is.
    case ignore
    /// The tunnel is armed: a look-up of its names, or any other packet into it, starts it.
    case evaluateConnection = "evaluate-connection"
    /// A rule's fact is unknown: nothing changes until it is known, or the waiting ends.
    case pending
  }

  package var tunnel: String
  package var outcome: Outcome
  /// The rule that decided, or whose fact is awaited; `nil` if no rule matches.
  package var rule: RuleReference?
  /// The evaluated rules, in order, as far as requested; the last is the one that decided, if one did.
  package var trace: [RuleTrace]
  /// Other rules whose match stays unknown, and is not awaited, if a trace was requested.
  package var unknown: [RuleTrace] = []
  /// The wait of a pending decision.
  package var pending: Pending?
  /// Whether there was no network, and so no rule was evaluated.
  package var isWithoutNetwork = false
  /// The reason why the decision is not acted on; `nil`: it is acted on.
  package var inert: Inert?
  /// The tunnel that keeps this one up, whatever its own rules say, because it goes through it.
  package var carries: String?

  package init(tunnel: String, outcome: Outcome, rule: RuleReference? = nil, trace: [RuleTrace] = []) {
    self.tunnel = tunnel
    self.outcome = outcome
    self.rule = rule
    self.trace = trace
  }
}

/// The reason why a decision is not acted on.
package enum Inert: Hashable, Sendable {
  /// `enabled: false`: nothing starts the tunnel.
  case disabled
  /// The user that it belongs to is not logged in: nothing starts it.
  case ownerAway(UserName)
  /// `on-demand: { enabled: false }`: the rules do not act; the tunnel obeys `up` and `down`.
  case onDemandOff
  /// Only one enterprise tunnel runs at a time, and this one has precedence.
  case excluded(by: String)
  /// The enterprise tunnel with precedence may start: its decision awaits a fact.
  case reserved(for: String)
  /// The tunnel is in a group, of which another member is in use.
  case standby(in: String, for: String)
  /// A person wants it up or down: the rules do not count until the override ends.
  case overridden(wantsUp: Bool)
  /// The tunnel that it goes through cannot be up.
  case blocked(by: String, OuterObstacle)
  /// `evaluate-connection`: the tunnel cannot be armed, and no entry of `connections` has names to watch.
  case notArmed(ArmingObstacle)
}

/// The reason why a tunnel cannot carry another one.
package enum OuterObstacle: Hashable, Sendable {
  /// No policy defines it.
  case missing
  /// `enabled: false`.
  case disabled
  /// The user that it belongs to is not logged in.
  case ownerAway(UserName)
  /// A person wants it down.
  case heldDown
  /// The tunnel that it goes through itself cannot be up.
  case blocked
}

/// The time limit of a pending decision, counted from the network's arrival, and the decision without the fact.
package struct Pending: Hashable, Sendable {
  package var decideWithin: Duration
  package var then: Decision.Outcome
  package var rule: RuleReference?

  package init(decideWithin: Duration, then: Decision.Outcome, rule: RuleReference?) {
    self.decideWithin = decideWithin
    self.then = then
    self.rule = rule
  }
}

/// The reference to a rule: its place in the list, counted from 1, its name, and its location in the file.
package struct RuleReference: Hashable, Sendable {
  package var index: Int
  package var name: String?
  package var location: SourceLocation

  package init(index: Int, name: String?, location: SourceLocation) {
    self.index = index
    self.name = name
    self.location = location
  }
}

/// The verdict of one rule.
package struct RuleTrace: Hashable, Sendable {
  package var rule: RuleReference
  package var action: Action
  package var holds: Truth
  package var finding: Finding

  package init(rule: RuleReference, action: Action, holds: Truth, finding: Finding) {
    self.rule = rule
    self.action = action
    self.holds = holds
    self.finding = finding
  }
}

/// The finding at one node of a condition. Plain data; `reason` is its text.
package indirect enum Finding: Hashable, Sendable {
  /// A key of a match: its finding as text that suits every verdict.
  case key(String, Truth, found: String)
  case all(Truth, [Finding])
  case any(Truth, [Finding])
  case not(Truth, Finding)
  case network(String, Truth, Finding)

  package var truth: Truth {
    switch self {
    case .key(_, let truth, _), .all(let truth, _), .any(let truth, _), .not(let truth, _), .network(_, let truth, _): truth
    }
  }
}

extension TunnelPolicy {
  /// The reason why a decision for `evaluate-connection` does not arm the tunnel; `nil`: it does.
  package func armingObstacle(of decision: Decision) -> ArmingObstacle? {
    guard let index = decision.rule?.index, onDemand.rules.indices.contains(index - 1) else { return nil }
    return armingObstacle(of: onDemand.rules[index - 1])
  }
}
