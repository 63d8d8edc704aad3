internal import Glibc
package import KernelModel
import NetworkTypes
import Wire

/// Reads the kernel's network objects, in the namespace in which it was created. May be used from any thread.
package struct KernelReader: Sendable {
  /// Selects further tables to read from the present rules: those of other VPNs, whose products the policy knows.
  package typealias TableChoice = @Sendable ([RoutingRule]) -> Set<UInt32>

  let socket: NetlinkSocket
  private let tablesNamed: TableChoice

  package init(tablesNamedBy choice: @escaping TableChoice = { _ in [] }) throws(NetlinkError) {
    self.init(try NetlinkSocket(.route), tablesNamedBy: choice)
  }

  init(_ socket: NetlinkSocket, tablesNamedBy choice: @escaping TableChoice = { _ in [] }) {
    self.socket = socket
    tablesNamed = choice
  }

  /// The number of immediate attempts at a complete read: this never waits. The caller decides whether and when to try again.
  private static let tries = 3

  /// Reads everything, each table as it was at one moment. The routes are those of the main table, the tables that our rules and the choice
  /// name, and `extraTables`. Never all tables: a router's may have a hundred thousand routes. With `everywhere`, also our own routes in
  /// any table, leftover state that the kernel selects. Neighbours are left out unless requested.
  package func read(extraTables: Set<UInt32> = [], everywhere: Bool = false, neighbours: Bool = true) throws(NetlinkError) -> KernelState {
    try retrying { () throws(NetlinkError) in try readOnce(extraTables, everywhere: everywhere, neighbours: neighbours) }
  }

  /// Whether what a wider `EventInterest` newly announces is still as in `state`: links, addresses, neighbours if requested, and the main
  /// table's IPv6 routes, of which link-local ones are announced for some links only. The rest was announced before, and is not read: a
  /// tunnel may have a hundred thousand routes.
  package func confirms(_ state: KernelState, neighbours: Bool) throws(NetlinkError) -> Bool {
    try retrying { () throws(NetlinkError) in
      guard try socket.readLinks() == state.links else { return false }
      let names = state.links.names
      guard try socket.readAddresses(linkNames: names) == state.addresses else { return false }
      var routes: [Route] = []
      try socket.readRoutes(.v6, table: Route.mainTable, linkNames: names, into: &routes)
      var place = 0
      for route in state.routes where route.table == Route.mainTable && route.destination.family == .v6 {
        guard place < routes.count, routes[place] == route else { return false }
        place += 1
      }
      guard place == routes.count else { return false }
      if neighbours, try socket.readNeighbours(linkNames: names) != state.neighbours { return false }
      return true
    }
  }

  /// The routes of one table, both families; empty if it does not exist.
  package func readRoutes(table: UInt32) throws(NetlinkError) -> [Route] {
    try retrying { () throws(NetlinkError) in try socket.readRoutes(table: table, linkNames: socket.readLinks().names) }
  }

  private func retrying<T>(_ body: () throws(NetlinkError) -> T) throws(NetlinkError) -> T {
    for _ in 1..<Self.tries {
      do throws(NetlinkError) {
        return try body()
      } catch {
        guard error.isTransient else { throw error }
      }
    }
    do throws(NetlinkError) {
      return try body()
    } catch {
      guard error.isTransient else { throw error }
      let text = "given up after \(Self.tries) tries: \(error.kernelText ?? "busy")"
      throw NetlinkError(code: error.code, what: error.what, kernelText: text)
    }
  }

  private func readOnce(_ extraTables: Set<UInt32>, everywhere: Bool, neighbours: Bool) throws(NetlinkError) -> KernelState {
    var state = KernelState(links: try socket.readLinks())
    let names = state.links.names
    state.addresses = try socket.readAddresses(linkNames: names)
    state.rules = try socket.readRules()
    let ours = state.rules.lazy.filter { $0.routeProtocol == Ownership.routeProtocol }.map(\.table)
    let tables = extraTables.union(ours).union([Route.mainTable]).union(tablesNamed(state.rules))
    for table in tables.sorted() { try socket.readRoutes(table: table, linkNames: names, into: &state.routes) }
    if everywhere { state.routes += try socket.readOwnRoutes(besides: tables, linkNames: names) }
    if neighbours { state.neighbours = try socket.readNeighbours(linkNames: names) }
    return state
  }
}

/// Single dumps; each throws EINTR if the table changed meanwhile.
extension NetlinkSocket {
  func readLinks() throws(NetlinkError) -> [Link] {
    var links: [Link] = []
    try dump("read links", { $0.dumpLinks(sequence: $1) }) { if let link = Link($0) { links.append(link) } }
    return links
  }

  /// `nil`: there is none. A name that no link can have (IFNAMSIZ) is not asked for.
  func readLink(named name: String) throws(NetlinkError) -> Link? {
    guard !name.isEmpty, name.utf8.count < 16 else { return nil }
    var link: Link?
    do throws(NetlinkError) {
      try dump("read link \(name)", { $0.getLink(named: name, sequence: $1) }) { link = link ?? Link($0) }
    } catch {
      guard error.code == ENODEV else { throw error }
    }
    return link?.name == name ? link : nil
  }

  func readAddresses(linkNames: [UInt32: String]) throws(NetlinkError) -> [LinkAddress] {
    var addresses: [LinkAddress] = []
    try dump("read addresses", { $0.dumpAddresses(sequence: $1) }) {
      if let address = LinkAddress($0, linkNames: linkNames) { addresses.append(address) }
    }
    return addresses
  }

  func readRules() throws(NetlinkError) -> [RoutingRule] {
    var rules: [RoutingRule] = []
    for family in IPAddress.Family.allCases {
      try passingOver(Self.missingFamily) { () throws(NetlinkError) in
        try dump("read rules", { $0.dumpRules(family, sequence: $1) }) {
          if let rule = RoutingRule($0), rule.family == family { rules.append(rule) }
        }
      }
    }
    return rules
  }

  func readRoutes(table: UInt32, linkNames: [UInt32: String]) throws(NetlinkError) -> [Route] {
    var routes: [Route] = []
    try readRoutes(table: table, linkNames: linkNames, into: &routes)
    return routes
  }

  /// Appends the routes of a table to `routes`: a hundred thousand are not copied.
  func readRoutes(table: UInt32, linkNames: [UInt32: String], into routes: inout [Route]) throws(NetlinkError) {
    for family in IPAddress.Family.allCases { try readRoutes(family, table: table, linkNames: linkNames, into: &routes) }
  }

  func readRoutes(
    _ family: IPAddress.Family, table: UInt32, linkNames: [UInt32: String], into routes: inout [Route]
  ) throws(NetlinkError) {
    try passingOver(Self.missingFamily + [ENOENT]) { () throws(NetlinkError) in
      try dump("read routes of table \(table)", { $0.dumpRoutes(family, table: table, sequence: $1) }) {
        if let route = Route($0, linkNames: linkNames), route.table == table, route.destination.family == family { routes.append(route) }
      }
    }
  }

  /// Our routes of every table, without those of `tables`, which have been read.
  func readOwnRoutes(besides tables: Set<UInt32>, linkNames: [UInt32: String]) throws(NetlinkError) -> [Route] {
    var routes: [Route] = []
    for family in IPAddress.Family.allCases {
      try passingOver(Self.missingFamily + [ENOENT]) { () throws(NetlinkError) in
        try dump("read our routes", { $0.dumpRoutes(family, madeBy: Ownership.routeProtocol, sequence: $1) }) {
          guard let route = Route($0, linkNames: linkNames), route.routeProtocol == Ownership.routeProtocol else { return }
          if route.destination.family == family, !tables.contains(route.table) { routes.append(route) }
        }
      }
    }
    return routes
  }

  func readNeighbours(linkNames: [UInt32: String]) throws(NetlinkError) -> [Neighbour] {
    var neighbours: [Neighbour] = []
    try dump("read neighbours", { $0.dumpNeighbours(sequence: $1) }) {
      if let neighbour = Neighbour($0, linkNames: linkNames) { neighbours.append(neighbour) }
    }
    return neighbours
  }

  /// The error codes of a kernel without IPv6, or without policy routing.
  private static let missingFamily = [EOPNOTSUPP, EAFNOSUPPORT]

  private func passingOver(_ codes: [Int32], _ body: () throws(NetlinkError) -> Void) throws(NetlinkError) {
    do throws(NetlinkError) {
      try body()
    } catch {
      guard codes.contains(error.code) else { throw error }
    }
  }
}

extension [Link] {
  var names: [UInt32: String] { Dictionary(lazy.map { ($0.index.value, $0.name) }) { first, _ in first } }
}
