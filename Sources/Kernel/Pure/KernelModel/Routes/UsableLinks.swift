/// The links that routes can be added to now. The routes of a tunnel all lead to one link, so the last answer is kept.
package struct UsableLinks {
  private let names: Set<String>
  private var last: (link: String, isUsable: Bool)?

  package init(_ names: Set<String>) { self.names = names }

  /// Whether the route can be added: it leads to such a link, or to none.
  package mutating func carries(_ route: Route) -> Bool {
    guard let link = route.link else { return true }
    if let last, last.link == link { return last.isUsable }
    let isUsable = names.contains(link)
    last = (link, isUsable)
    return isUsable
  }

  /// Tables that would let packets past the tunnel, because a route cannot be added now and no other one is final for its prefix.
  package mutating func incompleteTables(of routes: [Route]) -> Set<UInt32> {
    var missing: [Route] = []
    for route in routes where !carries(route) { missing.append(route) }
    if missing.isEmpty { return [] }
    let covered = Set(routes.lazy.filter { $0.link == nil }.map { RouteKey($0, metric: 0) })
    return Set(missing.lazy.filter { !covered.contains(RouteKey($0, metric: 0)) }.map(\.table))
  }
}
