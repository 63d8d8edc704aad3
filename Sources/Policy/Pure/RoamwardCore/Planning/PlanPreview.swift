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
  /// The actions of providers, in their order.
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
    tunnels.byName = PrefixesByName.inKernel(observed.kernel)
    let all = tunnels.atRest.setups
    let setups = all.filter { !$0.policy.provider.isUnread }
    unread = all.filter { $0.policy.provider.isUnread && ($0.level > .nothing || observed.kernel.link(named: $0.link ?? "") != nil) }
      .map(\.policy)
    let observed = observed.without(unread)
    let fit = UnderlayFit(
      tunnels.snapshot, isReversePathStrict: observed.isReversePathStrict, others: others, resolver: choice,
      providers: observed.providers, outerMTUs: observed.kernel.outerMTUs(for: setups.lazy.map(\.policy)),
      familiesOff: observed.familiesOff)
    let (guards, programs) = (tunnels.killSwitch.guards(in: observed), tunnels.killSwitch.routed)
    func state(of setups: [TunnelSetup]) -> DesiredState {
      DesiredState(of: setups, on: fit, portal: portal, guards: guards, programs: programs)
    }
    desired = state(of: setups)
    actions = tunnels.providerActions
    let phases = StartPhases(setups, starting: Set(actions.filter(\.isStart).map(\.tunnel)), replaced: tunnels.replacedTunnels)
    var plan = Plan(from: observed, to: phases.first.map(state) ?? desired)
    // Name servers are those of all tunnels together.
    if !unread.isEmpty { plan.steps.removeAll(where: \.isOfResolver) }
    self.plan = plan
    if let last = phases.last {
      var end = state(of: last)
      // The addresses that a provider brings are not known.
      end.firewall = desired.firewall
      let isPartial = !unread.isEmpty
      later = plan.rest(from: observed, to: end, links: phases.links).filter { step in
        !step.isOfAssumedAddress && !(isPartial && step.isOfResolver)
      }
    } else {
      later = []
    }
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

/// The desired states before and after providers have done what a plan asks of them.
private struct StartPhases {
  /// While tunnels that are replaced have ended, and providers have brought nothing yet; `nil`: as at the end.
  var first: [TunnelSetup]?
  /// At the end; `nil`: nothing follows.
  var last: [TunnelSetup]?
  /// The links that providers make meanwhile.
  var links: [String]

  init(_ setups: [TunnelSetup], starting: Set<String>, replaced: Set<String>) {
    links = setups.filter { starting.contains($0.policy.name) && $0.device == .foreign }.compactMap(\.link)
    var (before, after) = (setups, setups)
    var (isFirst, isLast) = (false, !links.isEmpty || !replaced.isEmpty)
    for i in setups.indices {
      let name = setups[i].policy.name
      if replaced.contains(name) { (before[i].level, isFirst) = (.nothing, true) }
      guard starting.contains(name), after[i].policy.assumeAddresses() else { continue }
      isLast = true
      if before[i].level > .device { (before[i].level, isFirst) = (.device, true) }
    }
    first = isFirst ? before : nil
    last = isLast ? after : nil
  }
}

extension TunnelPolicy {
  /// Gives an installed provider that has brought nothing an address of each family, so that the routes of the policy lead into its link.
  /// Returns whether it is one.
  fileprivate mutating func assumeAddresses() -> Bool {
    guard case .installed(var installed) = provider, installed.settings.addresses.isEmpty else { return false }
    installed.settings.addresses = InterfaceAddress.assumed
    provider = .installed(installed)
    return true
  }
}

extension InterfaceAddress {
  /// Stand for what is not known yet. No link ever has them (RFC 7600, RFC 6666).
  fileprivate static let assumed = ["192.0.0.8/32", "100::/128"].compactMap { InterfaceAddress($0) }
}

extension Step {
  fileprivate var isOfAssumedAddress: Bool {
    switch self {
    case .addAddress(let address, _), .removeAddress(let address, _): InterfaceAddress.assumed.contains(address)
    default: false
    }
  }
}

extension Plan {
  /// The steps to `desired` that are left after this plan, when providers have made `links`.
  fileprivate func rest(from observed: ObservedState, to desired: DesiredState, links: [String]) -> [Step] {
    var after = observed
    for step in steps { after.take(step) }
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

extension ObservedState {
  /// Takes in the removals and replacements of a step. Additions of a plan are in what follows from it, too.
  package mutating func take(_ step: Step) {
    switch step {
    case .removeRoute(let route): kernel.routes.removeAll { $0 == route }
    case .removeRule(let rule): kernel.rules.removeAll { $0 == rule }
    case .removeAddress(let address, let link): kernel.addresses.removeAll { $0.link == link && $0.address == address }
    case .deleteLink(let link, _):
      kernel.links.removeAll { $0.name == link }
      kernel.addresses.removeAll { $0.link == link }
      kernel.routes.removeAll { $0.link == link }
      (wireGuard[link], resolver.links[link]) = (nil, nil)
    case .replaceFirewall(let table):
      firewall = .table(digest: table.digest, isIntact: true, isGuarding: !table.guards.isEmpty || !table.programs.isEmpty)
    case .removeFirewall: firewall = .absent
    case .setNameCapture(let capture): nameCapture = .table(digest: capture.digest, isIntact: true, isGuarding: false)
    case .removeNameCapture: nameCapture = .absent
    case .setLinkResolver(let settings, let link): resolver.links[link] = settings
    case .revertLinkResolver(let link): resolver.links[link] = nil
    case .setRecord(let record): resolver.records[record.name] = record.content
    case .removeRecord(let name): resolver.records[name] = nil
    case .writeResolvConf(let file): resolvConf = .file(file.rendered)
    case .restoreResolvConf: resolvConf = .file("")
    case .setNameServer(let settings): resolver.nameServer = .running(settings)
    case .stopNameServer: resolver.nameServer = .absent
    case .setProxies(let publication): proxies.publish(publication)
    case .removeProxies: proxies.withdraw()
    case .addWireGuardLink, .addTUNLink, .addXFRMLink, .addDummyLink, .setAlias, .configureWireGuard, .renewSessions, .setMTU, .addAddress,
      .setUp, .addRoute, .addRule:
      break
    }
  }
}
