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
  /// The tunnels that take part, and of which nothing is planned: the user who asks may not read their files.
  package let unread: [TunnelPolicy]

  /// Makes the plan. `tunnels` in their current state; `portal` is the window of a suspension for a captive portal; `remarks` come before
  /// those of the plan. `listening`: the ports at which programs of this machine wait for connections. Endpoint names are not
  /// resolved.
  package init(
    of tunnels: DesiredTunnels, from observed: ObservedState, others: OtherVPNs, portal: PortalWindow? = nil, remarks: [Remark] = [],
    listening: [ListeningPort] = []
  ) {
    let choice = ResolverChoice(observed.resolver.facts, file: observed.resolvConf)
    var tunnels = tunnels
    tunnels.canWatch = choice.canWatch
    let all = tunnels.atRest.setups
    let setups = all.filter { !$0.policy.provider.isUnread }
    unread = all.filter { $0.policy.provider.isUnread && ($0.level > .nothing || observed.kernel.link(named: $0.link ?? "") != nil) }
      .map(\.policy)
    let observed = observed.without(unread)
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
    var plan = Plan(from: observed, to: first)
    // Name servers are those of all tunnels together.
    if !unread.isEmpty { plan.steps.removeAll(where: \.isOfResolver) }
    self.plan = plan
    actions = tunnels.providerActions
    let starting = Set(actions.filter(\.isStart).map(\.tunnel))
    later = plan.rest(
      from: observed, to: desired,
      links: setups.filter { starting.contains($0.policy.name) && $0.device == .foreign }.compactMap(\.link))
    // `claims` tell of overlaps, too.
    self.remarks =
      remarks + Self.unplanned(unread, desired, in: observed) + setups.compactMap { $0.unanswered(listening) }
      + desired.remarks.filter { $0.code != .overlap } + desired.notes
      + others.collisions.map { Remark(.conflict, $0) }
      + desired.refusals.sorted { $0.key < $1.key }.map { Remark($0.value.code, of: $0.key, $0.value.description) }
    claims = routeClaims(on: setups.filter { $0.level.hasRoutes }, in: observed.kernel, fit)
    resolver = plan.steps.contains(where: \.isOfResolver) ? choice : nil
    resolverChoice = choice
    self.observed = observed
    self.others = others
  }

  /// A remark about the part of the plan that the user who asks may not know.
  private static func unplanned(_ unread: [TunnelPolicy], _ desired: DesiredState, in observed: ObservedState) -> [Remark] {
    let files = unread.compactMap(\.provider.path)
    let isFirewallWanted = if case .table = desired.firewall { true } else { desired.nameCapture != nil }
    let isFirewallHidden = observed.firewall == .denied && (isFirewallWanted || unread.contains { $0.guarding != .off })
    let places = files + (isFirewallHidden ? ["the firewall"] : [])
    if places.isEmpty { return [] }
    let parts = unread.map(\.name) + (unread.isEmpty ? [] : ["DNS"]) + (isFirewallHidden ? ["the firewall"] : [])
    return [Remark(.needsRoot, "\(needsRoot(places)); the steps of \(enumeration(parts)) are not in this plan")]
  }

  /// A sentence about the files of tunnels that the user who asks may not look at; `nil`: there are none.
  package var unreadNote: String? { unread.isEmpty ? nil : needsRoot(unread.compactMap(\.provider.path)) }

  /// Whether there is a part of the plan that the user who asks may not know.
  package var isPartial: Bool { remarks.contains { $0.code == .needsRoot } }

  /// The remarks for people, with the conflicts that prevent steps.
  package var notes: [String] { (remarks + plan.conflicts).map(\.description) }
}

/// The sentence about files, or other places, that the user who asks may not look at.
package func needsRoot(_ places: [String]) -> String {
  let places = places.uniqued()
  let named = places.count > 4 ? Array(places.prefix(3)) + ["\(places.count - 3) others"] : places
  return "\(enumeration(named)) cannot be looked at as this user: run with sudo"
}

/// `a`, `a and b`, `a, b and c`.
private func enumeration(_ names: [String]) -> String {
  guard let last = names.last, names.count > 1 else { return names.first ?? "" }
  return names.dropLast().joined(separator: ", ") + " and " + last
}

extension ProviderConfiguration {
  /// The wg-quick file; `nil` for another provider.
  fileprivate var path: String? { if case .wireGuard(let provider) = self { provider.path } else { nil } }
}

extension ObservedState {
  /// The state without the objects of these tunnels.
  fileprivate func without(_ tunnels: [TunnelPolicy]) -> ObservedState {
    if tunnels.isEmpty { return self }
    let links = Set(tunnels.compactMap(\.linkName))
    let tables = Set(kernel.routes.filter { $0.link.map(links.contains) ?? false }.map(\.table)).filter(Ownership.tables.contains)
    var rest = self
    rest.kernel.links.removeAll { links.contains($0.name) }
    rest.kernel.addresses.removeAll { links.contains($0.link) }
    rest.kernel.routes.removeAll { $0.link.map(links.contains) ?? false || tables.contains($0.table) }
    rest.kernel.rules.removeAll { tables.contains($0.table) }
    rest.wireGuard = rest.wireGuard.filter { !links.contains($0.key) }
    rest.firewall = .denied
    rest.nameCapture = .denied
    return rest
  }
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
