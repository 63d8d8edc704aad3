package import NetworkTypes

/// The effect of a name look-up on a tunnel.
package struct HostDecision: Equatable, Sendable {
  package enum Outcome: Equatable, Sendable {
    /// The tunnel's rules do not evaluate connections here: names have no effect.
    case notEvaluated
    /// No connection rule contains the name.
    case noRule
    case rule(ConnectionRule)
  }

  package var tunnel: String
  package var name: DomainName
  package var outcome: Outcome
}

extension Evaluator {
  /// Decides by the first connection rule of the deciding rule that contains the name.
  package func decide(host name: DomainName, _ tunnel: TunnelPolicy, on snapshot: NetworkSnapshot) -> HostDecision {
    let decision = decide(tunnel, on: snapshot, explaining: .none)
    guard decision.outcome == .evaluateConnection, let index = decision.rule?.index else {
      return HostDecision(tunnel: tunnel.name, name: name, outcome: .notEvaluated)
    }
    let rule = tunnel.onDemand.rules[index - 1].connections.first(for: name)
    return HostDecision(tunnel: tunnel.name, name: name, outcome: rule.map { .rule($0) } ?? .noRule)
  }
}

extension HostDecision {
  /// The action's name, or `none`.
  package var action: String { if case .rule(let rule) = outcome { rule.action.rawValue } else { "none" } }

  /// The text for people: the effect of the look-up, and its conditions.
  package var text: String {
    switch outcome {
    case .notEvaluated: "the rules do not evaluate connections here"
    case .noRule: "no connection rule matches \(name)"
    case .rule(let rule):
      switch rule.action {
      case .connectAlways: "any look-up of \(name) starts it  \(rule.location.short)"
      case .neverConnect: "a look-up of \(name) never starts it  \(rule.location.short)"
      case .connectIfNeeded: "a look-up of \(name) starts it where \(needs(rule))  \(rule.location.short)"
      }
    }
  }

  private func needs(_ rule: ConnectionRule) -> String {
    var needs = ["the name does not resolve", "the servers give an address inside the tunnel"]
    if !rule.servers.isEmpty { needs.append("\(rule.servers.map(\.description).joined(separator: ", ")) cannot answer") }
    if let probe = rule.probe { needs.append("\(probe.url) does not answer") }
    return needs.dropLast().joined(separator: ", ") + " or " + (needs.last ?? "")
  }
}
