package import KernelModel

extension DesiredTunnels {
  /// The table for the moment in which the machine leaves the network that it is on: what rules may want elsewhere is held back, and
  /// nothing is attached. `nil` where nothing that is open now has to be closed then.
  package func tableOnLeaving(portal: PortalWindow? = nil) -> FirewallTable? {
    guard !isStopping, killSwitch.isOpenHereAlone(policies, overrides: overrides) else { return nil }
    var left = self
    left.killSwitch.leaveNetwork(policies, overrides: overrides)
    left.snapshot = NetworkSnapshot()
    let table = FirewallTable(of: left.setups, on: UnderlayFit(left.snapshot), portal: portal)
    return table.flatMap { $0.guards.isEmpty ? nil : $0 }
  }
}
