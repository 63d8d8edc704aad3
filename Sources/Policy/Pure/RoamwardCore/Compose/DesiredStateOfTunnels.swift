package import KernelModel
import NetworkTypes

extension DesiredState {
  /// The desired state of the tunnels, at their levels, on this underlay, of guards, and of programs with a route of their own.
  package init(
    of tunnels: [TunnelSetup], on underlay: UnderlayFit, portal: PortalWindow? = nil, guards: [GuardSetup] = [],
    programs: [ProgramGroup] = []
  ) {
    self.init()
    let table = FirewallTable(
      of: tunnels.map(\.withNames), on: underlay, portal: portal, guards: guards, programs: programs)
    firewall = table.map { .table($0) } ?? .open
    let ordered = tunnels.sorted { $0.slot < $1.slot }
    for tunnel in ordered where tunnel.level == .device {
      if let link = DesiredLink(tunnel, on: underlay.below(tunnel, in: ordered)) { links.append(link) }
    }
    for tunnel in ordered where tunnel.level > .device {
      if let refusal = tunnel.refusal(on: underlay) {
        refusals[tunnel.policy.name] = TunnelFailure(.overlapRefused, refusal)
        continue
      }
      if let refusal = tunnel.markRefusal(on: underlay) {
        refusals[tunnel.policy.name] = TunnelFailure(.markUnavailable, refusal)
        continue
      }
      if let remark = tunnel.markRemark(on: underlay) { remarks.append(remark) }
      if let link = DesiredLink(tunnel, on: underlay.below(tunnel, in: ordered)) { links.append(link) }
      guard tunnel.level.hasRoutes else { continue }
      let (routes, notes) = tunnelRoutes(tunnel, on: underlay, through: ordered.outer(of: tunnel))
      self.routes += routes
      self.notes += notes
      remarks += tunnel.level == .armed ? armedRemarks(of: tunnel, on: underlay) : tunnel.overlapRemarks(on: underlay)
      let families = Set(routes.map(\.destination.family)).sorted()
      rules += families.map {
        RoutingRule(
          family: $0, priority: tunnel.table, table: tunnel.table, mark: Ownership.mark, mask: Ownership.markMask, isInverted: true)
      }
    }
    let passages = TunnelPassages(ordered, programs, refused: refusals.keys)
    routes += passages.routes
    rules += passages.rules
    addRulesForOthers(ordered, underlay.others)
    let up = ordered.filter { $0.level.hasRoutes && refusals[$0.policy.name] == nil }.inOrderOfNames
    let down = ordered.filter { !up.contains($0) }
    applyDNS(of: up, on: underlay, isWatching: ordered.contains { $0.watch != nil || $0.routesNames })
    refuseNames(of: ordered, down: down, on: underlay)
    watchNames(of: ordered, on: underlay)
    RoutedNames(tunnels: ordered, up: up, underlay: underlay).apply(to: &self)
    captureNames(of: up, down: down, on: underlay)
    NamesOfPrograms(programs: programs, up: up, underlay: underlay).apply(to: &self)
    remarks += up.compactMap(\.programNote)
    proxies = ProxyPublication(of: ordered)
    notes += ordered.compactMap(\.portRemark)
    leaveOutOfNarrowLinks()
    leaveOut(underlay.familiesOff)
    nameServer?.asksNetworkInside = ordered.contains(where: \.takesNamesInside)
    nameServer?.refusesDiscovery = proxies != nil && ordered.contains(where: \.isGuarding)
  }

  /// Leaves IPv6 out of links that are too narrow for it (RFC 8200, 5): the kernel takes no IPv6 address there. What would go in is
  /// unreachable.
  private mutating func leaveOutOfNarrowLinks() {
    for i in links.indices {
      guard let mtu = links[i].mtu, mtu < 1280 else { continue }
      let lost = links[i].addresses.filter { $0.address.family == .v6 }
      if lost.isEmpty { continue }
      let what = lost.map(\.description).joined(separator: ", ")
      notes.append(
        Remark(
          .familyOff, of: links[i].tunnel,
          "its MTU is \(mtu), and IPv6 needs 1280, so \(what) is left out and the IPv6 that it includes is unreachable; cure: a larger mtu")
      )
      links[i].addresses.removeAll { $0.address.family == .v6 }
      for j in routes.indices where routes[j].link == links[i].name && routes[j].destination.family == .v6 {
        routes[j].link = nil
        routes[j].kind = .unreachable
      }
    }
  }

  /// Leaves out a family that this machine has switched off: no packet of it can leave, inside a tunnel or outside. A tunnel without any
  /// other address cannot be up.
  private mutating func leaveOut(_ families: Set<IPAddress.Family>) {
    if families.isEmpty { return }
    for i in links.indices {
      let lost = links[i].addresses.filter { families.contains($0.address.family) }
      if lost.isEmpty { continue }
      let what = lost.map(\.description).joined(separator: ", ")
      let names = Set(lost.map(\.address.family)).sorted().map { "IPv\($0.rawValue)" }.joined(separator: " and ")
      let reason = "\(names) is switched off on this machine (sysctl net.ipv6.conf.default.disable_ipv6)"
      if lost.count == links[i].addresses.count {
        refusals[links[i].tunnel] = TunnelFailure(.familyOff, "\(reason), and the tunnel has no address but \(what)")
      } else {
        notes.append(Remark(.familyOff, of: links[i].tunnel, "\(reason), so \(what) and the routes of \(names) are left out"))
      }
      links[i].addresses.removeAll { families.contains($0.address.family) }
    }
    routes.removeAll { families.contains($0.destination.family) }
    rules.removeAll { families.contains($0.family) }
  }

  /// Adds rules for other VPNs' own packets: they take the main table, as without our tunnels, unless a kill switch has to keep everything
  /// inside.
  private mutating func addRulesForOthers(_ tunnels: [TunnelSetup], _ others: OtherVPNs) {
    guard tunnels.allSatisfy({ !$0.level.hasRoutes || $0.yieldsToOthers }) else { return }
    let marks = others.unservedMarks.prefix(Ownership.rules.count - Ownership.tables.count)
    for family in Set(rules.map(\.family)).sorted() {
      rules += marks.enumerated().map { i, mark in
        RoutingRule(
          family: family, priority: Ownership.rules.lowerBound + UInt32(i), table: Route.mainTable, mark: mark.value, mask: mark.mask)
      }
    }
  }
}

extension DesiredLink {
  init?(_ tunnel: TunnelSetup, on underlay: UnderlayFit) {
    guard let link = tunnel.link else { return nil }
    switch (tunnel.device, tunnel.policy.provider) {
    case (.wireGuard, .wireGuard(let provider)):
      // 80 bytes: IPv6, UDP and WireGuard's own headers.
      let usual = provider.configuration?.mtu ?? underlay.mtu(afterOverhead: 80)
      let isAlone = tunnel.level == .device
      self.init(
        name: link, tunnel: tunnel.policy.name,
        device: isAlone ? tunnel.device.withoutPeers : tunnel.isSilent ? tunnel.device.silent : tunnel.device,
        mtu: tunnel.policy.mtu.map(underlay.mtu) ?? usual, addresses: isAlone ? [] : provider.configuration?.addresses ?? [])
      renewsSessions = tunnel.renewsSessions
    case (.tun, .installed(let provider)), (.xfrm, .installed(let provider)):
      let brought = provider.settings
      // 80 bytes, as above: enough for most protocols over UDP.
      self.init(
        name: link, tunnel: tunnel.policy.name, device: tunnel.device,
        mtu: (tunnel.policy.mtu ?? brought.mtu).map(underlay.mtu) ?? underlay.mtu(afterOverhead: 80),
        // Alone, without the prefix that a server gives with it: of that, the kernel would make broadcast addresses.
        addresses: brought.addresses.compactMap {
          InterfaceAddress($0.address, prefixLength: $0.address.family.bitWidth)
        })
    default:
      self.init(name: link, tunnel: tunnel.policy.name, device: .foreign, mtu: tunnel.policy.mtu.map(underlay.mtu))
    }
  }
}

extension TunnelSetup {
  var dns: DNSPolicy { policy.dnsInForce }

  fileprivate var portRemark: Remark? {
    portHolder.map { Remark(.portTaken, of: policy.name, "\($0), so it listens at another one until it starts again") }
  }
}

extension DesiredLink.Device {
  /// Gives its own packets this firewall mark, if the kernel or an engine of ours sends them.
  mutating func mark(_ mark: UInt32) {
    guard case .wireGuard(var device) = self else { return }
    device.firewallMark = mark
    self = .wireGuard(device)
  }

  /// The device without peers, so that it can neither send nor receive anything.
  var withoutPeers: DesiredLink.Device {
    guard case .wireGuard(var device) = self else { return self }
    device.peers = []
    return .wireGuard(device)
  }

  /// The device without persistent keepalives, so that it sends nothing by itself.
  var silent: DesiredLink.Device {
    guard case .wireGuard(var device) = self else { return self }
    for i in device.peers.indices { device.peers[i].persistentKeepalive = 0 }
    return .wireGuard(device)
  }
}
