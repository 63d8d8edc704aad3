internal import Glibc
package import KernelModel
package import NetworkTypes
import Wire

/// The result of one step.
package struct StepResult: Hashable, Sendable {
  package enum Outcome: Hashable, Sendable {
    case done
    /// There was nothing to do: the object already existed, or was already gone.
    case alreadySo
    case failed(NetlinkError)
  }

  package let step: Step
  package let outcome: Outcome

  package init(step: Step, outcome: Outcome) {
    self.step = step
    self.outcome = outcome
  }

  package var error: NetlinkError? {
    if case .failed(let error) = outcome { error } else { nil }
  }
}

/// Applies the kernel's part of a plan, in the network namespace in which it was created. May be used from any thread.
package struct KernelApplier: Sendable {
  private let socket: NetlinkSocket
  private let wireGuard: WireGuardKernel

  package init() throws(NetlinkError) {
    socket = try NetlinkSocket(.route)
    wireGuard = try WireGuardKernel()
  }

  /// Applies the steps in order and returns as many results. A failed step does not prevent the next ones.
  ///
  /// Consecutive steps on links, addresses, routes and rules are sent a thousand at a time. Other programs' steps fail with ENOTSUP.
  package func apply(_ steps: [Step]) -> [StepResult] {
    var results: [StepResult] = []
    results.reserveCapacity(steps.count)
    var links = LinkTable()
    var rest = steps[...]
    while let step = rest.first {
      let run = rest.prefix(min(socket.batchLimit, 1000)).prefix(while: \.isBatched)
      if run.isEmpty {
        results.append(StepResult(step: step, outcome: outcome { () throws(NetlinkError) in try apply(alone: step, &links) }))
        rest = rest.dropFirst()
      } else {
        results += socket.apply(batch: run, &links)
        rest = rest.dropFirst(run.count)
      }
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
    case .addDummyLink(let name): return try addLink(name, kind: "dummy", step, &links)
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
    _ name: String, kind: String, _ step: Step, _ links: inout LinkTable
  ) throws(NetlinkError) -> StepResult.Outcome {
    links.forget()
    do throws(NetlinkError) {
      try socket.request(step.description) { $0.addLink(named: name, kind: kind, sequence: $1, flags: $2) }
      return .done
    } catch {
      guard error.code == EEXIST, let link = try links.link(named: name, socket) else { throw error }
      if link.kind == kind, Ownership.tunnel(ofAlias: link.alias) != nil { return .alreadySo }
      throw NetlinkError(code: EEXIST, what: error.what, kernelText: "a link of this name is there and is not ours")
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

/// The links by name, read at the first use and again after a step that changes them.
struct LinkTable {
  private var links: [String: Link]?

  mutating func forget() { links = nil }

  mutating func link(named name: String, _ socket: NetlinkSocket) throws(NetlinkError) -> Link? { try all(socket)[name] }

  mutating func all(_ socket: NetlinkSocket) throws(NetlinkError) -> [String: Link] {
    if let links { return links }
    var tries = 0
    while true {
      do throws(NetlinkError) {
        let read = Dictionary(try socket.readLinks().map { ($0.name, $0) }) { first, _ in first }
        links = read
        return read
      } catch {
        tries += 1
        guard error.isTransient, tries < 5 else { throw error }
      }
    }
  }
}

extension Step {
  fileprivate var isBatched: Bool { traits.executor == .kernelInBatches }
}
