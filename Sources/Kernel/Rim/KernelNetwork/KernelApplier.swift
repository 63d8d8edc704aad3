internal import Glibc
package import KernelModel
import LinuxIO
package import NetworkTypes
import Wire

/// Applies the kernel's part of a plan, in the network namespace in which it was created. May be used from any thread.
package struct KernelApplier: Sendable {
  private let socket: NetlinkSocket
  private let wireGuard: WireGuardKernel

  package init() throws(NetlinkError) {
    socket = try NetlinkSocket(.route)
    wireGuard = try WireGuardKernel()
  }

  /// The port of its requests, which the kernel's announcements of their effects name.
  package var port: UInt32 { socket.port }

  /// Applies the steps and returns as many results, in their order. A failed step does not prevent the next ones.
  ///
  /// Consecutive steps on links, addresses, routes and rules are sent a thousand at a time, in order. Only many routes, which do not depend
  /// on each other, are sent in an order of their own (`SendingOrder`). Other programs' steps fail with ENOTSUP.
  package func apply(_ steps: [Step]) -> StepResults {
    var results = StepResults(steps)
    var links = LinkTable()
    var place = 0
    while place < steps.count {
      let run = steps[place...].prefix(while: \.isBatched).indices
      if run.isEmpty {
        results.outcomes[place] = outcome { () throws(NetlinkError) in try apply(alone: steps[place], &links) }
        place += 1
        continue
      }
      var rest = SendingOrder.places(of: run, in: steps)[...]
      while !rest.isEmpty {
        socket.apply(rest.prefix(socket.batchLimit), &results, &links)
        rest = rest.dropFirst(socket.batchLimit)
      }
      place = run.upperBound
    }
    return results
  }

  /// Makes the kernel resolve a neighbour's hardware address. The answer is an event.
  package func resolveNeighbour(_ address: IPAddress, on link: InterfaceIndex) throws(NetlinkError) {
    try socket.request("resolve \(address)") { $0.resolveNeighbour(address, onLink: link.value, sequence: $1, flags: $2) }
  }

  private func outcome(_ body: () throws(NetlinkError) -> StepResult.Outcome) -> StepResult.Outcome {
    do throws(NetlinkError) { return try body() } catch { return .failed(error) }
  }

  private func apply(alone step: Step, _ links: inout LinkTable) throws(NetlinkError) -> StepResult.Outcome {
    switch step {
    case .addWireGuardLink(let name, .kernel): return try addLink(name, kind: "wireguard", step, &links)
    case .addTUNLink(let name, let user): return try addTUNLink(name, user: user, step, &links)
    case .addXFRMLink(let name, let identifier): return try addLink(name, kind: "xfrm", xfrm: identifier, step, &links)
    case .addDummyLink(let name): return try addLinkToNowhere(name, step, &links)
    case .configureWireGuard(let name, let device) where device.engine == .kernel:
      return try wireGuard.configure(link: name, device) ? .done : .alreadySo
    case .renewSessions(let name, let device) where device.engine == .kernel:
      do throws(NetlinkError) {
        try wireGuard.configureAnew(link: name, device)
        return .done
      } catch {
        // A missing device has no sessions anyway.
        guard error.code == ENODEV else { throw error }
        return .alreadySo
      }
    case .deleteLink(let name, _): return try deleteLink(name, step, &links)
    default: throw NetlinkError(code: ENOTSUP, what: step.description, kernelText: "not a step for the kernel")
    }
  }

  /// Adds a link. An existing link of the name that is ours suffices; one of another program is left alone.
  private func addLink(
    _ name: String, kind: String, xfrm: UInt32? = nil, _ step: Step, _ links: inout LinkTable
  ) throws(NetlinkError) -> StepResult.Outcome {
    links.forget()
    do throws(NetlinkError) {
      try socket.request(step.description) { $0.addLink(named: name, kind: kind, xfrm: xfrm, sequence: $1, flags: $2) }
      return .done
    } catch {
      guard error.code == EEXIST, let link = try links.link(named: name, socket) else { throw error }
      if link.kind == kind, Ownership.tunnel(ofAlias: link.alias) != nil { return .alreadySo }
      throw NetlinkError(code: EEXIST, what: error.what, kernelText: "a link of this name is there and is not ours")
    }
  }

  /// Adds a link that leads nowhere, of the first kind that the kernel has.
  private func addLinkToNowhere(_ name: String, _ step: Step, _ links: inout LinkTable) throws(NetlinkError) -> StepResult.Outcome {
    for kind in Link.kindsToNowhere {
      do throws(NetlinkError) {
        return try addLink(name, kind: kind, step, &links)
      } catch {
        guard error.code == EOPNOTSUPP else { throw error }
      }
    }
    let kinds = Link.kindsToNowhere.joined(separator: " or ")
    throw NetlinkError(code: EOPNOTSUPP, what: step.description, kernelText: "this kernel has no link of the kind \(kinds)")
  }

  /// Adds a TUN device that stays without a program; netlink cannot make one.
  private func addTUNLink(
    _ name: String, user: String, _ step: Step, _ links: inout LinkTable
  ) throws(NetlinkError) -> StepResult.Outcome {
    links.forget()
    if let link = try links.link(named: name, socket) {
      if link.kind == "tun", Ownership.tunnel(ofAlias: link.alias) != nil { return .alreadySo }
      throw NetlinkError(code: EEXIST, what: step.description, kernelText: "a link of this name is there and is not ours")
    }
    links.forget()
    do throws(SystemError) {
      try TUNDevice.make(name, user: ProgramAccount(user).user)
      return .done
    } catch {
      throw NetlinkError(code: error.code, what: step.description, kernelText: error.operation)
    }
  }

  private func deleteLink(_ name: String, _ step: Step, _ links: inout LinkTable) throws(NetlinkError) -> StepResult.Outcome {
    links.forget()
    guard let link = try links.link(named: name, socket) else { return .alreadySo }
    links.forget()
    do throws(NetlinkError) {
      try socket.request(step.description) { $0.deleteLink(link.index.value, sequence: $1, flags: $2) }
      return .done
    } catch {
      guard error.code == ENODEV else { throw error }
      return .alreadySo
    }
  }
}

/// The links that steps name, each read at its first use and again after a step that changes links: a host may have ten thousand.
struct LinkTable {
  private var known: [String: Link] = [:]
  /// The last answer of `index`: most steps are on the same link as the one before.
  private var last: (name: String, index: UInt32)?

  mutating func forget() {
    known = [:]
    last = nil
  }

  mutating func link(named name: String, _ socket: NetlinkSocket) throws(NetlinkError) -> Link? {
    if let link = known[name] { return link }
    let link = try socket.readLink(named: name)
    known[name] = link
    return link
  }

  mutating func index(named name: String, _ socket: NetlinkSocket) throws(NetlinkError) -> UInt32? {
    if let last, last.name == name { return last.index }
    last = try link(named: name, socket).map { (name, $0.index.value) }
    return last?.index
  }

  /// All of them, for a refusal.
  func names(_ socket: NetlinkSocket) throws(NetlinkError) -> [UInt32: String] {
    var tries = 0
    while true {
      do throws(NetlinkError) {
        return try socket.readLinks().names
      } catch {
        tries += 1
        guard error.isTransient, tries < 5 else { throw error }
      }
    }
  }
}

extension Step {
  fileprivate var isBatched: Bool {
    // Asked of each of 100,000 steps: the most frequent kinds need no declaration.
    switch self {
    case .addRoute, .removeRoute: true
    default: traits.executor == .kernelInBatches
    }
  }
}
