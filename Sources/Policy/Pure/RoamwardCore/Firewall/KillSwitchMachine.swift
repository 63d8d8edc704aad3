package import KernelModel
package import NetworkTypes

/// A class of programs of which none runs any more.
package struct EndedPrograms: Hashable, Sendable {
  /// The time for which sockets outlive their programs: unanswered data are sent again, the other end closes, TIME_WAIT.
  package static let time = Duration.seconds(180)

  /// No group of the kernel: its number is 0.
  package let group: ProgramGroup
  package let until: Moment

  init(_ route: ProgramRoute, until: Moment) {
    group = ProgramGroup(path: "", group: ProviderGroup(number: 0, level: 0), route: route, user: 0)
    self.until = until
  }
}

/// Decides which kill switches are active, from the rules, the manual overrides and the suspension. No clock.
package struct KillSwitchMachine: Hashable, Sendable {
  /// Whether each tunnel was wanted when something last wanted it up or down.
  private var wanted: [String: Bool] = [:]
  /// Tunnels that the rules may want on the current network: the machine has left the one on which their rules were evaluated.
  private var undecided = Set<String>()
  package private(set) var suspension: KillSwitchSuspension?
  /// Whether a table of an earlier agent existed at the start. It keeps blocking until a decision changes that.
  package var beganGuarded = false
  /// Whether a new agent is about to replace this one. Until then the kill switch keeps blocking, whatever is wanted of the tunnels.
  package var isHandedOver = false
  /// The guards of programs, each until all processes in its control group have ended.
  package var programs: [ProgramGuard] = []
  /// The groups of programs whose packets have a route of their own, each until its last program has ended.
  package var launched: [ProgramGroup] = []
  /// The classes whose programs have ended lately. The kernel still sends what their sockets held, and answers for them.
  package private(set) var ended: [EndedPrograms] = []

  package init() {}

  /// Those whose packets are led and blocked.
  package var routed: [ProgramGroup] { launched + ended.map(\.group) }

  /// Keeps the classes of programs that have ended until the kernel has nothing left to send for them.
  package mutating func end(_ routes: [ProgramRoute], until: Moment) {
    for case .through(let tunnel, let number) in routes {
      ended.removeAll { $0.group.route.tunnel == tunnel }
      ended.append(EndedPrograms(.through(tunnel, number: number), until: until))
    }
  }

  /// Forgets the classes whose time is over, or `all`.
  package mutating func forgetEnded(at now: Moment, all: Bool = false) { ended.removeAll { all || $0.until <= now } }

  /// Takes over the state of another agent, as it reports it: `guarding` names the tunnels whose kill switch is active now.
  package init(wanted: [String: Bool], guarding: Set<String>, suspension: KillSwitchSuspension?) {
    self.wanted = wanted
    undecided = guarding.filter { wanted[$0] != true }
    self.suspension = suspension
  }

  /// Records that the machine has left the network. Tunnels that the rules may want on the next network are blocked until their rules are
  /// evaluated there.
  package mutating func leaveNetwork(_ policies: PolicySet, overrides: [String: ManualOverride]) {
    undecided.formUnion(Self.open(policies, overrides).map(\.name))
  }

  /// Whether something is open now that has to be blocked at once on another network.
  package func isOpenHereAlone(_ policies: PolicySet, overrides: [String: ManualOverride]) -> Bool {
    Self.open(policies, overrides).contains { !isGuarding($0) }
  }

  /// Tunnels with a kill switch (`on`) that their rules may want. A manual override (down) excludes a tunnel, unless it ends with the
  /// network.
  private static func open(_ policies: PolicySet, _ overrides: [String: ManualOverride]) -> [TunnelPolicy] {
    policies.facts.concerns.guarded.filter { tunnel in
      switch overrides[tunnel.name].map({ ($0.wantsUp, $0.lifetime) }) {
      case (false, .time)?, (false, .resume)?: return false
      case (_, .network)?, (true, _)?, nil: return tunnel.onDemand.rules.contains { $0.action == .connect || tunnel.arms(by: $0) }
      }
    }
  }

  /// Records whether a tunnel is wanted. A decision that waits for a fact changes nothing. `isOnline`: it was made on a network.
  package mutating func record(_ intent: Intent, isPending: Bool, isOnline: Bool = true, of tunnel: String) {
    if isHandedOver { return }
    if isOnline, !isPending, !undecided.isEmpty { undecided.remove(tunnel) }
    switch intent {
    case .up, .armed: wanted[tunnel] = true
    case .down: wanted[tunnel] = false
    case .watched, .unchanged: if wanted[tunnel] == nil, !isPending { wanted[tunnel] = false }
    }
  }

  package mutating func forget(_ tunnel: String) {
    if isHandedOver { return }
    wanted[tunnel] = nil
    undecided.remove(tunnel)
  }

  package func isGuarding(_ tunnel: TunnelPolicy) -> Bool {
    if let suspension, !suspension.isPortal { return false }
    guard tunnel.isEnabled else { return false }
    return switch tunnel.guarding {
    case .off: false
    case .on: isWanted(tunnel.name) || undecided.contains(tunnel.name)
    case .always: true
    }
  }

  /// Whether the kill switch is active only because the tunnel may be wanted on the next network.
  package func isUndecided(_ tunnel: TunnelPolicy) -> Bool {
    tunnel.guarding == .on && undecided.contains(tunnel.name) && !isWanted(tunnel.name)
  }

  private func isWanted(_ tunnel: String) -> Bool { wanted[tunnel] ?? beganGuarded }

  /// The suspension, if it is for a captive portal.
  package var portal: KillSwitchSuspension? { suspension.flatMap { $0.isPortal ? $0 : nil } }

  // MARK: Release

  package mutating func open(_ suspension: KillSwitchSuspension) { self.suspension = suspension }

  /// Ends the suspension. Returns whether there was one.
  package mutating func close() -> Bool {
    defer { suspension = nil }
    return suspension != nil
  }

  /// Ends the suspension if its time has come, or if it was for another network. Returns whether it did.
  package mutating func endSuspension(at time: Timestamp, on network: NetworkIdentity) -> Bool {
    guard let suspension, suspension.isOver(at: time, on: network) else { return false }
    return close()
  }
}

extension KillSwitchMachine {
  /// The window of a suspension for a captive portal; `nil`: there is none. `controlGroup` finds a control group by its name.
  package func portalWindow(_ controlGroup: (String) -> ControlGroup?) -> PortalWindow? {
    portal.map { portal in
      PortalWindow(
        programs: portal.programs, resolvers: portal.programs == nil ? [] : PortalWindow.resolverGroups.compactMap(controlGroup),
        sites: portal.signIn?.sites)
    }
  }
}
