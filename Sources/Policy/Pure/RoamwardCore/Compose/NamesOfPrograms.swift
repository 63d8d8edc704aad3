import KernelModel
import NetworkTypes

/// The names of programs with a route of their own: our own name server answers those that ask a resolver of this machine, so that names
/// are looked up where the programs' packets go. Questions to other servers are packets as all others, but those of programs outside to a
/// tunnel's servers come here too.
struct NamesOfPrograms {
  let programs: [ProgramGroup]
  /// The tunnels with routes.
  let up: [TunnelSetup]
  let underlay: UnderlayFit

  func apply(to desired: inout DesiredState) {
    if programs.isEmpty { return }
    if underlay.resolver.isAskedBySocket { desired.notes += programs.filter { !$0.isMade }.map(\.socketRemark).uniqued() }
    let isLed = desired.leadsToNameServer
    let resolvers = (underlay.resolver.resolversHere + (isLed ? [NameServerSettings.address] : [])).uniqued()
    let inside = isLed ? [] : (desired.resolvConf ?? desired.record?.content)?.nameServers.filter { !$0.isLoopback } ?? []
    let routes = routes(resolvers, inside)
    if routes.isEmpty { return }
    let names = ProgramNames(routes: routes, resolvers: resolvers, inside: inside)
    var table = if case .table(let table) = desired.firewall { table } else { FirewallTable() }
    table.programNames = names
    desired.firewall = .table(table)
    if let reason = underlay.resolver.reasonNotToCapture {
      // Their questions fail rather than take another route than their packets.
      if underlay.resolver.isNameServerReturning { return }
      return desired.notes.append(
        Remark(
          .dnsLimited,
          "programs with a route of their own resolve no names by \(resolvers.map(\.description).joined(separator: ", ")): \(reason)"))
    }
    desired.nameServer = desired.nameServer ?? NameServerSettings(of: underlay)
    desired.nameServer?.programs = names
  }

  /// The servers of each route whose programs may ask one of these resolvers, or one of these servers inside of tunnels.
  private func routes(_ resolvers: [IPAddress], _ inside: [IPAddress]) -> [ProgramNames.Route] {
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
    return routes.sorted { $0.number < $1.number }
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
