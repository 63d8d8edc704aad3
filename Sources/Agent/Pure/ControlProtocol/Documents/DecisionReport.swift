internal import JSON
internal import NetworkTypes
package import RoamwardCore

/// The decision on one tunnel on one network, with the reason: an element of `decisions` in `roamward evaluate --json`.
package struct DecisionReport: Hashable, Sendable, Codable {
  package var tunnel: String
  package var action: Decision.Outcome
  package var code: ReasonCode
  package var reason: String
  package var rule: RuleReport?
  package var pending: Pending?
  package var inert: Inert?
  package var carries: String?
  package var trace: [Entry]

  package init(
    tunnel: String, action: Decision.Outcome, code: ReasonCode, reason: String, rule: RuleReport?, pending: Pending?, inert: Inert?,
    trace: [Entry]
  ) {
    self.tunnel = tunnel
    self.action = action
    self.code = code
    self.reason = reason
    self.rule = rule
    self.pending = pending
    self.inert = inert
    self.trace = trace
  }

  private enum CodingKeys: String, DescribedKey {
    case tunnel, action, code, reason, rule, pending, inert, carries, trace

    var about: String {
      switch self {
      case .tunnel: "The tunnel."
      case .action: "The decision of the rules."
      case .code: "The reason as a code."
      case .reason: "Why, for people."
      case .rule: "The rule that decided, or whose fact is awaited; null: none holds."
      case .pending: "Of a decision that waits for a fact; null: it does not wait."
      case .inert: "The reason why the decision has no effect; null: it has effect."
      case .carries: "The tunnel that keeps this one up, whatever its rules decide, because it goes through it; null: none."
      case .trace: "The rules that were evaluated, in order."
      }
    }
  }
}

extension DecisionReport {
  /// The wait of a pending decision.
  package struct Pending: Hashable, Sendable, Codable {
    package var waitsFor: String
    package var decideWithinMilliseconds: Int64?
    package var then: Then?

    package init(waitsFor: String, decideWithinMilliseconds: Int64?, then: Then?) {
      self.waitsFor = waitsFor
      self.decideWithinMilliseconds = decideWithinMilliseconds
      self.then = then
    }

    private enum CodingKeys: String, DescribedKey {
      case waitsFor = "waits-for"
      case decideWithinMilliseconds = "decide-within-ms"
      case then

      var about: String {
        switch self {
        case .waitsFor: "The fact, for people."
        case .decideWithinMilliseconds: "How long it waits, from when the network came."
        case .then: "The decision without the fact."
        }
      }
    }
  }

  /// The decision without the fact.
  package struct Then: Hashable, Sendable, Codable {
    package var action: Decision.Outcome
    package var rule: RuleReport?

    package init(action: Decision.Outcome, rule: RuleReport?) {
      self.action = action
      self.rule = rule
    }

    private enum CodingKeys: String, DescribedKey {
      case action, rule

      var about: String {
        switch self {
        case .action: "The decision of the rules."
        case .rule: "The rule that decides then."
        }
      }
    }
  }

  /// The reason why a decision is not acted on.
  package struct Inert: Hashable, Sendable, Codable {
    package var code: ReasonCode
    package var by: String?
    package var reason: String

    package init(code: ReasonCode, by: String?, reason: String) {
      self.code = code
      self.by = by
      self.reason = reason
    }

    private enum CodingKeys: String, DescribedKey {
      case code, by, reason

      var about: String {
        switch self {
        case .code: "The reason as a code."
        case .by: "The tunnel that comes first."
        case .reason: "Why, for people."
        }
      }
    }
  }

  /// One rule, with its findings.
  package struct Entry: Hashable, Sendable, Codable {
    package var rule: RuleReport
    package var action: String
    package var holds: String
    package var reason: [String]

    package init(rule: RuleReport, action: String, holds: String, reason: [String]) {
      self.rule = rule
      self.action = action
      self.holds = holds
      self.reason = reason
    }

    private enum CodingKeys: String, DescribedKey {
      case rule, action, holds, reason

      var about: String {
        switch self {
        case .rule: "The rule."
        case .action: "Its action."
        case .holds: "Whether it holds."
        case .reason: "What was found, for people."
        }
      }

      var values: [String]? {
        switch self {
        case .action: ["connect", "disconnect", "ignore", "evaluate-connection"]
        case .holds: ["yes", "no", "unknown"]
        default: nil
        }
      }
    }
  }
}

extension DecisionReport {
  package init(_ decision: Decision) {
    self.init(
      tunnel: decision.tunnel, action: decision.outcome, code: decision.code, reason: decision.ruleReason,
      rule: decision.rule.map { RuleReport($0) }, pending: Pending(of: decision),
      inert: decision.inert.map { Inert(code: $0.code, by: $0.winner, reason: $0.text) },
      trace: decision.trace.map {
        Entry(rule: RuleReport($0.rule), action: $0.action.rawValue, holds: $0.holds.rawValue, reason: [$0.finding.reason])
      })
    carries = decision.carries
  }
}

extension DecisionReport.Pending {
  fileprivate init?(of decision: Decision) {
    guard decision.outcome == .pending else { return nil }
    self.init(
      waitsFor: decision.ruleReason, decideWithinMilliseconds: decision.pending?.decideWithin.milliseconds,
      then: decision.pending.map { .init(action: $0.then, rule: $0.rule.map { RuleReport($0) }) })
  }
}
