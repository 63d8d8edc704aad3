/// A tunnel that a plan starts or stops, and what its provider is asked for.
package struct ProviderAction: Hashable, Sendable, CustomStringConvertible {
  package var tunnel: String
  package var isStart: Bool
  package var text: String

  package var description: String { "\(isStart ? "start" : "stop"): \(tunnel): \(text)" }
}

extension DesiredTunnels {
  /// What providers are asked for until all is at rest, in the order of the policies.
  package var providerActions: [ProviderAction] {
    let now = Dictionary(standings.map { ($0.setup.policy.name, $0.isWanted || $0.isRunning) }) { first, _ in first }
    return atRest.standings.compactMap { standing in
      let policy = standing.setup.policy
      // An armed WireGuard tunnel is in the steps; others are not armed.
      let isUp = standing.setup.level > .armed
      guard isUp != now[policy.name] ?? false, let text = policy.provider.action(starts: isUp) else { return nil }
      return ProviderAction(tunnel: policy.name, isStart: isUp, text: text)
    }
  }
}
