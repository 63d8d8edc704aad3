import NetworkTypes

/// The position of each of many routes in a list. A hash table of positions rather than of routes: 100,000 routes need half a megabyte, and
/// planning is three times as fast as with a set.
package struct RouteIndex {
  private let routes: [Route]
  /// Positions in `routes` plus one, by open addressing with linear probing; 0: free. At most half of them are used.
  private var slots: [UInt32]
  /// The positions of repeated routes.
  private(set) var repeated: [Int] = []

  package init(_ routes: [Route]) {
    self.routes = routes
    var size = 16
    while size < routes.count * 2 { size *= 2 }
    slots = [UInt32](repeating: 0, count: size)
    for (i, route) in routes.enumerated() {
      let slot = slot(of: route)
      if slots[slot] == 0 { slots[slot] = UInt32(i) + 1 } else { repeated.append(i) }
    }
  }

  /// The first position of the route.
  package func place(of route: Route) -> Int? {
    let found = slots[slot(of: route)]
    return found == 0 ? nil : Int(found) - 1
  }

  /// The route's own slot, or the free one for it.
  private func slot(of route: Route) -> Int {
    let mask = slots.count - 1
    var slot = Self.hash(route) & mask
    while slots[slot] != 0, routes[Int(slots[slot]) - 1] != route { slot = (slot + 1) & mask }
    return slot
  }

  /// The hash of the fields that distinguish most routes. Multiplied by odd numbers without a pattern; the upper bits depend on all of the
  /// lower ones.
  private static func hash(_ route: Route) -> Int {
    let address = route.destination.address
    let rest = UInt64(route.table) << 8 ^ UInt64(route.destination.length)
    let mixed = (address.high ^ rest) &* 0x9e37_79b9_7f4a_7c15 ^ address.low &* 0xc2b2_ae3d_27d4_eb4f
    return Int(truncatingIfNeeded: (mixed ^ mixed >> 29) &* 0x9e37_79b9_7f4a_7c15 >> 33)
  }
}
