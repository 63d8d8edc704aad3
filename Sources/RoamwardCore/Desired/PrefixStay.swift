import NetworkTypes

/// What becomes of a prefix that the machine is attached to, under a tunnel that would take it.
struct PrefixStay: Hashable, Sendable {
  let isOutside: Bool
  /// For people, to follow "because".
  let because: String

  static func outside(because reason: String) -> PrefixStay { PrefixStay(isOutside: true, because: reason) }
  static func inside(because reason: String) -> PrefixStay { PrefixStay(isOutside: false, because: reason) }
}

extension TunnelSetup {
  /// `nil` where nothing that the tunnel includes holds the whole prefix.
  ///
  /// Whoever runs a network can attach the machine to any prefix (TunnelCrack's LocalNet). With `enforce` only what nobody else has a claim to
  /// is believed: private, of a local network's size, and not what the tunnel itself names.
  func stay(of attached: IPPrefix) -> PrefixStay? {
    let included = includedPrefixes
    guard included.contains(where: { $0.contains(attached) }) else { return nil }
    let routes = policy.routes ?? RoutePolicy()
    if routes.isEnforced {
      if !attached.isPrivate { return .inside(because: "it is public, and anybody can claim it (routes: enforce)") }
      if !attached.isNeighbourhood { return .inside(because: "no local network is so wide or so narrow (routes: enforce)") }
      if let named = included.first(where: { $0.isPrivate && $0.contains(attached) }) {
        return .inside(because: "\(policy.name) includes \(named) (routes: enforce)")
      }
    } else if included.contains(attached) {
      return routes.onOverlap == .preferTunnel
        ? .inside(because: "on-overlap is prefer-tunnel") : .outside(because: "this machine is attached to it")
    }
    if routes.lan == .block { return .inside(because: "lan is block") }
    if lan == .block { return .inside(because: "this is none of the networks in lan-networks") }
    return .outside(because: "this machine is attached to it, and lan is allow")
  }

  /// Why the tunnel may not come up on this underlay: the machine is attached to what it includes, and the policy says `on-overlap: refuse`.
  func refusal(on underlay: UnderlayFit) -> String? {
    guard let routes = policy.routes, routes.onOverlap == .refuse else { return nil }
    let overlap = underlay.attachedPrefixes.first { attached in includedPrefixes.contains { $0.length > 0 && attached.contains($0) } }
    return overlap.map { "this machine is attached to \($0), which the tunnel includes, and on-overlap is refuse" }
  }

  /// What other VPNs of this machine route stays theirs, unless the policy takes or holds back everything.
  var yieldsToOthers: Bool { !(policy.routes?.isEnforced ?? false) && !isGuarding && !policy.includesAllNetworks }
}

extension IPPrefix {
  /// Of a size that local networks have: /16 to /30, in IPv6 /48 to /64.
  fileprivate var isNeighbourhood: Bool { family == .v4 ? (16...30).contains(length) : (48...64).contains(length) }
}
