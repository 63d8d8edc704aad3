/// Which tunnels hold back what they include: from what rules and people want of them, and from what a person has released. No clock.
package struct GuardMachine: Hashable, Sendable {
  /// Whether each tunnel was wanted when something last wanted it up or down.
  private var wanted: [String: Bool] = [:]
  package private(set) var release: FirewallRelease?
  /// An earlier agent's table was there at the start: until a decision says otherwise, what it held back stays held back.
  package var beganGuarded = false

  package init() {}

  /// Notes what is wanted of a tunnel. A decision that waits for a fact leaves things as they were.
  package mutating func note(_ intent: Intent, isPending: Bool, of tunnel: String) {
    switch intent {
    case .up: wanted[tunnel] = true
    case .down: wanted[tunnel] = false
    case .unchanged: if wanted[tunnel] == nil, !isPending { wanted[tunnel] = false }
    }
  }

  package mutating func forget(_ tunnel: String) { wanted[tunnel] = nil }

  package func isGuarding(_ tunnel: TunnelPolicy) -> Bool {
    if let release, !release.isPortal { return false }
    guard tunnel.isEnabled else { return false }
    return switch tunnel.guarding {
    case .off: false
    case .on: wanted[tunnel.name] ?? beganGuarded
    case .always: true
    }
  }

  /// The release that is for a captive portal.
  package var portal: FirewallRelease? { release.flatMap { $0.isPortal ? $0 : nil } }

  // MARK: Release

  package mutating func open(_ release: FirewallRelease) { self.release = release }

  /// Gives whether there was a release to end.
  package mutating func close() -> Bool {
    defer { release = nil }
    return release != nil
  }

  /// Ends the release whose time has come, or that was for another network; gives whether it did.
  package mutating func endRelease(at time: Int64, on network: NetworkIdentity) -> Bool {
    guard let release, release.isOver(at: time, on: network) else { return false }
    return close()
  }
}
