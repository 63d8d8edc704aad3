package import ControlProtocol
package import KernelModel
internal import NetworkTypes
package import RoamwardCore

/// The inputs of a plan besides policies and network: manual overrides, a suspended kill switch, and the tunnels' state.
package struct PlanInputs: Equatable, Sendable {
  package var overrides: [String: ManualOverride] = [:]
  package var killSwitch = KillSwitchMachine()
  /// Whether each tunnel is wanted, as the agent reports; `nil`: no agent runs.
  package var wanted: [String: Bool]?
  /// The levels of tunnels whose routes are in place.
  package var levels: [String: TunnelMachine.Level] = [:]
  /// The routing tables of running tunnels.
  package var tables: [String: UInt32] = [:]
  /// The settings that providers of running tunnels have brought.
  package var brought: [String: BroughtSettings] = [:]
  /// The providers of tunnels that are not down, as the agent tells; `nil`: no agent runs.
  package var running: [String: RunningProvider]?
  /// The links of tunnels that are not down, also of such whose policy is gone.
  package var links: Set<String> = []

  package init() {}

  /// Inputs from the report of a running agent. `isSameNetwork`: the plan is for the agent's own network. On any other network, inputs that
  /// last until the network changes have ended.
  package init(_ report: StatusReport, isSameNetwork: Bool, controlGroup: (String) -> ControlGroup? = { _ in nil }) {
    func lifetime(_ word: Lifetime.Word?, _ end: Timestamp?) -> ManualOverride.Lifetime? {
      if word == .network, !isSameNetwork { return nil }
      return end.map { .time($0) } ?? .resume
    }
    for tunnel in report.tunnels {
      tables[tunnel.name] = tunnel.table
      brought[tunnel.name] = tunnel.brought?.settings
      levels[tunnel.name] = ["armed": .armed, "connected": .full, "reasserting": .full][tunnel.state]
      guard let override = tunnel.override, let lifetime = lifetime(tunnel.overrideLifetime, tunnel.overrideUntil) else { continue }
      overrides[tunnel.name] = ManualOverride(
        wantsUp: override == "up", since: tunnel.overrideSince ?? report.time, lifetime: lifetime, reason: tunnel.overrideReason)
    }
    running = Dictionary(report.tunnels.compactMap { tunnel in tunnel.provider.map { (tunnel.name, $0.running) } }) { first, _ in first }
    links = Set(report.tunnels.compactMap(\.link))
    let wanted = Dictionary(report.tunnels.map { ($0.name, $0.isWanted) }) { first, _ in first }
    self.wanted = wanted
    let firewall = report.firewall
    var suspension: KillSwitchSuspension?
    if [.portal, .released].contains(firewall.situation), let lifetime = lifetime(firewall.lifetime, firewall.until) {
      suspension = KillSwitchSuspension(
        since: report.time, lifetime: lifetime, isPortal: firewall.situation == .portal, programs: firewall.programs.flatMap(controlGroup),
        signIn: firewall.signIn.map { KillSwitchSuspension.SignIn($0, at: (firewall.sites ?? []).compactMap { GuardedEndpoint($0) }) },
        reason: firewall.reason)
    }
    killSwitch = KillSwitchMachine(wanted: wanted, guarding: Set(firewall.guards), suspension: suspension)
    killSwitch.programs = report.guards.map { ProgramGuard($0) }
    killSwitch.launched = report.programs.compactMap { ProgramGroup($0) }
    killSwitch.end(report.endedPrograms.compactMap { ProgramRoute(through: $0.tunnel, mark: $0.mark) }, until: Moment(nanoseconds: .max))
  }

  /// The links of our tunnels: those of the policies, and those of tunnels that are not down yet.
  package func ownLinks(_ policies: PolicySet) -> Set<String> { links.union(policies.tunnels.compactMap(\.linkName)) }

  /// The deviations from the result of the rules alone.
  package var remarks: [Remark] {
    var remarks = overrides.sorted { $0.key < $1.key }.map { name, override in
      Remark(.manualOverride, of: name, "manual override: \(override.wantsUp ? "up" : "down"); `roamward resume \(name)` ends it")
    }
    if let suspension = killSwitch.suspension {
      let purpose = suspension.isPortal ? " for a captive portal" : ""
      remarks.append(
        Remark(
          suspension.isPortal ? .portalOpened : .killSwitchSuspended, "kill switch suspended by hand\(purpose); `roamward resume` ends it"))
    }
    remarks += killSwitch.programs.map { program in
      let words =
        program.heldSince == nil
        ? "blocks all traffic outside of its link, but for its own to \(program.reach)"
        : "was killed, and blocks all traffic; `roamward release` ends it"
      return Remark(.trafficBlocked, "\(program) \(words)")
    }
    remarks += killSwitch.launched.map { program in
      let words = program.route.tunnel.map { "leave by \($0) or not at all" } ?? "leave outside of every tunnel, past kill switches"
      return Remark(.programRoute, of: program.route.tunnel, "packets of programs in \(escaped(program.path)) \(words)")
    }
    return remarks
  }
}

extension DesiredTunnels {
  /// The tunnels of these policies as the kernel shows them, under these inputs.
  package init(
    _ policies: PolicySet, on snapshot: NetworkSnapshot, _ inputs: PlanInputs, in observed: ObservedState, engine: WireGuardEngine
  ) {
    var policies = policies
    policies.tunnels = policies.tunnels.map { policy in
      // Settings that another definition has brought do not belong to the tunnel.
      guard inputs.running.map({ $0[policy.name]?.definition == policy.definition }) ?? true else { return policy }
      return inputs.brought[policy.name].map(policy.with) ?? policy
    }
    self.init(policies, overrides: inputs.overrides, killSwitch: inputs.killSwitch, on: snapshot)
    running = inputs.running
    let ended = inputs.tables.filter { policies.tunnel(named: $0.key) == nil }.map { $0.value &- Ownership.tables.lowerBound }
    takenSlots = OtherVPNs(in: observed.kernel, ownLinks: inputs.ownLinks(policies)).takenSlots.union(ended)
    currentTunnels = policies.tunnels.map { policy in
      let slot = inputs.tables[policy.name].map { $0 &- Ownership.tables.lowerBound } ?? observed.slot(of: policy)
      // A device without peers is one that is only ready.
      let isThere =
        observed.kernel.links.contains { $0.name == policy.linkName && Ownership.tunnel(ofAlias: $0.alias) == policy.name }
        && policy.linkName.flatMap { observed.wireGuard[$0] }?.peers.isEmpty != true
      let setup = TunnelSetup(
        policy: policy, level: inputs.levels[policy.name] ?? .nothing, slot: slot ?? policy.slots.lowerBound,
        link: policy.linkName,
        device: DesiredLink.Device(of: policy, engine, in: observed))
      return CurrentTunnel(setup, isWanted: inputs.wanted.map { $0[policy.name] ?? false } ?? isThere, isRunning: slot != nil)
    }
  }
}

extension ObservedState {
  /// The slot whose table has routes of the tunnel; `nil`: none.
  fileprivate func slot(of tunnel: TunnelPolicy) -> UInt32? {
    kernel.routes.first { route in
      route.link != nil && route.link == tunnel.linkName && route.routeProtocol == Ownership.routeProtocol
        && Ownership.tables.contains(route.table)
    }
    .flatMap { Ownership.slot(of: $0.table) }
  }
}

extension DesiredLink.Device {
  /// The endpoint that its device shows, for a name and for an address that the network translates; else the configured one.
  private static func endpoint(_ configured: Endpoint?, as seen: Endpoint?) -> Endpoint? {
    guard let configured, let seen, let shown = seen.address else { return configured }
    guard let own = configured.address else { return seen }
    return TranslationPrefix.isTranslation(shown, of: own) ? seen : configured
  }

  /// A peer's endpoint that is a name takes the address that its device has; no name is resolved.
  fileprivate init(of tunnel: TunnelPolicy, _ engine: WireGuardEngine, in observed: ObservedState) {
    if case .installed(let provider) = tunnel.provider {
      self.init(of: provider.program, link: TunnelSetup.linkName(forTunnel: tunnel.name))
      return
    }
    guard case .wireGuard(let provider) = tunnel.provider, let configuration = provider.configuration else {
      self = .foreign
      return
    }
    let found = tunnel.linkName.flatMap { observed.wireGuard[$0] }
    let peers = configuration.peers.map { peer in
      var peer = peer
      peer.endpoint = Self.endpoint(peer.endpoint, as: found?.peers.first { $0.publicKey == peer.publicKey }?.endpoint)
      return peer
    }
    self = .wireGuard(
      WireGuardDevice(
        engine: found?.engine ?? engine, privateKey: configuration.privateKey, publicKey: configuration.publicKey,
        listenPort: found.map { $0.listenPort != configuration.listenPort } == true && configuration.mayListenElsewhere
          ? nil : configuration.listenPort, peers: peers))
  }
}
