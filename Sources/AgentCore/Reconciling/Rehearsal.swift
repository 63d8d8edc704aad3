package import KernelModel
import NetworkTypes
package import RoamwardCore

/// The computations of a start, made once while there is nothing else to do. docs/decisions/0073
///
/// The Swift runtime creates a type at its first use, which takes up to a tenth of a millisecond, and a start uses many. Without a
/// rehearsal, the first start after that of the agent, usually that of the machine, takes half a millisecond longer than later ones.
package struct Rehearsal {
  private var isDone = false

  package init() {}

  /// Plans the start of a tunnel and its end, from an observed state, and throws the plans away. Returns their steps.
  package mutating func run(_ tunnels: DesiredTunnels, of tunnel: String, on fit: UnderlayFit, in observed: ObservedState) -> [Step] {
    if isDone { return [] }
    isDone = true
    var tunnels = tunnels
    tunnels.overrides[tunnel] = ManualOverride(wantsUp: true, since: .distantFuture, lifetime: .resume)
    let desired = DesiredState(of: tunnels.atRest.setups, on: fit)
    let start = Plan(from: observed, to: desired)
    var applied = AppliedState(observed)
    applied.follow(observed, towards: desired)
    for step in start.steps { applied.take(step) }
    let order = start.steps.filter { !$0.isOfResolver }
    return order + Plan(from: observed, to: DesiredState(of: [], on: fit)).steps
  }
}

extension AgentState {
  /// Rehearses the start of the first WireGuard tunnel that is down.
  func rehearse() {
    guard let observed = seen.state, let tunnel = tunnels.ordered.first(where: \.isWireGuardAtRest) else { return }
    _ = rehearsal.run(desiredTunnels, of: tunnel.policy.name, on: underlayFit, in: observed)
  }
}
