package import RoamwardCore

/// What the agent would do to this machine: decisions turned into the very plan that it would execute.
package struct Forecast {
  package var plan: Plan
  package var notes: [String]
  /// Routes and rules that would lead past a tunnel, and what comes of them.
  package var claims: [RouteClaim]
  package var others: OtherVPNs
  /// By which way name servers are set; `nil` where none are.
  package var resolver: ResolverChoice?
  /// The same, whether there is anything to set or not.
  package var resolverChoice: ResolverChoice
  package var observed: ObservedState
  package var desired: DesiredState

  /// Tunnels that the rules connect are planned to the end; those they leave alone stay as they are observed; the others go. `up` names one
  /// that is planned whatever the rules say; `holds` are what people have said. Endpoint names are left as names: nothing is looked up.
  package init(
    of policies: PolicySet, on snapshot: NetworkSnapshot, up: String?, holds: [String: Hold] = [:], machine: LinuxMachine
  ) throws(WorldError) {
    let evaluator = Evaluator(networks: policies.networks)
    let links = policies.tunnels.filter(\.provider.isWireGuard).compactMap(\.linkName)
    let served = policies.tunnels.compactMap(\.linkName)
    let bringsDNS = policies.tunnels.contains { !$0.dnsInForce.servers.isEmpty }
    if bringsDNS { machine.settleResolver(served + [Ownership.refusalLink]) }
    let need = Need(
      facts: [], everywhere: true, wireGuardLinks: links, firewall: .name,
      resolverLinks: bringsDNS ? Set(served + [Ownership.refusalLink]) : nil)
    observed = try machine.observe(need).state
    let observed = observed
    let setups = Self.setups(policies, engine: machine.likelyWireGuardEngine, on: observed.kernel)
    let wanted = setups.compactMap { setup -> TunnelSetup? in
      var setup = setup
      setup.isGuarding = setup.policy.guarding == .always && setup.policy.isEnabled
      setup.isOnLANNetwork = evaluator.isOn(anyOf: setup.policy.routes?.lanNetworks ?? [], snapshot)
      let decision = evaluator.decide(setup.policy, on: snapshot, patience: .isOver, explaining: .none)
      setup.refusesNames = setup.policy.isEnabled && setup.policy.dnsInForce.refusesWhenDown && decision.outcome != .disconnect
      let isThere = observed.kernel.links.contains { $0.name == setup.link && Ownership.tunnel(ofAlias: $0.alias) == setup.policy.name }
      switch up == setup.policy.name ? .up : Intent(setup.policy, decision: decision, hold: holds[setup.policy.name]) {
      case .up:
        setup.level = .full
        setup.isGuarding = setup.policy.guarding != .off
      case .unchanged where isThere:
        setup.level = .full
        setup.isGuarding = setup.policy.guarding != .off
      case .unchanged, .down: return setup.isGuarding || setup.policy.dnsInForce.refusesWhenDown ? setup : nil
      }
      return setup
    }
    others = OtherVPNs(in: observed.kernel, ownLinks: Set(setups.compactMap(\.link)))
    let choice = ResolverChoice(observed.resolver.facts, file: observed.resolvConf)
    let fit = UnderlayFit(snapshot, isReversePathStrict: observed.isReversePathStrict, others: others, resolver: choice)
    desired = DesiredState(of: wanted, on: fit)
    plan = Plan(from: observed, to: desired)
    notes = desired.notes + others.collisions + desired.refusals.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
    claims = routeClaims(on: wanted.filter { $0.level == .full }, in: observed.kernel, fit)
    resolver = plan.steps.contains(where: \.isOfResolver) ? choice : nil
    resolverChoice = choice
  }

  /// A tunnel that is there keeps its slot; the others are given theirs in the order of the policies, as a starting agent gives them.
  private static func setups(_ policies: PolicySet, engine: EngineChoice, on kernel: KernelState) -> [TunnelSetup] {
    var slots: [String: UInt32] = [:]
    for tunnel in policies.tunnels {
      let route = kernel.routes.first { route in
        route.link == tunnel.linkName && route.origin == Ownership.routeProtocol && Ownership.tables.contains(route.table)
      }
      guard let slot = route.map({ $0.table - Ownership.tables.lowerBound }), TunnelSetup.slots(for: tunnel.precedence).contains(slot)
      else { continue }
      if !slots.values.contains(slot) { slots[tunnel.name] = slot }
    }
    return policies.tunnels.map { tunnel in
      let slot = slots[tunnel.name] ?? TunnelSetup.freeSlot(for: tunnel.precedence, used: Set(slots.values))
      slots[tunnel.name] = slot
      return TunnelSetup(policy: tunnel, level: .nothing, slot: slot, link: tunnel.linkName, device: device(of: tunnel, engine))
    }
  }

  private static func device(of tunnel: TunnelPolicy, _ engine: EngineChoice) -> DesiredLink.Device {
    guard case .wireGuard(let provider) = tunnel.provider else { return .foreign }
    let configuration = provider.configuration
    var runs = WireGuardEngine.kernel
    if case .engine(let chosen) = engine { runs = chosen }
    return .wireGuard(
      WireGuardDevice(
        engine: runs, privateKey: configuration.privateKey, publicKey: configuration.publicKey, listenPort: configuration.listenPort,
        peers: configuration.peers))
  }
}
