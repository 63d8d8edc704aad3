extension KernelState {
  /// Routes with our mark, as we would write them: the kernel names `lo` for IPv6 routes that lead nowhere.
  package var ownRoutes: [Route] {
    var own: [Route] = []
    own.reserveCapacity(routes.count)
    for route in routes where route.routeProtocol == Ownership.routeProtocol && Ownership.tables.contains(route.table) {
      own.append(route)
      guard route.kind != .unicast || route.isDead else { continue }
      if route.kind != .unicast { own[own.count - 1].link = nil }
      own[own.count - 1].isDead = false
    }
    return own
  }

  package var ownRules: [RoutingRule] {
    rules.filter { $0.routeProtocol == Ownership.routeProtocol && Ownership.rules.contains($0.priority) }
  }
}
