import NetworkTypes

/// The routes of one tunnel's own table, and what people should know about them.
///
/// The table is asked before the main one, so what it does not want it has to let through: `throw` goes on with the next rule. Excluded
/// prefixes and the prefixes that the machine is attached to are let through; where the tunnel has no address of a family, that family's
/// included prefixes are `unreachable` rather than outside.
func tunnelRoutes(_ tunnel: TunnelSetup, on underlay: UnderlayFit) -> (routes: [Route], notes: [String]) {
  let wanted = tunnel.includedPrefixes
  guard !wanted.isEmpty else { return ([], []) }
  let name = tunnel.policy.name
  guard let link = tunnel.link else {
    return ([], ["\(name): its routes cannot be applied, because its provider names no interface"])
  }
  var notes: [String] = []
  var kinds: [IPPrefix: Route.Kind] = [:]
  for prefix in wanted {
    kinds[prefix] = tunnel.carries(prefix.family) ? .unicast : .unreachable
  }
  let policy = tunnel.policy.routes ?? RoutePolicy()
  for prefix in underlay.attachedPrefixes where wanted.contains(where: { $0.contains(prefix) }) {
    if wanted.contains(prefix) {
      guard policy.onOverlap != .preferTunnel else { continue }
      notes.append("\(name): \(prefix) stays outside, because this machine is attached to it")
    } else if policy.lan == .block {
      continue
    }
    kinds[prefix] = .throw
  }
  // Link-local destinations never leave their link.
  if kinds[.everything(.v6)] != nil, let linkLocal = IPPrefix("fe80::/10") { kinds[linkLocal] = .throw }
  for prefix in policy.exclude { kinds[prefix] = .throw }
  if underlay.isReversePathStrict {
    for endpoint in tunnel.endpoints where endpoint.family == .v4 && wanted.contains(where: { $0.contains(endpoint) }) {
      notes.append(
        "\(name): all that goes to \(endpoint) stays outside, because this kernel checks return paths strictly (rp_filter is 1; 2 is enough)"
      )
      kinds[.host(endpoint)] = .throw
    }
  }
  let routes = kinds.map { prefix, kind in
    Route(
      to: prefix, kind: kind, on: kind == .unicast ? link : nil, table: tunnel.table,
      metric: prefix.family == .v6 ? Route.defaultIPv6Metric : 0)
  }
  return (routes.sorted { $0.destination < $1.destination }, notes)
}

extension TunnelSetup {
  /// The policy's prefixes, else what the provider's own configuration routes.
  var includedPrefixes: [IPPrefix] {
    if policy.includesAllNetworks { return [.everything(.v4), .everything(.v6)] }
    if let include = policy.routes?.include, !include.isEmpty { return include }
    guard case .wireGuard(let provider) = policy.provider, provider.configuration.routesFromAllowedIPs else { return [] }
    return provider.configuration.peers.flatMap(\.allowedIPs).uniqued()
  }

  /// Where its peers listen.
  fileprivate var endpoints: [IPAddress] {
    guard case .wireGuard(let device) = device else { return [] }
    return device.peers.compactMap { $0.endpoint?.address }.uniqued()
  }

  /// Whether the tunnel has an address of the family; a command's link is taken to have both.
  fileprivate func carries(_ family: IPAddress.Family) -> Bool {
    guard case .wireGuard(let provider) = policy.provider else { return true }
    return provider.configuration.addresses.contains { $0.address.family == family }
  }
}

extension Route {
  /// `IP6_RT_PRIO_USER`: what the kernel gives an IPv6 route for which no metric is asked.
  package static let defaultIPv6Metric: UInt32 = 1024
}
