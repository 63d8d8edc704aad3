import KernelModel

/// Very many routes, some of them marked. They are mostly asked for in their own order, which takes no search.
struct MarkedRoutes: Sendable {
  let routes: [Route]
  private var isMarked: [Bool]
  /// `nil`: the routes are in ascending order.
  private let index: RouteIndex?
  /// The place after the one that was unmarked last.
  private var next = 0

  init() {
    (routes, isMarked, index) = ([], [], nil)
  }

  /// Marks those of `marked`, which are in the order of `routes`, for which the condition holds.
  init(_ routes: [Route], marking marked: [Route], where holds: (Route) -> Bool) {
    self.routes = routes
    isMarked = [Bool](repeating: false, count: routes.count)
    index = zip(routes, routes.dropFirst()).allSatisfy { $0.precedes($1) } ? nil : RouteIndex(routes)
    var near = 0
    for route in marked where holds(route) {
      if let place = place(of: route, near: &near) { isMarked[place] = true }
    }
  }

  /// Whether the route is marked; `nil`: it is none of them. `near`: the place at which it may be, and then the one after it.
  func isMarked(_ route: Route, near: inout Int) -> Bool? { place(of: route, near: &near).map { isMarked[$0] } }

  mutating func unmark(_ route: Route) {
    var near = next
    if let place = place(of: route, near: &near) { isMarked[place] = false }
    next = near
  }

  mutating func mark(where holds: (Route) -> Bool) {
    for place in routes.indices where holds(routes[place]) { isMarked[place] = true }
  }

  private func place(of route: Route, near: inout Int) -> Int? {
    if near < routes.count, routes[near] == route {
      near += 1
      return near - 1
    }
    let found = index.map { $0.place(of: route) } ?? searched(route)
    if let found { near = found + 1 }
    return found
  }

  private func searched(_ route: Route) -> Int? {
    var (low, high) = (0, routes.count)
    while low < high {
      let middle = (low + high) / 2
      if routes[middle].precedes(route) { low = middle + 1 } else { high = middle }
    }
    return low < routes.count && routes[low] == route ? low : nil
  }
}
