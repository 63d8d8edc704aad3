package import KernelModel
import NetworkTypes

/// The state that the agent last applied: each step that succeeded, and wanted objects that were observed since. A step that leads back to
/// it is a repair, because another program has changed the agent's work. Any other step follows a change of the desired state. Pure: no
/// clock.
package struct AppliedState: Sendable {
  private struct Settings: Equatable, Sendable {
    /// Whether the agent made the link; otherwise a command did.
    var isMade = false
    var alias: String?
    var device: WireGuardDevice?
    var mtu: UInt32?
    var addresses: Set<InterfaceAddress> = []
    var isUp = false
  }

  private var links: [String: Settings] = [:]
  private var rules: Set<RoutingRule> = []
  private var firewallDigest: String?
  private var captureDigest: String?
  /// The wanted firewall table with its digest, which is computed once.
  private var wantedFirewall: (table: FirewallTable, digest: String)?
  /// The wanted routes, and which of them are not made yet: a tunnel may have a hundred thousand.
  private var wantedRoutes = MarkedRoutes()
  /// Routes that were made, are no longer wanted and are not removed yet.
  private var staleRoutes: Set<Route> = []

  /// Starts from the observed state: leftover state of an earlier agent counts as applied.
  package init(_ observed: ObservedState) {
    let kernel = observed.kernel
    for link in kernel.links where Ownership.tunnel(ofAlias: link.alias) != nil || observed.unfinishedLinks.contains(link.name) {
      let addresses = Set(kernel.addresses.lazy.filter { $0.link == link.name }.map(\.address))
      links[link.name] = Settings(isMade: true, alias: link.alias, mtu: link.mtu, addresses: addresses, isUp: link.isUp)
    }
    rules = Set(kernel.ownRules)
    staleRoutes = Set(kernel.ownRoutes.map(\.alive))
    if case .table(let digest, _, _) = observed.firewall { firewallDigest = digest }
    if case .table(let digest, _, _) = observed.nameCapture { captureDigest = digest }
  }

  /// Whether a firewall table of ours is applied.
  package var hasFirewall: Bool { firewallDigest != nil }

  /// Whether a redirection of names to our name server is applied.
  package var hasNameCapture: Bool { captureDigest != nil }

  /// Records a step that has succeeded.
  package mutating func take(_ step: Step) {
    switch step {
    case .addWireGuardLink(let link, _), .addTUNLink(let link, _), .addXFRMLink(let link, _), .addDummyLink(let link):
      links[link] = Settings(isMade: true)
    case .setAlias(let link, let alias): links[link, default: Settings()].alias = alias
    case .configureWireGuard(let link, let device), .renewSessions(let link, let device): links[link, default: Settings()].device = device
    case .setMTU(let link, let mtu, _): links[link, default: Settings()].mtu = mtu
    case .addAddress(let address, let link): links[link, default: Settings()].addresses.insert(address)
    case .removeAddress(let address, let link):
      links[link]?.addresses.remove(address)
      // With the last address of a family the kernel removes the link's routes.
      wantedRoutes.mark { $0.link == link }
    case .setUp(let link): links[link, default: Settings()].isUp = true
    case .deleteLink(let link, _):
      links[link] = nil
      staleRoutes = staleRoutes.filter { $0.link != link }
    case .addRoute(let route): wantedRoutes.unmark(route)
    case .removeRoute(let route): staleRoutes.remove(route.alive)
    case .addRule(let rule): rules.insert(rule)
    case .removeRule(let rule): rules.remove(rule)
    case .replaceFirewall(let table): firewallDigest = digest(of: table)
    case .removeFirewall: firewallDigest = nil
    case .setNameCapture(let capture): captureDigest = capture.digest
    case .removeNameCapture: captureDigest = nil
    case .writeResolvConf, .restoreResolvConf, .setLinkResolver, .revertLinkResolver, .setRecord, .removeRecord, .setNameServer,
      .stopNameServer, .setProxies, .removeProxies:
      break
    }
  }

  /// Takes in an observation of the machine. Wanted objects that are present count as applied; absent objects that are not wanted are
  /// forgotten.
  package mutating func follow(_ observed: ObservedState, towards desired: DesiredState) {
    followRoutes(observed.kernel, desired.routes)
    let present = Set(observed.kernel.ownRules)
    let wanted = Set(desired.rules)
    rules = rules.intersection(wanted.union(present)).union(wanted.intersection(present))
    followFirewall(observed.firewall, desired.firewall)
    followCapture(observed.nameCapture, desired.nameCapture)
    followLinks(observed, desired)
  }

  private mutating func followRoutes(_ kernel: KernelState, _ wanted: [Route]) {
    guard wanted != wantedRoutes.routes else { return }
    let difference = RouteDifference(from: kernel.ownRoutes, to: wanted)
    let (before, staleBefore) = (wantedRoutes, staleRoutes)
    var near = 0
    func wasMade(_ route: Route) -> Bool { before.isMarked(route, near: &near).map { !$0 } ?? staleBefore.contains(route) }
    wantedRoutes = MarkedRoutes(wanted, marking: difference.missing) { !wasMade($0) }
    staleRoutes = Set(difference.stale.lazy.map(\.alive).filter(wasMade))
  }

  private mutating func followFirewall(_ observed: ObservedFirewall, _ desired: DesiredFirewall) {
    var present: String?
    if case .table(let digest, _, _) = observed { present = digest }
    if case .table(let table) = desired {
      let wanted = digest(of: table)
      if case .table(wanted, isIntact: true, _) = observed { firewallDigest = wanted }
      if firewallDigest == wanted { return }
    }
    if firewallDigest != present { firewallDigest = nil }
  }

  private mutating func followCapture(_ observed: ObservedFirewall, _ desired: NameCapture?) {
    var present: String?
    if case .table(let digest, _, _) = observed { present = digest }
    let wanted = desired?.digest
    if let desired, observed.isSatisfied(by: desired) { captureDigest = wanted }
    if captureDigest != wanted, captureDigest != present { captureDigest = nil }
  }

  private mutating func digest(of table: FirewallTable) -> String {
    if let (known, digest) = wantedFirewall, known == table { return digest }
    let digest = table.digest
    wantedFirewall = (table, digest)
    return digest
  }

  private mutating func followLinks(_ observed: ObservedState, _ desired: DesiredState) {
    let wanted = Dictionary(desired.links.map { ($0.name, $0) }) { first, _ in first }
    let present = Dictionary(observed.kernel.links.map { ($0.name, $0) }) { first, _ in first }
    // A command's link takes its settings with it, and is not ours to remove.
    links = links.filter { name, settings in
      settings.isMade ? wanted[name] != nil || present[name] != nil : wanted[name] != nil && present[name] != nil
    }
    for (name, link) in wanted {
      guard let existing = present[name] else { continue }
      let isOurs = Ownership.tunnel(ofAlias: existing.alias) == link.tunnel
      guard isOurs || link.device == .foreign else { continue }
      var settings = links[name] ?? Settings()
      if isOurs { settings.isMade = true }
      if existing.alias == Ownership.alias(ofTunnel: link.tunnel) { settings.alias = existing.alias }
      if existing.mtu == link.mtu { settings.mtu = link.mtu }
      if existing.isUp { settings.isUp = true }
      if case .wireGuard(let device) = link.device, let state = observed.wireGuard[name], device.isSatisfied(by: state) {
        settings.device = device
      }
      let addresses = Set(observed.kernel.addresses.lazy.filter { $0.link == name }.map(\.address))
      settings.addresses.formUnion(addresses.intersection(link.addresses))
      settings.addresses.formIntersection(addresses.union(link.addresses))
      links[name] = settings
    }
  }

  /// The subject that the step repairs.
  package func repair(by step: Step) -> RepairBackoff.Subject? { repairs(by: [step])[0] }

  /// The subject that each step towards the last followed desired state repairs; `nil`: the step follows a change of the desired state.
  package func repairs(by steps: [Step]) -> [RepairBackoff.Subject?] {
    var near = 0
    return steps.map { repair(by: $0, near: &near) }
  }

  private func repair(by step: Step, near: inout Int) -> RepairBackoff.Subject? {
    switch step {
    case .addWireGuardLink(let link, _), .addTUNLink(let link, _), .addXFRMLink(let link, _), .addDummyLink(let link):
      return links[link]?.isMade == true ? .link(link) : nil
    case .setAlias(let link, let alias): return links[link]?.alias == alias ? .link(link) : nil
    case .configureWireGuard(let link, let device):
      return links[link]?.device.map(device.asksTheSame) == true ? .link(link) : nil
    case .setMTU(let link, let mtu, _): return links[link]?.mtu == mtu ? .link(link) : nil
    case .addAddress(let address, let link): return links[link]?.addresses.contains(address) == true ? .link(link) : nil
    case .removeAddress(let address, let link):
      return links[link].map { $0.isMade && !$0.addresses.contains(address) } == true ? .link(link) : nil
    case .setUp(let link): return links[link]?.isUp == true ? .link(link) : nil
    case .addRoute(let route): return wantedRoutes.isMarked(route, near: &near) ?? false ? nil : .routes
    case .removeRoute(let route): return staleRoutes.contains(route.alive) ? nil : .routes
    case .addRule(let rule): return rules.contains(rule) ? .rules : nil
    case .removeRule(let rule): return rules.contains(rule) ? nil : .rules
    case .replaceFirewall(let table): return firewallDigest != nil && firewallDigest == table.digest ? .firewall : nil
    case .setNameCapture(let capture): return captureDigest == capture.digest ? .nameCapture : nil
    case .renewSessions, .deleteLink, .removeFirewall, .removeNameCapture: return nil
    case .writeResolvConf, .restoreResolvConf, .setLinkResolver, .revertLinkResolver, .setRecord, .removeRecord, .setNameServer,
      .stopNameServer, .setProxies, .removeProxies:
      return nil
    }
  }
}

extension Route {
  /// The route without the kernel's flags about its next hop.
  fileprivate var alive: Route {
    var route = self
    route.isDead = false
    return route
  }
}

extension WireGuardDevice {
  /// Whether a device that satisfies one satisfies the other: endpoints are left out, as peers roam.
  fileprivate func asksTheSame(as other: WireGuardDevice) -> Bool {
    func comparable(_ device: WireGuardDevice) -> WireGuardDevice {
      var device = device
      for i in device.peers.indices { device.peers[i].endpoint = nil }
      return device
    }
    return comparable(self) == comparable(other)
  }
}
