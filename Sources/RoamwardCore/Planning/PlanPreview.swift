package import KernelModel

/// What the agent would do to a machine: the tunnels at rest, turned into the plan that it would execute.
package struct PlanPreview: Hashable, Sendable {
  package var plan: Plan
  package var notes: [String]
  /// Routes and rules that would lead past a tunnel, and what comes of them.
  package var claims: [RouteClaim]
  package var others: OtherVPNs
  /// By which way name servers are set; `nil` where the plan sets none.
  package var resolver: ResolverChoice?
  /// The same, whether there is anything to set or not.
  package var resolverChoice: ResolverChoice
  package var observed: ObservedState
  package var desired: DesiredState

  /// `tunnels` as they stand; `portal` is the window of a suspension for a captive portal. Endpoint names are left as names.
  package init(of tunnels: DesiredTunnels, from observed: ObservedState, others: OtherVPNs, portal: PortalWindow? = nil) {
    let setups = tunnels.atRest.setups
    let choice = ResolverChoice(observed.resolver.facts, file: observed.resolvConf)
    let fit = UnderlayFit(tunnels.snapshot, isReversePathStrict: observed.isReversePathStrict, others: others, resolver: choice)
    desired = DesiredState(of: setups, on: fit, portal: portal)
    plan = Plan(from: observed, to: desired)
    notes =
      desired.notes.map(\.description) + others.collisions + desired.refusals.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
    claims = routeClaims(on: setups.filter { $0.level == .full }, in: observed.kernel, fit)
    resolver = plan.steps.contains(where: \.isOfResolver) ? choice : nil
    resolverChoice = choice
    self.observed = observed
    self.others = others
  }
}
