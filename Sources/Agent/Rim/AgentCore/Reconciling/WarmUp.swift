package import KernelModel
import NetworkTypes
package import RoamwardCore

/// The computations of a start, made once while there is nothing else to do. docs/decisions/0053
///
/// The Swift runtime creates a type at its first use, which takes up to a tenth of a millisecond, and a start uses many. Without a
/// warm-up, the first start after that of the agent, usually that of the machine, takes half a millisecond longer than later ones.
package struct WarmUp {
  /// Plans of more routes, wanted or present, take too long to be made in passing.
  private static let mostRoutes = 1000

  /// The number of steps of the plans that it has made and thrown away; `nil`: it is still to be made.
  private(set) var steps: Int?

  package init() {}

  /// Plans the start of a tunnel and its end, from an observed state, and throws the plans away. Returns their steps.
  package static func plans(_ tunnels: DesiredTunnels, of tunnel: String, on fit: UnderlayFit, in observed: ObservedState) -> [Step] {
    var tunnels = tunnels
    tunnels.overrides[tunnel] = ManualOverride(wantsUp: true, since: .distantFuture, lifetime: .resume)
    let setups = tunnels.atRest.setups
    let desired = DesiredState(of: setups, on: fit)
    let start = Plan(from: observed, to: desired)
    var applied = AppliedState(observed)
    applied.follow(observed, towards: desired)
    for step in start.steps { applied.take(step) }
    let made = observed.applied(start.steps)
    applied.follow(made, towards: desired)
    _ = Plan(from: made, to: desired)
    _ = routeClaims(on: setups, in: made.kernel, fit)
    let order = start.steps.filter { !$0.isOfResolver }
    return order + Plan(from: made, to: DesiredState(of: [], on: fit)).steps
  }

  /// Warms up with a tunnel of these policies, unless that was done already.
  mutating func run(_ tunnel: TunnelPolicy, of set: PolicySet, on fit: UnderlayFit, in observed: ObservedState, _ snapshot: NetworkSnapshot)
  {
    guard steps == nil, observed.kernel.routes.count <= Self.mostRoutes, tunnel.includedCount <= Self.mostRoutes else { return }
    var alone = set
    alone.tunnels = [tunnel]
    // The tunnels of the agent have no devices before they start.
    let tunnels = DesiredTunnels(alone, on: snapshot, PlanInputs(), in: observed, engine: .userspace)
    steps = Self.plans(tunnels, of: tunnel.name, on: fit, in: observed).count
  }
}

extension ObservedState {
  /// The state after the steps that make links, addresses, routes and rules.
  fileprivate func applied(_ steps: [Step]) -> ObservedState {
    var state = self
    for step in steps {
      switch step {
      case .addWireGuardLink(let name, _):
        if let index = InterfaceIndex(.max) { state.kernel.links.append(Link(index: index, name: name)) }
      case .setAlias(let name, let alias):
        for i in state.kernel.links.indices where state.kernel.links[i].name == name { state.kernel.links[i].alias = alias }
      case .addAddress(let address, let link): state.kernel.addresses.append(LinkAddress(link: link, address: address))
      case .addRoute(let route): state.kernel.routes.append(route)
      case .addRule(let rule): state.kernel.rules.append(rule)
      default: break
      }
    }
    return state
  }
}

extension AgentState {
  /// Warms up with the start of the first WireGuard tunnel that is down.
  func runWarmUp() {
    let tunnel = tunnels.wireGuard.first { [.disconnected, .ready].contains($0.machine.state) }
    guard let observed = seen.state, let tunnel else { return }
    warmUp.run(tunnel.policy, of: set, on: underlayFit, in: observed, seen.snapshot)
  }
}

extension TunnelPolicy {
  /// The number of prefixes that the policy or the provider's configuration includes.
  fileprivate var includedCount: Int {
    let provided =
      if case .wireGuard(let provider) = provider { (provider.configuration?.peers ?? []).reduce(0) { $0 + $1.allowedIPs.count } } else {
        0
      }
    return max(routes?.include.count ?? 0, provided)
  }
}
