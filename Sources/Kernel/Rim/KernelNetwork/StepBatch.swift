internal import Glibc
import KernelModel
import NetworkTypes
import Wire

extension NetlinkSocket {
  /// Sends the steps at these places, at most `batchLimit`, to the kernel at once, and records its refusals.
  func apply(_ places: ArraySlice<Int>, _ results: inout StepResults, _ links: inout LinkTable) {
    do throws(NetlinkError) {
      try send(places, &results, &links)
    } catch {
      // The result of each is unknown then; each counts as not done, and may be tried again.
      for place in places {
        let what = results.step(at: place).description
        results.outcomes[place] = .failed(NetlinkError(code: error.code, what: what, kernelText: error.description))
      }
    }
  }

  /// The kernel's error codes for a missing object.
  private static let absenceCodes = [ENOENT, ESRCH, ENODEV, EADDRNOTAVAIL]

  private func send(_ places: ArraySlice<Int>, _ results: inout StepResults, _ links: inout LinkTable) throws(NetlinkError) {
    var sent: [(place: Int, link: UInt32?)] = []
    sent.reserveCapacity(places.count)
    for place in places {
      guard let name = results.step(at: place).device else {
        sent.append((place, nil))
        continue
      }
      if let index = try links.index(named: name, self) {
        sent.append((place, index))
      } else if results.step(at: place).traits.takesAway {
        results.outcomes[place] = .alreadySo
      } else {
        let what = results.step(at: place).description
        results.outcomes[place] = .failed(NetlinkError(code: ENODEV, what: what, kernelText: "no link is named \(name)"))
      }
    }
    let refusals = try batch("change the network", count: sent.count) { writer, i, sequence, flags in
      writer.write(results.step(at: sent[i].place), link: sent[i].link, sequence: sequence, flags: flags)
    }
    if refusals.isEmpty { return }
    var existing = ExistingObjects(linkNames: try links.names(self))
    for (i, refusal) in refusals.sorted(by: { $0.key < $1.key }) {
      let step = results.step(at: sent[i].place)
      let isReached =
        if refusal.code == EEXIST {
          try existing.contains(step, on: self)
        } else {
          step.traits.takesAway && Self.absenceCodes.contains(refusal.code)
        }
      results.outcomes[sent[i].place] = isReached ? .alreadySo : .failed(NetlinkError(refusal, what: step.description))
    }
  }
}

/// The objects that exist when the kernel reports EEXIST: the existing object may differ from the requested one.
private struct ExistingObjects {
  let linkNames: [UInt32: String]
  private var routes: [UInt32: Set<Route>] = [:]
  private var rules: Set<RoutingRule>?
  private var addresses: [LinkAddress]?

  init(linkNames: [UInt32: String]) { self.linkNames = linkNames }

  mutating func contains(_ step: Step, on socket: NetlinkSocket) throws(NetlinkError) -> Bool {
    switch step {
    case .addRoute(let route):
      if routes[route.table] == nil {
        routes[route.table] = Set(try socket.readRoutes(table: route.table, linkNames: linkNames).map(\.comparable))
      }
      return routes[route.table]?.contains(route.comparable) ?? false
    case .addRule(let rule):
      if rules == nil { rules = Set(try socket.readRules()) }
      return rules?.contains(rule) ?? false
    case .addAddress(let address, let link):
      if addresses == nil { addresses = try socket.readAddresses(linkNames: linkNames) }
      return addresses?.contains { $0.link == link && $0.address == address } ?? false
    default: return false
    }
  }
}

extension Step {
  /// The device of `traits`. Asked of each of 100,000 steps: the most frequent kinds need no declaration.
  fileprivate var device: String? {
    switch self {
    case .addRoute(let route), .removeRoute(let route): route.link
    default: traits.device
    }
  }
}

extension Route {
  /// The route without the values that the kernel adds by itself.
  fileprivate var comparable: Route {
    var route = self
    route.isDead = false
    if route.kind != .unicast {
      route.link = nil
      route.gateway = nil
    }
    // IP6_RT_PRIO_USER.
    if route.destination.family == .v6, route.metric == 0 { route.metric = 1024 }
    return route
  }
}
