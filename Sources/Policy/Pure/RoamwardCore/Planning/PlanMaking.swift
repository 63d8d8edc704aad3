import KernelModel
import NetworkTypes

extension Plan {
  /// The steps from `observed` to `desired`. Empty exactly if nothing is left to do, so the same function verifies.
  ///
  /// Order: first the firewall, then steps that route no packet yet (links, then routes in tables that no rule leads to), then rules and
  /// DNS; removals in reverse order. A first table that blocks nothing outside of tunnels comes before the routes: an engine calls its
  /// peer meanwhile. Changes only objects with our marks; a link of a wanted name without them is a conflict, and left alone.
  package init(from observed: ObservedState, to desired: DesiredState) {
    var changes = Changes(from: observed, to: desired)
    // In place: there may be 100,000.
    changes.make += changes.unmake
    self.init(steps: changes.make)
    conflicts = changes.conflicts
    obstacles = changes.obstacles.merging(desired.refusals) { first, _ in first }
  }
}

/// The difference, sorted into additions and removals.
private struct Changes {
  var make: [Step] = []
  var unmake: [Step] = []
  var conflicts: [Remark] = []
  var obstacles: [String: TunnelFailure] = [:]

  init(from observed: ObservedState, to desired: DesiredState) {
    let existing = Dictionary(observed.kernel.links.map { ($0.name, $0) }) { first, _ in first }
    var usable = Set<String>()
    for link in desired.links where addLink(link, existing: existing[link.name], observed) { usable.insert(link.name) }
    changeRoutesAndRules(observed.kernel, desired, usable: usable)
    changeDNS(observed.resolvConf, desired.resolvConf)
    let resolver = resolverSteps(from: observed, to: desired)
    make += resolver.make
    unmake = resolver.unmake + unmake
    // After everything that leads programs to it.
    if desired.nameServer == nil, observed.resolver.nameServer != .absent { unmake.append(.stopNameServer) }
    changeNameCapture(observed.nameCapture, desired)
    removeLinks(observed, desired)
    changeProxies(observed.proxies, desired.proxies)
    changeFirewall(observed.firewall, desired.firewall)
  }

  /// Adds a link; returns false if that is not possible (yet).
  private mutating func addLink(_ link: DesiredLink, existing: Link?, _ observed: ObservedState) -> Bool {
    switch link.device {
    case .foreign:
      guard let existing else { return false }
      if let mtu = link.mtu, mtu != existing.mtu { make.append(.setMTU(link: link.name, mtu: mtu, was: existing.mtu)) }
      return true
    case .wireGuard, .tun, .xfrm, .dummy:
      if let existing, Ownership.tunnel(ofAlias: existing.alias) == nil, !observed.unfinishedLinks.contains(link.name) {
        let text = "a link named \(link.name) exists already and is not Roamward's; rename the tunnel or remove the link"
        conflicts.append(Remark(.linkTaken, of: link.tunnel, text))
        obstacles[link.tunnel] = TunnelFailure(.linkTaken, text)
        return false
      }
      addOwn(link, existing: existing, observed)
      return true
    }
  }

  private mutating func addOwn(_ link: DesiredLink, existing: Link?, _ observed: ObservedState) {
    if existing == nil, let step = link.creation { make.append(step) }
    let alias = Ownership.alias(ofTunnel: link.tunnel)
    if existing?.alias != alias { make.append(.setAlias(link: link.name, alias: alias)) }
    if case .wireGuard(let device) = link.device {
      let isConfigured = existing != nil && observed.wireGuard[link.name].map(device.isSatisfied) ?? false
      if link.renewsSessions, existing != nil {
        make.append(.renewSessions(link: link.name, device))
      } else if !isConfigured {
        make.append(.configureWireGuard(link: link.name, device))
      }
    }
    if let mtu = link.mtu, mtu != existing?.mtu { make.append(.setMTU(link: link.name, mtu: mtu, was: existing?.mtu ?? mtu)) }
    let present = Set(observed.kernel.addresses.lazy.filter { $0.link == link.name }.map(\.address))
    let wanted = Set(link.addresses)
    // The kernel gives links addresses of its own (fe80::); those are not ours to remove.
    for address in present.subtracting(wanted).sorted() where !address.address.isLinkLocal {
      make.append(.removeAddress(address, link: link.name))
    }
    for address in link.addresses where !present.contains(address) { make.append(.addAddress(address, link: link.name)) }
    if existing?.isUp != true { make.append(.setUp(link: link.name)) }
  }

  /// Changes routes and rules. A route that replaces another (same prefix, table and metric) directly follows its removal, in the same
  /// batch.
  private mutating func changeRoutesAndRules(_ kernel: KernelState, _ desired: DesiredState, usable: Set<String>) {
    let difference = RouteDifference(from: kernel.ownRoutes, to: desired.routes)
    let stale = Dictionary(grouping: difference.stale, by: { RouteKey($0) })
    var replaced = Set<RouteKey>()
    make.reserveCapacity(make.count + difference.missing.count)
    var links = UsableLinks(usable)
    for route in difference.missing where links.carries(route) {
      if !stale.isEmpty {
        let key = RouteKey(route)
        if let old = stale[key], replaced.insert(key).inserted { make += old.map { .removeRoute($0) } }
      }
      make.append(.addRoute(route))
    }
    let presentRules = Set(kernel.ownRules)
    let incomplete = links.incompleteTables(of: desired.routes)
    for rule in desired.rules where !presentRules.contains(rule) && !incomplete.contains(rule.table) { make.append(.addRule(rule)) }
    let wantedRules = Set(desired.rules)
    for rule in kernel.ownRules where !wantedRules.contains(rule) { unmake.append(.removeRule(rule)) }
    for route in difference.stale where !replaced.contains(RouteKey(route)) { unmake.append(.removeRoute(route)) }
  }

  private mutating func changeDNS(_ observed: ObservedResolvConf, _ desired: ResolvConf?) {
    switch (observed, desired) {
    // The choice of a DNS backend has reported this.
    case (.untouchable, _?): break
    case (.file(let text), let desired?): if text != desired.rendered { make.append(.writeResolvConf(desired)) }
    case (.absent, let desired?): make.append(.writeResolvConf(desired))
    case (_, nil): if observed.isOurs { unmake.insert(.restoreResolvConf, at: 0) }
    }
  }

  /// The firewall comes first of all additions and last of all removals: no packet flows before the kill switch is active.
  private mutating func changeFirewall(_ observed: ObservedFirewall, _ desired: DesiredFirewall) {
    switch desired {
    case .asItIs: if case .table(_, _, isGuarding: false) = observed { unmake.append(.removeFirewall) }
    case .open: if case .table = observed { unmake.append(.removeFirewall) }
    case .table(let table):
      if let reason = observed.refusal(of: table) {
        conflicts.append(Remark(.firewallUnavailable, "the kill switch of the policy blocks nothing: \(reason)"))
      } else if observed != .denied, !observed.isSatisfied(by: table) {
        let isFirst = !table.isOpen || observed != .absent
        make.insert(.replaceFirewall(table), at: isFirst ? 0 : make.firstIndex { $0.stage > .settings } ?? make.count)
      }
    }
  }

  /// Questions are redirected after the name server has started, and no more before anything else is removed.
  private mutating func changeNameCapture(_ observed: ObservedFirewall, _ desired: DesiredState) {
    guard let wanted = desired.nameCapture else {
      if case .table = observed, !desired.keepsNameCapture { unmake.insert(.removeNameCapture, at: 0) }
      return
    }
    if let reason = observed.refusal(of: wanted) {
      conflicts.append(Remark(.dnsLimited, "`names: capture` captures no questions: \(reason)"))
    } else if observed != .denied, !observed.isSatisfied(by: wanted) {
      make.append(.setNameCapture(wanted))
    }
  }

  /// Programs use a proxy of a tunnel after everything else of it is in place, and no more before anything of it is removed. Without a
  /// process that serves the address, no program has it.
  private mutating func changeProxies(_ observed: ObservedProxies, _ desired: ProxyPublication?) {
    if let desired, observed.trouble == nil {
      if !observed.isSatisfied(by: desired) { make.append(.setProxies(desired)) }
    } else if !observed.isEmpty {
      unmake.insert(.removeProxies, at: 0)
    }
    guard let desired else { return }
    if let reason = observed.unfetched, let tunnel = desired.script.tunnel {
      conflicts.append(Remark(.unsupported, of: tunnel, "its proxies are not in use: \(reason)"))
    }
    if let trouble = observed.trouble { conflicts.append(Remark(.unsupported, "no program is given proxies: \(trouble)")) }
    for (sink, reason) in observed.obstacles.sorted(by: { $0.key < $1.key }) where desired.sinks.contains(sink) {
      conflicts.append(Remark(.unsupported, "proxies are not published to \(sink.rawValue): \(reason)"))
    }
  }

  private mutating func removeLinks(_ observed: ObservedState, _ desired: DesiredState) {
    let wanted = Set(desired.links.map(\.name))
    for link in observed.kernel.links where !wanted.contains(link.name) {
      let isOurs = Ownership.tunnel(ofAlias: link.alias) != nil || observed.unfinishedLinks.contains(link.name)
      if isOurs { unmake.append(.deleteLink(link.name, link.kind == "wireguard" || link.leadsNowhere ? .kernel : .userspace)) }
    }
  }
}
