import KernelModel
import NetworkTypes

extension DesiredState {
  /// Has our own name server answer programs with a route of their own that ask a resolver of this machine: their names are looked up where
  /// their packets go. Questions to other servers are packets as all others, but those of programs outside to a tunnel's servers come here
  /// too. `up`: the tunnels with routes.
  mutating func leadNames(of programs: [ProgramGroup], up: [TunnelSetup], on underlay: UnderlayFit) {
    if programs.isEmpty { return }
    if underlay.resolver.isAskedBySocket { notes += programs.filter { !$0.isMade }.map(\.socketRemark).uniqued() }
    let content = resolvConf ?? record?.content
    let resolvers = (underlay.resolver.resolversHere + (leadsToNameServer ? [NameServerSettings.address] : [])).uniqued()
    let inside = leadsToNameServer ? [] : content?.nameServers ?? []
    var routes: [ProgramNames.Route] = []
    if programs.contains(where: { $0.route == .outside }), !resolvers.isEmpty || !inside.isEmpty {
      routes.append(ProgramNames.Route(number: ProgramNames.Route.outside, servers: underlay.nameServers))
    }
    for (tunnel, number) in programs.classes where !resolvers.isEmpty {
      let tunnel = up.first { $0.policy.name == tunnel }
      // Without servers, its names are those of this machine.
      if let tunnel, tunnel.policy.ownDNS.servers.isEmpty { continue }
      let servers = tunnel?.policy.ownDNS.servers.filter { !$0.isLoopback } ?? []
      routes.append(ProgramNames.Route(number: UInt16(truncatingIfNeeded: number), servers: servers))
    }
    if routes.isEmpty { return }
    let names = ProgramNames(
      routes: routes.sorted { $0.number < $1.number }, resolvers: resolvers, inside: inside.filter { !$0.isLoopback })
    var table = if case .table(let table) = firewall { table } else { FirewallTable() }
    table.programNames = names
    firewall = .table(table)
    if let reason = underlay.resolver.reasonNotToCapture {
      // Their questions fail rather than take another route than their packets.
      if underlay.resolver.isNameServerReturning { return }
      return notes.append(
        Remark(
          .dnsLimited,
          "programs with a route of their own resolve no names by \(resolvers.map(\.description).joined(separator: ", ")): \(reason)"))
    }
    nameServer = nameServer ?? NameServerSettings(of: underlay)
    nameServer?.programs = names
  }
}

extension ProgramGroup {
  /// `roamward run` hides the socket from what it starts.
  fileprivate var socketRemark: Remark {
    Remark(
      .dnsLimited, of: route.tunnel,
      "programs in \(path) that ask systemd-resolved by its socket (`resolve` in /etc/nsswitch.conf) get names as all programs do; cure, unless"
        + " it is hidden already: `InaccessiblePaths=-/run/systemd/resolve/io.systemd.Resolve` in the unit")
  }
}
