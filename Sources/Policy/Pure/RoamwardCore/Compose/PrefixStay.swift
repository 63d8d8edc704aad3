import KernelModel
package import NetworkTypes

/// The decision for an attached prefix, under a tunnel that would include it.
struct PrefixStay: Equatable, Sendable {
  let isOutside: Bool
  /// The reason for people, to follow "because".
  let reason: String

  static func outside(reason: String) -> PrefixStay { PrefixStay(isOutside: true, reason: reason) }
  static func inside(reason: String) -> PrefixStay { PrefixStay(isOutside: false, reason: reason) }
}

/// An attached prefix that stays outside a tunnel which includes it.
package struct OutsidePrefix: Equatable, Sendable, CustomStringConvertible {
  package let prefix: IPPrefix
  /// The reason for people, to follow "because".
  package let reason: String

  package var description: String { "\(prefix) stays outside, because \(reason)" }
}

extension TunnelSetup {
  /// Whether an attached prefix stays outside this tunnel; `nil` if no included prefix contains all of it.
  ///
  /// The operator of a network can attach the machine to any prefix (TunnelCrack's LocalNet, CVE-2023-36672). So a prefix that the policy
  /// names, or one inside it, is never the local network. The local network is private and of a usual size.
  func stay(of attached: IPPrefix, on underlay: UnderlayFit) -> PrefixStay? {
    guard includedPrefixes.hold(attached) else { return nil }
    let isOwn = underlay.ownPrefixes.contains(attached)
    if let named = namedPrefix(overlapping: attached) {
      if isOwn { return .outside(reason: "it is a network of this machine alone") }
      return stay(of: attached, under: named)
    }
    if let refusal = lanRefusal { return .inside(reason: refusal) }
    if !attached.isPrivate { return .inside(reason: "it is public, and any network can claim it") }
    if !isOwn, !attached.isNeighbourhood { return .inside(reason: "no local network is so wide or so narrow") }
    return .outside(reason: "this machine is attached to it, and lan is allow")
  }

  private func stay(of attached: IPPrefix, under named: IPPrefix) -> PrefixStay {
    let name = policy.name
    let choice = policy.routes?.onOverlap ?? .preferTunnel
    guard named.contains(attached) else { return .inside(reason: "it contains \(named), which \(name) includes") }
    guard choice == .preferLocal else {
      return .inside(reason: "\(name) includes \(named), and on-overlap is \(choice.rawValue)")
    }
    if policy.guarding != .off { return .inside(reason: "\(name) includes \(named), and has a kill switch") }
    if policy.routes?.isEnforced ?? false { return .inside(reason: "\(name) includes \(named) (routes: enforce)") }
    if attached == named { return .outside(reason: "this machine is attached to it, and on-overlap is prefer-local") }
    if let refusal = lanRefusal { return .inside(reason: refusal) }
    if !attached.isNeighbourhood { return .inside(reason: "no local network is so wide or so narrow") }
    return .outside(reason: "this machine is attached to it, and on-overlap is prefer-local")
  }

  /// The reason why no local network is reachable outside; `nil` if credible ones are.
  private var lanRefusal: String? {
    if lan == .allow { return nil }
    guard let routes = policy.routes else { return "include-all-networks is set" }
    if routes.lan == .block { return "lan is block" }
    return routes.lanNetworks.isEmpty ? "include-all-networks is set" : "this is none of the networks in lan-networks"
  }

  /// A prefix that the policy, or else the provider's own configuration, names, and that overlaps with this one. Pieces of everything name
  /// nothing.
  private func namedPrefix(overlapping prefix: IPPrefix) -> IPPrefix? {
    [includedPrefixes, policy.routes?.include ?? []].lazy.compactMap { list in
      list.cover.overlaps(prefix) ? list.all.first { !$0.isPieceOfEverything && $0.overlaps(prefix) } : nil
    }.first
  }

  /// Whether the firewall allows this attached prefix although the tunnel's kill switch is active.
  func letsThrough(_ attached: IPPrefix, on underlay: UnderlayFit) -> Bool {
    if let stay = stay(of: attached, on: underlay) { return stay.isOutside }
    guard lan == .allow, namedPrefix(overlapping: attached) == nil else { return false }
    return underlay.ownPrefixes.contains(attached) || attached.isNeighbourhood
  }

  /// The attached prefixes that stay outside although the tunnel includes them.
  package func outsidePrefixes(on underlay: UnderlayFit) -> [OutsidePrefix] {
    underlay.attachedPrefixes.compactMap { prefix in
      stay(of: prefix, on: underlay).flatMap { $0.isOutside ? OutsidePrefix(prefix: prefix, reason: $0.reason) : nil }
    }
  }

  /// The fate of attached prefixes that overlap with named ones, unless the remarks on routes say it already (`tunnelRoutes`).
  func overlapRemarks(on underlay: UnderlayFit) -> [Remark] {
    let included = includedPrefixes
    return underlay.attachedPrefixes.compactMap { prefix in
      guard namedPrefix(overlapping: prefix) != nil, let stay = stay(of: prefix, on: underlay),
        !(stay.isOutside && included.contains(prefix))
      else { return nil }
      let fate = stay.isOutside ? "stays outside" : "goes into the tunnel"
      return Remark(.overlap, of: policy.name, "\(prefix), which this machine is attached to, \(fate), because \(stay.reason)")
    }
  }

  /// The reason why the tunnel may not start on this underlay: an attached prefix overlaps with a named one, and the policy says
  /// `on-overlap: refuse`. Excluded prefixes do not count. A network of this machine alone counts only if it contains the whole named
  /// prefix. A bridge for containers inside 172.16.0.0/12 is no conflict with another network.
  func refusal(on underlay: UnderlayFit) -> String? {
    guard let routes = policy.routes, routes.onOverlap == .refuse else { return nil }
    for attached in underlay.attachedPrefixes where !routes.exclude.hold(attached) {
      guard let named = namedPrefix(overlapping: attached) else { continue }
      if attached.contains(named) { return "this machine is attached to \(attached), which the tunnel includes, and on-overlap is refuse" }
      if underlay.ownPrefixes.contains(attached) { continue }
      return "this machine is attached to \(attached), which the tunnel includes in \(named), and on-overlap is refuse"
    }
    return nil
  }

  /// Whether the tunnel leaves the routes of other VPNs alone: it does, unless the policy includes or blocks everything.
  var yieldsToOthers: Bool { !(policy.routes?.isEnforced ?? false) && !isGuarding && !policy.includesAllNetworks }
}

extension IPPrefix {
  /// Whether the prefix has a size of local networks: /16 to /30, in IPv6 /48 to /64.
  fileprivate var isNeighbourhood: Bool { family == .v4 ? (16...30).contains(length) : (48...64).contains(length) }
}
