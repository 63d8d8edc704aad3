import KernelModel
import NetworkTypes

/// The tunnels whose device is made before a look-up starts them (docs/decisions/0023).
extension DesiredTunnels {
  /// The most devices that are ready at a time. Each is a process of the engine where the kernel has no WireGuard.
  package static let mostReady = 4

  /// The names of those tunnels, up or down: the first ones in the order of the policies.
  package var ready: Set<String> {
    if isStopping || !canWatch { return [] }
    return Set(policies.facts.concerns.startedByLookups.lazy.filter(isStartedByLookups).prefix(Self.mostReady).map(\.name))
  }

  /// Whether look-ups start it, by the last decision that waits for nothing. One that gives way to another
  /// tunnel now keeps its device: it has no session, and is needed again.
  private func isStartedByLookups(_ policy: TunnelPolicy) -> Bool {
    guard let decision = decisions[policy.name] else { return false }
    let basis = basis(decision, of: policy)
    return basis.map { Intent(policy, decision: $0, override: overrides[policy.name]) == .watched } ?? false
  }
}

/// A remark on the device of a tunnel that is down.
func readyRemark(of tunnel: TunnelSetup) -> String? {
  guard tunnel.level == .device, let link = tunnel.link else { return nil }
  return "its link \(link) is ready, without a peer, an address and a route"
}
