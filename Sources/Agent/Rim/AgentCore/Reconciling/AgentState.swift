import ControlProtocol
import KernelModel
import NetworkTypes
import PolicySource
import RoamwardCore

/// The complete state of the agent, one value for each concern. Reports and requests read it; only `Reconciler` changes it. It is not a
/// value itself: each look at it would copy all of them.
final class AgentState {
  var policies = PoliciesInForce()
  var seen = ObservedMachine()
  var schedule = ObservationSchedule()
  var decisions = DecisionScheduler()
  var killSwitch = KillSwitch()
  var resolver = ResolverCoordinator()
  var names = NamesInAnswers()
  var repairs = RepairSchedule()
  var inProgress = StepsInProgress()
  var stop = StopSequence()
  var agenda = Agenda()
  var warmUp = WarmUp()
  /// The tunnels that the last agent has left, until the policies are read.
  var leftTunnels: HandOver?
  /// Whether the next observation includes our objects in tables of no tunnel.
  var looksEverywhere = false
  /// Whether another network has been observed since the last decisions.
  var isDecisionDue = false
  var latestTime = LatestTime()
  let tunnels: TunnelSet
  let lookups: Lookups
  /// The control group of a name, if it exists and has a process in it.
  let controlGroup: (String) -> ControlGroup?

  init(tunnels: TunnelSet, lookups: Lookups, controlGroup: @escaping (String) -> ControlGroup?) {
    self.tunnels = tunnels
    self.lookups = lookups
    self.controlGroup = controlGroup
  }

  var set: PolicySet { policies.set }
  /// The owners of tunnels by the tunnels' names, also of those that run on after their policy has gone.
  var owners: [String: UserName] {
    let left = tunnels.withoutPolicy.compactMap { tunnel in tunnel.policy.availability.owner.map { (tunnel.policy.name, $0) } }
    return left.isEmpty ? set.owners : set.owners.merging(left) { first, _ in first }
  }
}

/// Steps that other programs have not finished yet.
struct StepsInProgress {
  /// Userspace devices that are being started.
  var links = Set<String>()
  /// The change that a resolver program makes now.
  var resolver: Step?

  /// Returns false if it is already under way.
  mutating func begin(_ step: Step) -> Bool {
    if let link = step.link, !step.isOfResolverProgram { return links.insert(link).inserted }
    defer { resolver = resolver ?? step }
    return resolver == nil
  }

  mutating func end(_ step: Step) {
    if let link = step.link, !step.isOfResolverProgram { links.remove(link) } else { resolver = nil }
  }

  /// Whether the step has to wait for one of them.
  func block(_ step: Step) -> Bool { links.contains { step.needs(link: $0) } || step.isOfResolver && resolver != nil }
}

// MARK: Desired state

extension AgentState {
  /// The tunnels as input of the desired state.
  var desiredTunnels: DesiredTunnels {
    DesiredTunnels(
      set, decisions: decisions.decisions, settledDecisions: decisions.settled, held: decisions.held,
      overrides: decisions.overrides,
      killSwitch: killSwitch.machine,
      currentTunnels: tunnels.currentTunnels(hasGuards: !killSwitch.machine.programs.isEmpty), takenSlots: seen.others.takenSlots,
      on: seen.snapshot, isStopping: stop.isStopping,
      canWatch: resolverChoice.canWatch, byName: names.routes.prefixes)
  }

  var desiredState: DesiredState {
    var desired = seen.derived.desired(
      .init(
        tunnels: desiredTunnels.setups, underlay: underlayFit, portal: portalWindow, guards: programGuards,
        programs: killSwitch.machine.routed))
    if policies.generation == 0 {
      desired.firewall = .asItIs
      desired.keepsNameCapture = !stop.isStopping
      if let state = seen.state, !stop.isStopping {
        desired.keepRefusal(of: state)
        desired.keepLead(of: state)
      }
    }
    // Our name server has ended by itself: until it is back, names fail rather than leave.
    if let state = seen.state, !stop.isStopping, resolverChoice.isNameServerReturning, desired.nameServer == nil,
      desiredTunnels.setups.contains(where: \.needsNameServer)
    {
      desired.keepRefusal(of: state)
      desired.keepLead(of: state)
    }
    return desired
  }

  /// The desired state of these tunnels, with the guards and programs of now.
  func desired(of setups: [TunnelSetup]) -> DesiredState {
    DesiredState(
      of: setups, on: underlayFit, portal: portalWindow, guards: programGuards, programs: killSwitch.machine.routed)
  }

  /// The active guards of programs, with their links.
  var programGuards: [GuardSetup] { killSwitch.machine.guards(in: seen.state) }

  var underlayFit: UnderlayFit {
    UnderlayFit(
      seen.snapshot, isReversePathStrict: seen.state?.isReversePathStrict ?? false, others: seen.others, resolver: resolverChoice,
      providers: seen.state?.providers ?? .unexamined, outerMTUs: seen.state?.kernel.outerMTUs(for: tunnels.inner) ?? [:],
      familiesOff: seen.state?.familiesOff ?? [])
  }

  /// The method by which name servers are set on this host now.
  var resolverChoice: ResolverChoice { seen.state.map { ResolverChoice($0.resolver.facts, file: $0.resolvConf) } ?? .file }

  /// The programs for which the web and DNS are open.
  var portalWindow: PortalWindow? { killSwitch.machine.portalWindow(controlGroup) }

  /// Whether the firewall is open on this network alone, so that another network closes it at once.
  var isKillSwitchOpenHereAlone: Bool { killSwitch.machine.isOpenHereAlone(set, overrides: decisions.overrides) }
}

// MARK: Observed state

extension AgentState {
  func observationRequest(adding extra: Set<FactKind>) -> ObservationRequest {
    ObservationRequest(
      facts: neededFacts.union(extra), tables: tables,
      everywhere: seen.observation == nil || looksEverywhere, wireGuardLinks: tunnels.links.wireGuard,
      foreignLinks: (tunnels.links.others + killSwitch.machine.programs.compactMap(\.link)).sorted(), firewall: .ofKillSwitch(in: self),
      nameCapture: .ofCapture(in: self), resolverLinks: resolverLinks)
  }

  /// The tables of the tunnels; with tunnels inside others, or what is left of them, also the tables for their packets.
  private var tables: [UInt32] {
    let own = tunnels.slots.map { Ownership.tables.lowerBound + $0 }
    let isNested =
      tunnels.isNested || !killSwitch.machine.routed.isEmpty
      || seen.state?.kernel.ownRules.contains { $0.priority == Ownership.lostTable } ?? false
    return isNested ? own + tunnels.slots.map(Ownership.innerTable).sorted() + [Ownership.lostTable] : own
  }

  /// The facts that policies and overrides need; an override that ends with the network identifies networks by their gateways.
  private var neededFacts: Set<FactKind> {
    let isHeld = decisions.overrides.values.contains { if case .network = $0.lifetime { true } else { false } }
    return set.neededFacts.union(isHeld ? [.gatewayMAC] : [])
      .union(lookups.needsServers || killSwitch.machine.portal?.signIn != nil ? [.dnsServers] : [])
      .union(tunnels.engaged.contains { $0.policyInForce.bringsServers } ? [.searchDomains, .dnsServers] : [])
  }

  /// Links whose name servers the agent sets; `nil` if no tunnel has name servers: no resolver is queried.
  var resolverLinks: Set<String>? {
    let brings = set.bringsNames || tunnels.engaged.contains { $0.policyInForce.bringsServers }
    // Settings that are not yet removed still need the query.
    let isLeft =
      inProgress.resolver != nil || seen.state.map { $0.resolver.nameServer != .absent } ?? false
      || seen.state?.resolver.links.contains { !$0.value.isEmpty } ?? false
    let refusals = seen.state.map { $0.kernel.link(named: Ownership.refusalLink) != nil } ?? false ? [Ownership.refusalLink] : []
    return brings || isLeft ? Set(tunnels.engaged.filter(\.machine.isRunning).compactMap(\.linkName) + refusals) : nil
  }
}

extension FirewallDetail {
  /// The detail in which the firewall is read: none, unless a policy or a table concerns the firewall here. A table that the agent has
  /// written is read, whatever it was written for.
  fileprivate static func ofKillSwitch(in state: AgentState) -> FirewallDetail {
    let machine = state.killSwitch.machine
    if state.repairs.hasFirewall || !machine.programs.isEmpty || !machine.routed.isEmpty { return .whole }
    if state.set.concernsFirewall { return .whole }
    guard let seen = state.seen.state else { return .leftover }
    return seen.firewall == .absent ? .nothing : .whole
  }

  fileprivate static func ofCapture(in state: AgentState) -> FirewallDetail {
    if state.repairs.hasNameCapture || state.set.capturesNames { return .whole }
    guard let seen = state.seen.state else { return .leftover }
    return seen.nameCapture == .absent ? .nothing : .whole
  }
}

extension TunnelPolicy {
  /// Whether names are resolved in another way while it is up.
  var bringsServers: Bool { !dnsInForce.servers.isEmpty || routesByName }
}

// MARK: Reasons

extension AgentState {
  /// The override, the rule or the open question, as a line of text and as a reason code. The code includes the failure.
  func reason(for tunnel: TunnelSupervisor, at now: Moment, wallClock: Timestamp) -> (code: ReasonCode, description: String) {
    if let doubt = tunnel.machine.doubt { return (doubt.code, "\(doubt)") }
    let name = tunnel.policy.name
    if tunnel.isOuterLost, let outer = tunnel.policy.through?.name { return (.outerPending, "waits for \(outer), which it goes through") }
    let reason = StateReason(
      set.tunnel(named: name), decisions.decisions[name], override: decisions.overrides[name], isWanted: tunnel.isWanted,
      timers: timers(of: tunnel, at: now, wallClock: wallClock), at: now, isStopping: stop.isStopping,
      isFallingAsleep: agenda.sleep.keepsDown(name, at: now))
    guard tunnel.lookup.latest != nil else { return (tunnel.machine.trouble ?? reason.code, reason.description) }
    // Every user may read a reason; the name and its user are a field of their own (docs/security-processes.md, "Rights").
    return (tunnel.machine.trouble ?? .lookup, "a look-up started it; \(reason)")
  }

  /// The upcoming transitions of a tunnel, the next one first.
  func timers(of tunnel: TunnelSupervisor, at now: Moment, wallClock: Timestamp) -> [TunnelTimer] {
    let timers = decisions.timers(of: tunnel.policy.name, at: now, time: wallClock) + [tunnel.machine.timer].compactMap { $0 }
    return timers.sorted { $0.at < $1.at }
  }

  var firewallStatus: FirewallStatus {
    let guards = guards.map(\.policy.name) + programGuards.map(\.guarded.description)
    guard let suspension = killSwitch.machine.suspension else {
      return FirewallStatus(situation: guards.isEmpty ? .open : .guarded, guards: guards, blocking: blocking)
    }
    return FirewallStatus(
      situation: suspension.isPortal ? .portal : .released, guards: guards, blocking: suspension.isPortal ? blocking : [],
      until: suspension.lifetime.end, programs: suspension.programs?.name, signIn: suspension.signIn?.tunnel,
      sites: suspension.signIn?.sites.map(\.description), reason: suspension.reason, lifetime: suspension.lifetime.word)
  }

  /// Tunnels whose kill switch is active.
  private var guards: [TunnelSupervisor] { tunnels.guarded.filter { killSwitch.machine.isGuarding($0.policy) } }

  /// Without a network no traffic flows anyway, so tunnels that may be wanted on the next one are not reported.
  private var blocking: [String] {
    guards.filter { !tunnels.carries($0, in: set) && !(seen.network.isNone && killSwitch.machine.isUndecided($0.policy)) }.map(
      \.policy.name)
      + programGuards.filter(\.links.isEmpty).map(\.guarded.description)
  }

  /// Whether the start that showed the page goes on: its question may be answered, and the person still on the page.
  private func isSigningIn(_ tunnel: String) -> Bool {
    switch tunnels[tunnel]?.machine.state {
    case .preparing, .awaitingPeer, .applying, .called: true
    default: false
    }
  }

  /// The programs that a portal window is for have ended, the sign-in is over, or every tunnel is up.
  var isPortalNeedless: Bool {
    guard let portal = killSwitch.machine.portal else { return false }
    if let signIn = portal.signIn, !isSigningIn(signIn.tunnel) { return true }
    let haveEnded = portal.programs.map { controlGroup($0.name) == nil } ?? false
    return haveEnded || !(guards.isEmpty && programGuards.isEmpty) && blocking.isEmpty
  }
}
