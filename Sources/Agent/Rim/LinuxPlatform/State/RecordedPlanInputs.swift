package import AgentCore
package import KernelModel
package import RoamwardCore

extension PlanInputs {
  /// Orders from the notes of the last agent, if none runs: a new one would start with them.
  package init(_ recorded: RecordedState, on snapshot: NetworkSnapshot, firewall: ObservedFirewall) {
    self.init()
    overrides = recorded.overrides(on: snapshot)
    killSwitch.programs = recorded.guards
    killSwitch.launched = recorded.programs
    if firewall.isGuarding { killSwitch.beganGuarded = true }
  }
}
