package import NetworkTypes

/// What the rules of one tunnel want on one network, and why.
package struct Decision: Hashable, Sendable {
  package enum Outcome: String, Hashable, Sendable {
    /// The tunnel is wanted up.
    case connect
    /// The tunnel is wanted down.
    case disconnect
    /// The tunnel is left as it is.
    case ignore
    /// The tunnel is left as it is; a look-up of a name would start it.
    case evaluateConnection = "evaluate-connection"
    /// A rule's fact is unknown: nothing changes until it is known, or the waiting ends.
    case pending
  }

  package var tunnel: String
  package var outcome: Outcome
  /// The rule that decided, or whose fact is awaited; `nil` where no rule matches.
  package var rule: RuleReference?
  /// Rules that were looked at, in order, as far as was asked for; the last is the one that decided, where one did.
  package var trace: [RuleTrace]
  /// Of a pending decision, when the trace was asked for.
  package var pending: Pending?
  /// There was no network to judge, so no rule was looked at.
  package var isWithoutNetwork = false
  /// Why nothing comes of it; `nil`: it is acted on.
  package var inert: Inert?

  package init(tunnel: String, outcome: Outcome, rule: RuleReference? = nil, trace: [RuleTrace] = []) {
    self.tunnel = tunnel
    self.outcome = outcome
    self.rule = rule
    self.trace = trace
  }
}

/// Why a decision is not acted on.
package enum Inert: Hashable, Sendable {
  /// `enabled: false`: nothing starts the tunnel.
  case disabled
  /// `on-demand: { enabled: false }`: the rules do not act; the tunnel obeys `up` and `down`.
  case onDemandOff
  /// Only one enterprise tunnel runs at a time, and this one comes first.
  case excluded(by: String)
  /// `evaluate-connection`: this version does not watch look-ups.
  case unsupported
}

/// How long a pending decision waits, from when the network came, and what it is without the fact.
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

/// Which rule: its place in the list, counted from 1, its name, and where it is written.
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

/// One rule's verdict.
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

/// What was found at one node of a condition. Plain data; `reason` puts it in words.
package indirect enum Finding: Hashable, Sendable {
  /// A key of a match: what was found, in words that hold whatever the verdict.
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
