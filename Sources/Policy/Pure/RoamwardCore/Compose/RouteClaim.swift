package import KernelModel
import NetworkTypes

/// A route or rule of another program that would lead included addresses past a tunnel, and its effect.
///
/// It comes from a DHCP server, a router advertisement or a program; the intention is not considered. The tunnel's table comes before the
/// main one, so most claims have no effect. `fate` and `reason` describe the effect of each.
package struct RouteClaim: Hashable, Sendable {
  /// The fate of the packets that the claim is about.
  package enum Fate: String, Hashable, Sendable {
    /// The packets go past the tunnel.
    case outside
    /// The packets go into the tunnel.
    case inside
    /// The packets are refused.
    case nowhere
  }

  package var tunnel: String
  /// The claimed route or rule: `10.1.0.0/16 via 192.0.2.66 dev wlan0 (DHCP)`.
  package var what: String
  package var fate: Fate
  package var reason: String
  /// Whether to report it without a request: a route to a prefix that is not attached, pushed by the network, or a rule for everything.
  package var isNews = false
}

extension RouteClaim: CustomStringConvertible {
  package var description: String { "\(tunnel): \(what): goes \(fate.rawValue), because \(reason)" }
}

/// All claims on the addresses that these tunnels include: rules before the tunnels' own first, then routes, in order of destination. Of
/// very many routes (a router's) only the first are reported.
package func routeClaims(
  on tunnels: [TunnelSetup], in kernel: KernelState, _ underlay: UnderlayFit, limit: Int = 20
) -> [RouteClaim] {
  let ours = Set(tunnels.compactMap(\.link) + kernel.links.filter { Ownership.tunnel(ofAlias: $0.alias) != nil }.map(\.name))
  var others = kernel.routes.filter { route in
    route.table == Route.mainTable && route.routeProtocol != Ownership.routeProtocol && route.kind == .unicast && !route.isDead
      && route.destination.length > 0 && !route.destination.address.isLinkLocal && !route.destination.address.isMulticast
      && !route.destination.address.isLoopback && !(route.link.map(ours.contains) ?? false)
  }
  others.sort { ($0.destination, $0.metric) < ($1.destination, $1.metric) }
  return tunnels.flatMap { tunnel -> [RouteClaim] in
    let included = tunnel.includedPrefixes
    guard !included.isEmpty, tunnel.refusal(on: underlay) == nil else { return [] }
    var claims = kernel.rules.filter { $0.isAsked(before: tunnel, for: included) }.map { RouteClaim(of: $0, on: tunnel, underlay) }
      .uniqued()
    // Of most machines, no route lies in what a tunnel includes.
    let claimed = others.filter { included.hold($0.destination) }
    if claimed.isEmpty { return claims }
    let routes = tunnelRoutes(tunnel, on: underlay, through: tunnels.outer(of: tunnel)).routes
    let ways = Dictionary(routes.map { ($0.destination, $0) }) { $0.metric <= $1.metric ? $0 : $1 }
    let (wides, table) = (PrefixIndex(included.all), PrefixIndex(ways.keys))
    for route in claimed {
      guard claims.count < limit else { break }
      guard let wide = wides.longest(holding: route.destination), let way = table.longest(holding: route.destination).flatMap({ ways[$0] })
      else {
        continue
      }
      claims.append(RouteClaim(of: route, on: tunnel, within: wide, way, underlay))
    }
    return claims
  }
}

extension RouteClaim {
  fileprivate init(of route: Route, on tunnel: TunnelSetup, within wide: IPPrefix, _ way: Route, _ underlay: UnderlayFit) {
    let name = tunnel.policy.name
    let isAttached = underlay.attachedPrefixes.contains(route.destination) && route.gateway == nil
    let source = route.gateway == nil && route.routeProtocol == 2 ? "attached" : route.routeProtocolName
    var words = route.destination.description
    if let gateway = route.gateway { words += " via \(gateway)" }
    if let link = route.link { words += " dev \(link)" }
    let reason: String
    switch way.kind {
    case .throw where way.destination.contains(route.destination):
      if let stay = tunnel.stay(of: way.destination, on: underlay), stay.isOutside, underlay.attachedPrefixes.contains(way.destination) {
        reason = stay.reason
      } else if tunnel.policy.routes?.exclude.contains(way.destination) ?? false {
        reason = "\(name) excludes \(way.destination)"
      } else if underlay.others.mainPrefixes.contains(way.destination) {
        reason = "another VPN of this machine routes it"
      } else {
        reason = "\(name) lets \(way.destination) through"
      }
    case .unreachable: reason = "\(name) has no IPv\(wide.family.rawValue) address, and makes \(wide) unreachable"
    default:
      let stay = isAttached ? tunnel.stay(of: route.destination, on: underlay) : nil
      reason = stay?.reason ?? "\(name)'s table comes before the main table (it includes \(wide))"
    }
    self.init(
      tunnel: name, what: "\(words) (\(source))", fate: way.kind == .throw ? .outside : way.kind == .unreachable ? .nowhere : .inside,
      reason: reason, isNews: !isAttached && way.kind != .throw && route.isPushed)
  }

  fileprivate init(of rule: RoutingRule, on tunnel: TunnelSetup, _ underlay: UnderlayFit) {
    let owner = underlay.others.all.first { $0.rules.contains(rule) }?.name
    let what = owner.map { "rule \(rule.priority) of \($0)" } ?? "rule \(rule.priority)"
    let name = tunnel.policy.name
    let held = tunnel.isGuarding ? "; the kill switch blocks it there" : ""
    let reason: String
    let claimed: String
    if rule.table == Route.mainTable {
      claimed = rule.suppressedLength == 0 ? "every route of the main table but the default one" : "everything"
      reason = "that rule looks up the main table before \(name)'s"
    } else {
      claimed = "what table \(rule.table) routes"
      reason = "that rule comes before \(name)'s"
    }
    let takesAll = underlay.others.all.contains { $0.rules.contains(rule) && $0.prefixes.coverEverything(of: rule.family) }
    self.init(
      tunnel: name, what: "\(claimed), by \(what)", fate: .outside, reason: reason + held,
      isNews: rule.table == Route.mainTable || takesAll)
  }
}

extension RoutingRule {
  /// Whether packets without a mark, of one of these families, meet this rule before the tunnel's own, and it may route them.
  fileprivate func isAsked(before tunnel: TunnelSetup, for included: PrefixList) -> Bool {
    guard routeProtocol != Ownership.routeProtocol, priority < tunnel.table, table != 255, !isSelective else { return false }
    return (mask == 0 || isInverted) && included.has(family)
  }
}

extension Route {
  /// The name of the route's origin, from `rtm_protocol` (linux/rtnetlink.h).
  fileprivate var routeProtocolName: String {
    switch routeProtocol {
    case 2: "the kernel"
    case 3: "made by hand, or by a DHCP client's script"
    case 4: "static"
    case 9: "router advertisement"
    case 16: "DHCP"
    case 186: "BGP"
    default: "protocol \(routeProtocol)"
    }
  }

  /// Whether the network may have pushed the route: by a program that listens to it, or one like it (`RTPROT_BOOT`: scripts of DHCP
  /// clients).
  fileprivate var isPushed: Bool { [3, 9, 16].contains(routeProtocol) && gateway != nil }
}
