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
    plan = Plan(from: observed, to: desired)
    // `claims` tell of overlaps, too.
    self.remarks =
      remarks + desired.remarks.filter { $0.code != .overlap } + desired.notes + others.collisions.map { Remark(.conflict, $0) }
      + desired.refusals.sorted { $0.key < $1.key }.map { Remark($0.value.code, of: $0.key, $0.value.description) }
    claims = routeClaims(on: setups.filter { $0.level.hasRoutes }, in: observed.kernel, fit)
    resolver = plan.steps.contains(where: \.isOfResolver) ? choice : nil
    resolverChoice = choice
    self.observed = observed
    self.others = others
    actions = tunnels.providerActions
  }

  /// The remarks for people, with the conflicts that prevent steps.
  package var notes: [String] { (remarks + plan.conflicts).map(\.description) }
}
