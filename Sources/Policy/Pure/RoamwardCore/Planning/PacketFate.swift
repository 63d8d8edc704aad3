package import KernelModel
package import NetworkTypes

/// The fate of a packet from this machine to an address, as far as Roamward decides it.
package enum PacketFate: Equatable, Sendable {
  /// It takes the machine's own routes, as without Roamward.
  case outside
  /// It goes into a tunnel, because of this route's prefix.
  case inside(link: String, by: IPPrefix)
  /// A route in one of our tables makes it unreachable.
  case unreachable(by: IPPrefix)
  /// It would go outside, and the kill switches of these tunnels block it.
  case blocked(by: [String])

  /// Whether a connection under this fate breaks when it continues under the other one.
  package func isCut(by other: PacketFate) -> Bool {
    switch (self, other) {
    case (.outside, .outside): false
    case (.inside(let before, _), .inside(let after, _)): before != after
    // There is no connection.
    case (.unreachable, _), (.blocked, _): false
    default: true
    }
  }
}

extension DesiredState {
  /// The fate of a packet without the tunnels' own mark. Follows the kernel: our rules by their priority, in each table the longest prefix,
  /// and then the firewall.
  package func fate(of destination: IPAddress) -> PacketFate {
    // Rules that match a mark are for other VPNs' own packets.
    for rule in rules.sorted(by: { $0.priority < $1.priority })
    where rule.family == destination.family && (rule.isInverted || rule.mask == 0) {
      let matching = routes.filter { $0.table == rule.table && $0.destination.contains(destination) }
      guard let route = matching.max(by: { ($0.destination.length, $1.metric) < ($1.destination.length, $0.metric) }) else { continue }
      switch route.kind {
      case .throw: continue
      case .unicast: return .inside(link: route.link ?? "", by: route.destination)
      default: return .unreachable(by: route.destination)
      }
    }
    let guards = holdingBack(destination)
    return guards.isEmpty ? .outside : .blocked(by: guards)
  }

  /// The tunnels whose kill switches prevent a packet to this address from going outside.
  package func holdingBack(_ destination: IPAddress) -> [String] {
    guard case .table(let table) = firewall else { return [] }
    return table.holdingBack(destination)
  }
}

extension FirewallTable {
  /// The tunnels that prevent a packet to this address from going outside (docs/security-kill-switch.md, 5 to 7), without a portal window.
  package func holdingBack(_ destination: IPAddress) -> [String] {
    if gateways.contains(destination) { return insides.map(\.link) }
    if destination.isLoopback || excluded.contains(where: { $0.contains(destination) }) { return [] }
    let linkLocal = destination.family == .v6 && destination.isLinkLocal
    if allowsLAN, linkLocal || (neighbours + discovery).contains(where: { $0.contains(destination) }) { return [] }
    return guards.filter { guarded in guarded.prefixes.contains { $0.contains(destination) } }.map(\.tunnel)
  }
}
