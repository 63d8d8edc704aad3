/// The wanted routes that are missing, in their order, and the present routes that are not wanted. As of sets: repeated routes count once
/// present and once wanted.
///
/// The kernel reports a table in the order of its prefixes, and a tunnel's routes are wanted in that order. So both lists are read side by
/// side first, and only routes that differ there are looked up: 100,000 routes that are as wanted need no hash.
package struct RouteDifference: Sendable {
  package let missing: [Route]
  package let stale: [Route]

  package init(from present: [Route], to wanted: [Route]) {
    if present.isEmpty {
      self.init(missing: wanted, stale: [])
      return
    }
    let pairing = RoutePairing(present, wanted)
    if pairing.present.isEmpty, pairing.wanted.isEmpty {
      self.init(missing: [], stale: [])
      return
    }
    let missing = pairing.wanted.map { wanted[$0] }
    let stale = pairing.present.map { present[$0] }
    // Both in one table of places: first those that may be missing, then those that may be stale. Routes of both are in their right place.
    let index = RouteIndex(missing + stale)
    var isSettled = [Bool](repeating: false, count: missing.count + stale.count)
    for place in index.repeated {
      isSettled[place] = true
      if place >= missing.count, let first = index.place(of: stale[place - missing.count]), first < missing.count {
        isSettled[first] = true
      }
    }
    // A route that is repeated may have been paired at another place.
    pairing.forEachPair(of: wanted) { route in if let place = index.place(of: route) { isSettled[place] = true } }
    self.init(
      missing: missing.indices.filter { !isSettled[$0] }.map { missing[$0] },
      stale: stale.indices.filter { !isSettled[missing.count + $0] }.map { stale[$0] })
  }

  private init(missing: [Route], stale: [Route]) {
    self.missing = missing
    self.stale = stale
  }
}

/// Two lists of routes in nearly the same order, side by side: the places of routes without an equal one beside them.
private struct RoutePairing {
  /// Places in the present routes, ascending.
  private(set) var present: [Int] = []
  /// Places in the wanted routes, ascending.
  private(set) var wanted: [Int] = []

  init(_ presentRoutes: [Route], _ wantedRoutes: [Route]) {
    var (p, w) = (0, 0)
    func isPair(_ p: Int, _ w: Int) -> Bool {
      p < presentRoutes.count && w < wantedRoutes.count && presentRoutes[p] == wantedRoutes[w]
    }
    while p < presentRoutes.count, w < wantedRoutes.count {
      if presentRoutes[p] == wantedRoutes[w] {
        p += 1
        w += 1
        continue
      }
      // In step again: after one that is missing, one that is stale, or one that replaces another; else by the order of prefixes.
      let skipped: (present: Bool, wanted: Bool) =
        if isPair(p, w + 1) {
          (false, true)
        } else if isPair(p + 1, w) {
          (true, false)
        } else if isPair(p + 1, w + 1) {
          (true, true)
        } else {
          presentRoutes[p].precedes(wantedRoutes[w]) ? (true, false) : (false, true)
        }
      if skipped.present {
        present.append(p)
        p += 1
      }
      if skipped.wanted {
        wanted.append(w)
        w += 1
      }
    }
    present.append(contentsOf: p..<presentRoutes.count)
    wanted.append(contentsOf: w..<wantedRoutes.count)
  }

  /// Calls `body` with each wanted route that has an equal present one beside it.
  func forEachPair(of routes: [Route], _ body: (Route) -> Void) {
    var next = 0
    for place in wanted {
      for paired in next..<place { body(routes[paired]) }
      next = place + 1
    }
    for paired in next..<routes.count { body(routes[paired]) }
  }
}

extension Route {
  /// The order in which the kernel reports routes: tables in ours, prefixes by address.
  package func precedes(_ other: Route) -> Bool {
    (table, destination, metric) < (other.table, other.destination, other.metric)
  }
}
