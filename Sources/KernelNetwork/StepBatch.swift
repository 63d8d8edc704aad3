internal import Glibc
import KernelModel
import NetworkTypes
import Wire

extension NetlinkSocket {
  /// Sends the steps, at most `batchLimit`, to the kernel at once, and evaluates its refusals.
  func apply(batch steps: ArraySlice<Step>, _ links: inout LinkTable) -> [StepResult] {
    do throws(NetlinkError) {
      let outcomes = try outcomes(ofSending: Array(steps), links.all(self))
      return zip(steps, outcomes).map { StepResult(step: $0, outcome: $1) }
    } catch {
      // The result of each is unknown then; each counts as not done, and may be tried again.
      return steps.map { step in
        StepResult(step: step, outcome: .failed(NetlinkError(code: error.code, what: step.description, kernelText: error.description)))
      }
    }
  }

  /// The kernel's error codes for a missing object.
  private static let absenceCodes = [ENOENT, ESRCH, ENODEV, EADDRNOTAVAIL]

  private func outcomes(ofSending steps: [Step], _ links: [String: Link]) throws(NetlinkError) -> [StepResult.Outcome] {
    var outcomes = [StepResult.Outcome](repeating: .done, count: steps.count)
    var sent: [(place: Int, link: UInt32?)] = []
    sent.reserveCapacity(steps.count)
    for (place, step) in steps.enumerated() {
      let traits = step.traits
      if let name = traits.device {
        if let link = links[name] {
          sent.append((place, link.index.value))
        } else if traits.takesAway {
          outcomes[place] = .alreadySo
        } else {
          outcomes[place] = .failed(NetlinkError(code: ENODEV, what: step.description, kernelText: "no link is named \(name)"))
        }
      } else {
        sent.append((place, nil))
      }
    }
    let refusals = try batch("change the network", count: sent.count) { writer, i, sequence, flags in
      writer.write(steps[sent[i].place], link: sent[i].link, sequence: sequence, flags: flags)
    }
    var existing = ExistingObjects(linkNames: Array(links.values).names)
    for (i, refusal) in refusals.sorted(by: { $0.key < $1.key }) {
      let step = steps[sent[i].place]
      let isReached =
        if refusal.code == EEXIST {
          try existing.contains(step, on: self)
        } else {
          step.traits.takesAway && Self.absenceCodes.contains(refusal.code)
        }
      outcomes[sent[i].place] = isReached ? .alreadySo : .failed(NetlinkError(refusal, what: step.description))
    }
    return outcomes
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
