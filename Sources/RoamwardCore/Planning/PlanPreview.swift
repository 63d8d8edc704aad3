package import KernelModel
internal import NetworkTypes

/// A preview of the agent's changes: the tunnels at rest, turned into the plan that it would execute.
package final class PlanPreview: Sendable {
  package let plan: Plan
  /// Requests of the policies that cannot be fulfilled.
  package let remarks: [Remark]
  /// Routes and rules that would lead past a tunnel, with their effect.
  package let claims: [RouteClaim]
  package let others: OtherVPNs
  /// What providers are asked for.
  package let actions: [ProviderAction]
  /// The steps that follow once the providers have made their links, as far as they are known.
  package let later: [Step]
  /// The DNS backend; `nil` if the plan sets no name servers.
  package let resolver: ResolverChoice?
  /// The DNS backend, even if there is nothing to set.
  package let resolverChoice: ResolverChoice
  package let observed: ObservedState
  package let desired: DesiredState

  /// Makes the plan. `tunnels` in their current state; `portal` is the window of a suspension for a captive portal; `remarks` come before
  /// those of the plan. Endpoint names are not resolved.
  package init(
    of tunnels: DesiredTunnels, from observed: ObservedState, others: OtherVPNs, portal: PortalWindow? = nil, remarks: [Remark] = []
  ) {
    let choice = ResolverChoice(observed.resolver.facts, file: observed.resolvConf)
    var tunnels = tunnels
    tunnels.canWatch = choice.canWatch
    let setups = tunnels.atRest.setups
    let fit = UnderlayFit(
      tunnels.snapshot, isReversePathStrict: observed.isReversePathStrict, others: others, resolver: choice,
      providers: observed.providers, outerMTUs: observed.kernel.outerMTUs(for: setups.lazy.map(\.policy)),
      familiesOff: observed.familiesOff)
    desired = DesiredState(of: setups, on: fit, portal: portal, guards: tunnels.killSwitch.guards(in: observed))
    let replaced = tunnels.replacedTunnels
    var ending = setups
    for i in ending.indices where replaced.contains(ending[i].policy.name) { ending[i].level = .nothing }
    let first =
      replaced.isEmpty ? desired : DesiredState(of: ending, on: fit, portal: portal, guards: tunnels.killSwitch.guards(in: observed))
    plan = Plan(from: observed, to: first)
    actions = tunnels.providerActions
    let starting = Set(actions.filter(\.isStart).map(\.tunnel))
    later = plan.rest(
      from: observed, to: desired,
      links: setups.filter { starting.contains($0.policy.name) && $0.device == .foreign }.compactMap(\.link))
    // `claims` tell of overlaps, too.
    self.remarks =
      remarks + desired.remarks.filter { $0.code != .overlap } + desired.notes + others.collisions.map { Remark(.conflict, $0) }
      + desired.refusals.sorted { $0.key < $1.key }.map { Remark($0.value.code, of: $0.key, $0.value.description) }
    claims = routeClaims(on: setups.filter { $0.level.hasRoutes }, in: observed.kernel, fit)
    resolver = plan.steps.contains(where: \.isOfResolver) ? choice : nil
    resolverChoice = choice
    self.observed = observed
    self.others = others
  }

  /// The remarks for people, with the conflicts that prevent steps.
  package var notes: [String] { (remarks + plan.conflicts).map(\.description) }
}

extension Plan {
  /// The steps to `desired` that are left after this plan, when providers have made `links`.
  fileprivate func rest(from observed: ObservedState, to desired: DesiredState, links: [String]) -> [Step] {
    if links.isEmpty { return [] }
    var after = observed
    for step in steps {
      switch step {
      case .removeRoute(let route): after.kernel.routes.removeAll { $0 == route }
      case .removeRule(let rule): after.kernel.rules.removeAll { $0 == rule }
      default: break
      }
    }
    after.kernel.links.removeAll { links.contains($0.name) }
    for (i, name) in links.enumerated() {
      // The MTU is the provider's, so it is not known.
      guard let index = InterfaceIndex(UInt32(Int32.max) - UInt32(i)) else { continue }
      after.kernel.links.append(Link(index: index, name: name, kind: "tun", flags: 1, mtu: 0))
    }
    let done = Set(steps.map(\.description))
    return Plan(from: after, to: desired).steps.filter { !done.contains($0.description) }
  }
}
