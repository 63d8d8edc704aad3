package import AgentCore
package import KernelModel
package import RoamwardCore

extension StandingOrders {
  /// By what the last agent has written down, where none runs: what a new one would begin with.
  package init(_ recorded: RecordedState, on snapshot: NetworkSnapshot, firewall: ObservedFirewall) {
    self.init()
    overrides = recorded.overrides(on: snapshot)
    if case .table(_, _, isGuarding: true) = firewall { killSwitch.beganGuarded = true }
  }
}
