import NetworkTypes

/// The kernel's key of a route within one table.
package struct RouteKey: Hashable, Sendable {
  let destination: IPPrefix
  let table: UInt32
  let metric: UInt32

  package init(_ route: Route, metric: UInt32? = nil) {
    destination = route.destination
    table = route.table
    self.metric = metric ?? route.metric
  }
}
