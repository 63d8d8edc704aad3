package import KernelModel

extension DesiredTunnels {
  /// The table for the moment when the machine leaves its network: it blocks the tunnels that rules may want elsewhere, and has no attached
  /// prefixes. `nil` if nothing that is open now has to be blocked then.
  package func tableOnLeaving(
    portal: PortalWindow? = nil, providers: ProviderGroupState = .unexamined, guards: [GuardSetup] = []
  ) -> FirewallTable? {
    guard !isStopping, killSwitch.isOpenHereAlone(policies, overrides: overrides) else { return nil }
    var left = self
    left.killSwitch.leaveNetwork(policies, overrides: overrides)
    left.snapshot = NetworkSnapshot()
    let table = FirewallTable(
      of: left.setups, on: UnderlayFit(left.snapshot, providers: providers), portal: portal, guards: guards,
      programs: killSwitch.routed)
    return table.flatMap { $0.guards.isEmpty ? nil : $0 }
  }
}
