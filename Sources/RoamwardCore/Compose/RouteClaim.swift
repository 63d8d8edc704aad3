package import KernelModel
import NetworkTypes

/// A route or rule of somebody else's that would lead past a tunnel what the tunnel includes, and what comes of it.
///
/// A DHCP server, a router advertisement or a program put it there; who meant it is not asked. A tunnel's table is asked before the main
/// one, so most of them come to nothing; this says of each why, or why not.
package struct RouteClaim: Hashable, Sendable {
  /// Where packets go that it is about.
  package enum Fate: String, Hashable, Sendable {
    /// Past the tunnel.
    case outside
    case inside
    /// They are refused.
    case nowhere
  }

  package var tunnel: String
  /// What is claimed: `10.1.0.0/16 via 192.0.2.66 dev wlan0 (DHCP)`.
  package var what: String
  package var fate: Fate
  package var reason: String
  /// Worth telling unasked: a route that came from the network though the machine is not attached to it, or a rule that takes everything.
  package var isNews = false
}

extension RouteClaim: CustomStringConvertible {
  package var description: String { "\(tunnel): \(what): goes \(fate.rawValue), because \(reason)" }
}

/// Every claim on what these tunnels include, by what the kernel holds: rules that are asked before theirs first, then routes, in order of
/// destination. Of very many routes (a router's) the first are told.
package func routeClaims(
  on tunnels: [TunnelSetup], in kernel: KernelState, _ underlay: UnderlayFit, limit: Int = 20
) -> [RouteClaim] {
  let ours = Set(tunnels.compactMap(\.link) + kernel.links.filter { Ownership.tunnel(ofAlias: $0.alias) != nil }.map(\.name))
  let others = kernel.routes.filter { route in
    route.table == Route.mainTable && route.routeProtocol != Ownership.routeProtocol && route.kind == .unicast && !route.isDead
      && route.destination.length > 0 && !route.destination.address.isLinkLocal && !route.destination.address.isMulticast
      && !route.destination.address.isLoopback && !(route.link.map(ours.contains) ?? false)
  }.sorted { ($0.destination, $0.metric) < ($1.destination, $1.metric) }
  return tunnels.flatMap { tunnel -> [RouteClaim] in
    let included = tunnel.includedPrefixes
    guard !included.isEmpty, tunnel.refusal(on: underlay) == nil else { return [] }
    let wides = PrefixIndex(included)
    let routes = tunnelRoutes(tunnel, on: underlay).routes
    let ways = Dictionary(routes.map { ($0.destination, $0) }) { $0.metric <= $1.metric ? $0 : $1 }
    let table = PrefixIndex(ways.keys)
    var claims = kernel.rules.filter { $0.isAsked(before: tunnel, for: included) }.map { RouteClaim(of: $0, on: tunnel, underlay) }
      .uniqued()
    for route in others {
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
    let takesAll = underlay.others.all.contains { $0.rules.contains(rule) && $0.prefixes.contains(.everything(rule.family)) }
    self.init(
      tunnel: name, what: "\(claimed), by \(what)", fate: .outside, reason: reason + held,
      isNews: rule.table == Route.mainTable || takesAll)
  }
}

extension RoutingRule {
  /// Whether ordinary packets to one of these families come to this rule before the tunnel's own, and it may lead them somewhere.
  fileprivate func isAsked(before tunnel: TunnelSetup, for included: [IPPrefix]) -> Bool {
    guard routeProtocol != Ownership.routeProtocol, priority < tunnel.table, table != 255, !isSelective else { return false }
    return (mask == 0 || isInverted) && included.contains { $0.family == family }
  }
}

extension Route {
  /// In words, from `rtm_protocol` (linux/rtnetlink.h).
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

  /// Made by what listens to the network, or by who cannot be told from it (`RTPROT_BOOT`: scripts of DHCP clients).
  fileprivate var isPushed: Bool { [3, 9, 16].contains(routeProtocol) && gateway != nil }
}
