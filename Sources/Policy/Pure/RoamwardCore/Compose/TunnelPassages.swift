import KernelModel
import NetworkTypes

/// The routes and rules of packets that go through a tunnel by their mark: those of inner tunnels
/// (docs/decisions/0003-each-tunnel-has-a-routing-table-before-the-main-one.md), and those of programs.
///
/// They lead into the link of the tunnel, or nowhere. The last rule makes them unreachable. It is there before the outer tunnel is, and as
/// long as one of the two runs, or a program: a packet that comes too early or too late never leaves outside.
struct TunnelPassages {
  private(set) var routes: [Route] = []
  private(set) var rules: [RoutingRule] = []

  /// `refused`: the tunnels that may not be up.
  init(_ tunnels: [TunnelSetup], _ programs: [ProgramGroup], refused: some Collection<String>) {
    let outers = Set(tunnels.compactMap { $0.policy.through?.name })
    let classes = programs.classes
    let isNested = tunnels.contains {
      $0.isRunning && $0.level != .device && ($0.policy.through != nil || outers.contains($0.policy.name))
    }
    guard isNested || !classes.isEmpty else { return }
    for family in IPAddress.Family.allCases {
      routes.append(.everything(of: family, kind: .unreachable, table: Ownership.lostTable))
      rules.append(
        RoutingRule(
          family: family, priority: Ownership.lostTable, table: Ownership.lostTable, mark: Ownership.innerMark(of: nil),
          mask: Ownership.wayMask))
    }
    for outer in tunnels where outer.level.hasRoutes && !refused.contains(outer.policy.name) {
      let (isOuter, number) = (outers.contains(outer.policy.name), classes[outer.policy.name])
      guard isOuter || number != nil, let link = outer.link else { continue }
      let table = Ownership.innerTable(of: outer.slot)
      for family in IPAddress.Family.allCases where outer.carries(family) {
        routes.append(.everything(of: family, kind: .unicast, on: link, table: table))
        let marks = (isOuter ? [Ownership.innerMark(of: outer.slot)] : []) + (number.map { [Ownership.programMark($0)] } ?? [])
        rules += marks.map { RoutingRule(family: family, priority: table, table: table, mark: $0, mask: .max) }
      }
    }
  }
}

extension DesiredState {
  /// The state without a tunnel: packets of these programs go nowhere.
  package init(keeping programs: [ProgramGroup]) {
    self.init()
    let passages = TunnelPassages([], programs, refused: [])
    (routes, rules) = (passages.routes, passages.rules)
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

extension TunnelSetup {
  /// The programs that the policy names; `nil`: none.
  var programNote: Remark? {
    guard let apps = policy.apps else { return nil }
    func list(_ apps: [App]) -> String { apps.map(\.description).joined(separator: ", ") }
    if policy.isForApps {
      return Remark(.programRoute, of: policy.name, "it is for \(list(apps.include)) alone: no route of this machine leads into it")
    }
    return apps.exclude.isEmpty
      ? nil : Remark(.programRoute, of: policy.name, "packets of \(list(apps.exclude)) stay outside, past kill switches")
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
