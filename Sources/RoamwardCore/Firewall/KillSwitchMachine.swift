package import KernelModel
package import NetworkTypes

/// Which tunnels hold back what they include: from what rules and people want of them, and from what a person has released. No clock.
package struct KillSwitchMachine: Hashable, Sendable {
  /// Whether each tunnel was wanted when something last wanted it up or down.
  private var wanted: [String: Bool] = [:]
  /// Tunnels that may be wanted on the network that the machine is on now: it has left the one on which their rules were judged.
  private var undecided = Set<String>()
  package private(set) var release: FirewallRelease?
  /// An earlier agent's table was there at the start: what it blocks stays blocked until a decision says otherwise.
  package var beganGuarded = false
  /// A new agent is about to replace this one: what is blocked stays blocked, whatever is wanted of the tunnels until then.
  package var isHandedOver = false

  package init() {}

  /// Another agent's, from what it tells: `guarding` names the tunnels that it guards now.
  package init(wanted: [String: Bool], guarding: Set<String>, release: FirewallRelease?) {
    self.wanted = wanted
    undecided = guarding.filter { wanted[$0] != true }
    self.release = release
  }

  /// The machine has left the network. What rules may want on the next one is held back until they have been judged there.
  package mutating func leaveNetwork(_ policies: PolicySet, overrides: [String: ManualOverride]) {
    undecided.formUnion(Self.open(policies, overrides).map(\.name))
  }

  /// Whether something is open now that would have to be held back at once on another network.
  package func isOpenHereAlone(_ policies: PolicySet, overrides: [String: ManualOverride]) -> Bool {
    Self.open(policies, overrides).contains { !isGuarding($0) }
  }

  /// Tunnels with a kill switch while they are wanted, which their rules may want. Who holds one down means it, but for a
  /// hold that ends with the network.
  private static func open(_ policies: PolicySet, _ overrides: [String: ManualOverride]) -> [TunnelPolicy] {
    policies.tunnels.filter { tunnel in
      guard tunnel.guarding == .on, tunnel.isEnabled, tunnel.onDemand.isEnabled else { return false }
      switch overrides[tunnel.name].map({ ($0.wantsUp, $0.lifetime) }) {
      case (false, .time)?, (false, .resume)?: return false
      case (_, .network)?, (true, _)?, nil: return tunnel.onDemand.rules.contains { $0.action == .connect }
      }
    }
  }

  /// Notes what is wanted of a tunnel. A decision that waits for a fact leaves things as they were. `isOnline`: it was made on a network.
  package mutating func note(_ intent: Intent, isPending: Bool, isOnline: Bool = true, of tunnel: String) {
    if isHandedOver { return }
    if isOnline, !isPending { undecided.remove(tunnel) }
    switch intent {
    case .up: wanted[tunnel] = true
    case .down: wanted[tunnel] = false
    case .unchanged: if wanted[tunnel] == nil, !isPending { wanted[tunnel] = false }
    }
  }

  package mutating func forget(_ tunnel: String) {
    if isHandedOver { return }
    wanted[tunnel] = nil
    undecided.remove(tunnel)
  }

  package func isGuarding(_ tunnel: TunnelPolicy) -> Bool {
    if let release, !release.isPortal { return false }
    guard tunnel.isEnabled else { return false }
    return switch tunnel.guarding {
    case .off: false
    case .on: isWanted(tunnel.name) || undecided.contains(tunnel.name)
    case .always: true
    }
  }

  /// Whether it only may be wanted on the next network.
  package func isUndecided(_ tunnel: TunnelPolicy) -> Bool {
    tunnel.guarding == .on && undecided.contains(tunnel.name) && !isWanted(tunnel.name)
  }

  private func isWanted(_ tunnel: String) -> Bool { wanted[tunnel] ?? beganGuarded }

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
  package mutating func endRelease(at time: Timestamp, on network: NetworkIdentity) -> Bool {
    guard let release, release.isOver(at: time, on: network) else { return false }
    return close()
  }
}

extension KillSwitchMachine {
  /// The window of a suspension for a captive portal; `nil`: there is none. `controlGroup` finds a control group by its name.
  package func portalWindow(_ controlGroup: (String) -> ControlGroup?) -> PortalWindow? {
    portal.map { portal in
      PortalWindow(programs: portal.programs, resolver: portal.programs.flatMap { _ in controlGroup(PortalWindow.resolverGroup) })
    }
  }
}
