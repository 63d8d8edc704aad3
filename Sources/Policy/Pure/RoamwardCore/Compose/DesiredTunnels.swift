import KernelModel
import NetworkTypes

/// The desired state of every tunnel, for the agent, `plan`, `diff` and the check of SSH sessions alike.
///
/// It is a value: policies, decisions, overrides, kill switches and the tunnels' current states. `setups` is the state to apply now.
/// `atRest` is the state after every tunnel has done what rules and overrides want.
package struct DesiredTunnels: Hashable, Sendable {
  /// The current state of one tunnel.
  package struct CurrentTunnel: Hashable, Sendable {
    package var setup: TunnelSetup
    /// Whether rules or a person have wanted it up, and nothing has wanted it down since.
    package var isWanted: Bool
    /// Whether it is in any state but down: its slot is reserved.
    package var isRunning: Bool
    /// The slot that it will have when it starts again with another provider.
    package var reservedSlot: UInt32?

    package init(_ setup: TunnelSetup, isWanted: Bool, isRunning: Bool) {
      self.setup = setup
      self.isWanted = isWanted
      self.isRunning = isRunning
    }
  }

  package var policies: PolicySet
  package var decisions: [String: Decision]
  /// The last decisions that wait for nothing.
  package var settledDecisions: [String: Decision]
  /// The tunnels whose decisions wait until the network has settled.
  package var held: Set<String>
  package var overrides: [String: ManualOverride]
  /// The kill switches, and their suspension.
  package var killSwitch: KillSwitchMachine
  package var currentTunnels: [CurrentTunnel]
  /// The providers of tunnels that are not down, as a running agent tells; `nil`: no agent tells. The agent knows from `currentTunnels`.
  package var running: [String: RunningProvider]?
  /// Slots whose rule or table another program uses.
  package var takenSlots: Set<UInt32>
  package var snapshot: NetworkSnapshot
  package var isStopping: Bool
  /// Whether look-ups can be watched on this host.
  package var canWatch: Bool
  /// The addresses of names that tunnels take or leave outside.
  package var byName: [String: PrefixesByName]

  package init(
    _ policies: PolicySet, decisions: [String: Decision] = [:], settledDecisions: [String: Decision] = [:],
    held: Set<String> = [], overrides: [String: ManualOverride] = [:],
    killSwitch: KillSwitchMachine = KillSwitchMachine(),
    currentTunnels: [CurrentTunnel] = [], takenSlots: Set<UInt32> = [], on snapshot: NetworkSnapshot, isStopping: Bool = false,
    canWatch: Bool = true, byName: [String: PrefixesByName] = [:]
  ) {
    self.policies = policies
    self.decisions = decisions
    self.settledDecisions = settledDecisions
    self.held = held
    self.overrides = overrides
    self.killSwitch = killSwitch
    self.currentTunnels = currentTunnels
    self.takenSlots = takenSlots
    self.snapshot = snapshot
    self.isStopping = isStopping
    self.canWatch = canWatch
    self.byName = byName
  }

  /// Slots of running tunnels, those that are reserved, and those that another program uses.
  package var usedSlots: Set<UInt32> {
    Set(currentTunnels.lazy.filter(\.isRunning).map(\.setup.slot)).union(currentTunnels.lazy.compactMap(\.reservedSlot)).union(takenSlots)
  }

  /// The setups for now, in the order of slots and names.
  package var setups: [TunnelSetup] {
    let evaluator = Evaluator(networks: policies.networks)
    return currentTunnels.map { current in
      var setup = current.setup
      let policy = setup.policy
      setup.isGuarding = killSwitch.isGuarding(policy)
      setup.followsGuards = killSwitch.beganGuarded
      setup.refusesNames = refusesNames(policy)
      setup.watch = watch(of: setup)
      setup.isOnLANNetwork = evaluator.isOn(anyOf: policy.routes?.lanNetworks ?? [], snapshot)
      setup.isRunning = current.isRunning
      if policy.routesByName { setup.byName = byName[policy.name] ?? PrefixesByName() }
      if let through = policy.through { setup.device.mark(Ownership.innerMark(of: slot(of: through.name))) }
      if isStopping {
        setup.policy.dns?.whenDown = .ask
        setup.policy.proxy = nil
      }
      return setup
    }
    .sorted { ($0.slot, $0.policy.name) < ($1.slot, $1.policy.name) }
  }

  /// The slot of a running tunnel; `nil`: it is down, or there is none of that name.
  package func slot(of tunnel: String) -> UInt32? { currentTunnels.first { $0.isRunning && $0.setup.policy.name == tunnel }?.setup.slot }

  /// Whether the tunnel's names are refused while it is down; they are not if a rule says that this network needs no tunnel.
  private func refusesNames(_ policy: TunnelPolicy) -> Bool {
    let decisions = held.contains(policy.name) ? settledDecisions : decisions
    return policy.isEnabled && policy.dnsInForce.refusesWhenDown && !isStopping && decisions[policy.name]?.outcome != .disconnect
      && !isAnswered(policy)
  }

  /// Whether another member of its group is up, and its name servers have all of the tunnel's names.
  private func isAnswered(_ policy: TunnelPolicy) -> Bool {
    guard let group = policies.group(of: policy.name) else { return false }
    let domains = Set(policy.dnsInForce.ownDomains)
    return currentTunnels.contains { current in
      let other = current.setup.policy
      return other.name != policy.name && current.setup.level.hasRoutes && group.members.contains { $0.name == other.name }
        && domains.isSubset(of: other.dnsInForce.ownDomains)
    }
  }

  /// The names whose look-ups start the tunnel. A person who wants it down does not want look-ups to start it.
  private func watch(of setup: TunnelSetup) -> NameWatch? {
    let policy = setup.policy
    guard policy.isEnabled, policy.onDemand.isEnabled, !isStopping, let decision = decisions[policy.name], decision.inert == nil,
      overrides[policy.name]?.wantsUp ?? true
    else { return nil }
    let basis = basis(decision, of: policy)
    var watch = basis.map { policy.watch(by: $0, on: snapshot) } ?? policy.watchUntilDecided(on: snapshot, hasRoutes: setup.level.hasRoutes)
    watch?.progress = setup.progress
    return watch
  }

  /// The decision by which names are watched. Between two networks, while a fact is awaited, and while the network settles, they stay what
  /// they are.
  func basis(_ decision: Decision, of policy: TunnelPolicy) -> Decision? {
    decision.isSettled && !held.contains(policy.name) ? decision : settledDecisions[policy.name]
  }

  /// The same when nothing is left to do: no fact is awaited, delays are over, and every tunnel is up or down. A tunnel without a policy is
  /// gone.
  package var atRest: DesiredTunnels {
    let evaluator = Evaluator(networks: policies.networks)
    let prepared = evaluator.prepare(snapshot)
    var rest = self
    (rest.decisions, rest.held) = ([:], [])
    rest.currentTunnels = []
    // Having no network is the same as having just left one.
    if snapshot.primaryLink == nil { rest.killSwitch.leaveNetwork(policies, overrides: overrides) }
    var used = usedSlots
    let known = Dictionary(currentTunnels.map { ($0.setup.policy.name, $0) }) { first, _ in first }
    let claims = policies.tunnels.map { policy in
      let decision = evaluator.decide(policy, on: prepared, patience: .isOver, explaining: .none)
      rest.decisions[policy.name] = decision
      return Exclusion.Claim(policy, decision, override: overrides[policy.name], isRunning: known[policy.name]?.isWanted ?? false)
    }
    let settled = Exclusion.settle(claims, groups: policies.groups, turns: turns(among: claims, known))
    let ready = rest.ready
    let replaced = replacedTunnels
    for claim in settled.claims {
      let policy = claim.tunnel
      let name = policy.name
      let current = known[name]
      let isLoser = settled.isHeld(name)
      let isUp = !isLoser && ([.up, .armed].contains(claim.intent) || [.watched, .unchanged].contains(claim.intent) && claim.isRunning)
      // The kill switch of a tunnel that gives way is active while its rules want the tunnel.
      let givesWay = isLoser && claim.intent == .unchanged && settled.standby[name] == nil
      let guarding = isUp ? .up : givesWay || claim.intent == .watched ? .down : claim.intent
      rest.killSwitch.record(guarding, isPending: false, isOnline: snapshot.primaryLink != nil, of: name)
      let down: TunnelMachine.Level = ready.contains(name) ? .device : .nothing
      var setup = self.setup(
        of: policy, at: isUp ? Self.level(for: claim.intent, current?.setup.level) : down, current,
        isReplaced: replaced.contains(name), &used)
      if setup.level == .full { setup.progress = .connected }
      rest.currentTunnels.append(CurrentTunnel(setup, isWanted: isUp, isRunning: setup.level > .nothing))
    }
    return rest
  }

  /// The turns of groups as the running tunnels show them: the member that carries packets stays in use.
  private func turns(among claims: [Exclusion.Claim], _ known: [String: CurrentTunnel]) -> [String: GroupTurn] {
    let turns = policies.groups.compactMap { group in
      GroupTurn(of: group, among: claims) { known[$0]?.setup.level.hasRoutes ?? false }.map { (group.name, $0) }
    }
    return Dictionary(turns) { first, _ in first }
  }

  /// The setup of one tunnel. A running tunnel keeps its slot and its device, a replaced one its slot if it may have it. Another
  /// one gets the first free slot, as it does when it starts.
  private func setup(
    of policy: TunnelPolicy, at level: TunnelMachine.Level, _ current: CurrentTunnel?, isReplaced: Bool, _ used: inout Set<UInt32>
  ) -> TunnelSetup {
    guard level > .nothing else {
      return TunnelSetup(policy: policy, level: .nothing, slot: policy.slots.lowerBound, link: policy.linkName, device: .foreign)
    }
    let allowed = isReplaced ? policy.slots : policy.slotsOfClass
    let kept = current.flatMap { $0.isRunning && allowed.contains($0.setup.slot) ? $0.setup.slot : nil }
    let slot = kept ?? TunnelSetup.freeSlot(for: policy, used: used)
    used.insert(slot)
    let isSame = current?.setup.policy.provider.isSameTunnel(as: policy.provider) ?? false
    var setup = TunnelSetup(
      policy: policy, level: level, slot: slot, link: policy.linkName, device: isSame ? current?.setup.device ?? .foreign : .foreign)
    setup.isSilent = level == .armed
    return setup
  }

  /// The level of a tunnel that is up. One that rules arm keeps the session that it has.
  private static func level(for intent: Intent, _ present: TunnelMachine.Level?) -> TunnelMachine.Level {
    switch intent {
    case .armed: present == .full ? .full : .armed
    case .watched, .unchanged: present == .armed ? .armed : .full
    case .up, .down: .full
    }
  }
}

extension TunnelPolicy {
  /// The tunnel's link; `nil` for a command that names none.
  package var linkName: String? {
    switch provider {
    case .wireGuard, .installed: TunnelSetup.linkName(forTunnel: name)
    case .command(let command): command.interface
    case .service(let service): service.interface
    }
  }
}

extension TunnelPolicy {
  /// Whether all tunnel settings are the same, without the provider's.
  package func isSameSetup(as other: TunnelPolicy) -> Bool {
    routes == other.routes && apps == other.apps && dns == other.dns && mtu == other.mtu && proxy == other.proxy
      && killSwitch == other.killSwitch
      && includesAllNetworks == other.includesAllNetworks && precedence == other.precedence && through?.name == other.through?.name
  }
}

extension ProviderConfiguration {
  /// Whether all settings are the same except the location of the file.
  package func isSameTunnel(as other: ProviderConfiguration) -> Bool {
    switch (self, other) {
    case (.wireGuard(let one), .wireGuard(let two)): one.configuration == two.configuration
    case (.installed(let one), .installed(let two)): one.asStarted == two.asStarted
    default: self == other
    }
  }
}
