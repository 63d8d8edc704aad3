import KernelModel
import NetworkTypes

// Tunnels through other tunnels (docs/decisions/0003-each-tunnel-has-a-routing-table-before-the-main-one.md).
extension DesiredState {
  /// Adds the ways of the own packets of inner tunnels: into the link of the outer tunnel, or nowhere.
  ///
  /// The last rule makes them unreachable. It is there before the outer tunnel is, and as long as one of the two runs: a packet that comes
  /// too early or too late never leaves outside.
  mutating func addPassages(_ tunnels: [TunnelSetup]) {
    let outers = Set(tunnels.compactMap { $0.policy.through?.name })
    guard tunnels.contains(where: { $0.isRunning && $0.level != .device && ($0.policy.through != nil || outers.contains($0.policy.name)) })
    else { return }
    for family in IPAddress.Family.allCases {
      routes.append(.everything(of: family, kind: .unreachable, table: Ownership.lostTable))
      rules.append(
        RoutingRule(
          family: family, priority: Ownership.lostTable, table: Ownership.lostTable, mark: Ownership.innerMark(of: nil),
          mask: Ownership.wayMask))
    }
    for outer in tunnels where outers.contains(outer.policy.name) && outer.level.hasRoutes && refusals[outer.policy.name] == nil {
      guard let link = outer.link else { continue }
      let table = Ownership.innerTable(of: outer.slot)
      for family in IPAddress.Family.allCases where outer.carries(family) {
        routes.append(.everything(of: family, kind: .unicast, on: link, table: table))
        rules.append(
          RoutingRule(family: family, priority: table, table: table, mark: Ownership.innerMark(of: outer.slot), mask: .max))
      }
    }
  }
}

extension Route {
  fileprivate static func everything(of family: IPAddress.Family, kind: Kind, on link: String? = nil, table: UInt32) -> Route {
    Route(to: .everything(family), kind: kind, on: link, table: table, metric: family == .v6 ? defaultIPv6Metric : 0)
  }
}

extension [TunnelSetup] {
  /// The tunnel that this one goes through; `nil`: it goes through none, or no policy defines it.
  func outer(of tunnel: TunnelSetup) -> TunnelSetup? {
    tunnel.policy.through.flatMap { through in first { $0.policy.name == through.name } }
  }
}

extension UnderlayFit {
  /// The underlay of this tunnel: for an inner tunnel, with the MTU of the outer one. A link that a program makes has the one that it has.
  func below(_ tunnel: TunnelSetup, in tunnels: [TunnelSetup]) -> UnderlayFit {
    var outers: [TunnelSetup] = []
    while let next = tunnels.outer(of: outers.last ?? tunnel), !outers.contains(next), next != tunnel { outers.append(next) }
    var below = self
    for outer in outers.reversed() {
      let own = DesiredLink(outer, on: below)?.mtu ?? outer.link.flatMap { outerMTUs[$0] }
      below.mtu = own ?? below.mtu(afterOverhead: 80)
    }
    return below
  }
}

extension KernelState {
  /// The MTUs of all links by their names, if there is a tunnel that goes through another one, whose link may be made by a program.
  package func outerMTUs(for policies: some Sequence<TunnelPolicy>) -> [String: UInt32] {
    guard policies.contains(where: { $0.through != nil }) else { return [:] }
    return Dictionary(links.map { ($0.name, $0.mtu) }) { first, _ in first }
  }
}
