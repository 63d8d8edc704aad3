package import NetworkTypes

extension Finding {
  /// The reason for the verdict, in one line: the findings that settled it, and no others.
  package var reason: String {
    switch self {
    case .key(_, _, let found): found
    case .all(let truth, let parts):
      parts.isEmpty ? "always" : Self.join(parts.filter { $0.truth == truth || truth == .yes }, ", ")
    case .any(.yes, let parts): parts.first { $0.truth == .yes }?.reason ?? "always"
    case .any(let truth, let parts): Self.join(parts.filter { $0.truth == truth || truth == .no }, "; ")
    case .not(.no, let part): "not: \(part.reason)"
    case .not(_, let part): part.reason
    case .network(let name, .yes, let part): "in network \(name): \(part.reason)"
    case .network(let name, .no, let part): "not in network \(name): \(part.reason)"
    case .network(let name, .unknown, let part): "network \(name): \(part.reason)"
    }
  }

  private static func join(_ parts: [Finding], _ separator: String) -> String { parts.map(\.reason).joined(separator: separator) }
}

extension Decision {
  /// The deciding rule's reason, or that no rule matches.
  package var ruleReason: String {
    if isWithoutNetwork { return "no network" }
    let others = unknown.map { "; \($0.rule.text) is unknown (\($0.finding.reason))" }.joined()
    // The trace may continue after the rule that decides.
    guard let rule, let entry = trace.first(where: { $0.rule.index == rule.index }) else { return "no rule matches" + others }
    if outcome == .pending { return "waits for: \(entry.finding.reason)" }
    return entry.finding.reason + (entry.holds == .unknown ? "; unknown counts as a match" : "") + others
  }

  /// The code of the reason: why the decision is not acted on, or what decided.
  package var code: ReasonCode {
    if let inert { return inert.code }
    if isWithoutNetwork { return .noNetwork }
    if outcome == .pending { return .factPending }
    return rule == nil ? .noRule : .ruleMatched
  }

  /// The rule's reason, and the reason why it is not acted on.
  package var reason: String { inert.map { "not acted on, because \($0.text); \(ruleReason)" } ?? ruleReason }
}

extension RuleReference {
  /// The text for people: `rule 2 "trusted"`.
  package var text: String { RoamwardCore.text(forRule: index, name: name) }
}

/// The text for people: `it belongs to alice, who is not logged in`.
package func textOfAbsence(of owner: UserName) -> String { "it belongs to \(owner), who is not logged in" }

/// The text for people: `rule 2 "trusted"`.
package func text(forRule index: Int, name: String?) -> String { "rule \(index)" + (name.map { " \"\($0)\"" } ?? "") }
