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

  /// Tunnels that the rules connect are planned to the end; those they leave alone stay as they are observed; the others go. `up` names one
  /// that is planned whatever the rules say. Endpoint names are left as names: nothing is looked up.
  package init(of policies: PolicySet, on snapshot: NetworkSnapshot, up: String?, machine: LinuxMachine) throws(WorldError) {
    let evaluator = Evaluator(networks: policies.networks)
    let setups = Self.setups(policies, engine: machine.likelyWireGuardEngine)
    let bringsDNS = setups.contains { !$0.policy.dnsInForce.servers.isEmpty }
    if bringsDNS { machine.settleResolver(setups.compactMap(\.link)) }
    let need = Need(
      facts: [], tables: setups.map(\.table), wireGuardLinks: setups.compactMap(\.link), firewall: .name,
      resolverLinks: bringsDNS ? Set(setups.compactMap(\.link)) : nil)
    let observed = try machine.observe(need).state
    let wanted = setups.compactMap { setup -> TunnelSetup? in
      var setup = setup
      setup.isGuarding = setup.policy.guarding == .always && setup.policy.isEnabled
      setup.isOnLANNetwork = evaluator.isOn(anyOf: setup.policy.routes?.lanNetworks ?? [], snapshot)
      let decision = evaluator.decide(setup.policy, on: snapshot, patience: .isOver, explaining: .none)
      let isThere = observed.kernel.links.contains { $0.name == setup.link && Ownership.tunnel(ofAlias: $0.alias) == setup.policy.name }
      switch up == setup.policy.name ? .up : Intent(setup.policy, decision: decision, hold: nil) {
      case .up:
        setup.level = .full
        setup.isGuarding = setup.policy.guarding != .off
      case .unchanged where isThere: setup.level = .full
      case .unchanged, .down: return setup.isGuarding ? setup : nil
      }
      return setup
    }
    others = OtherVPNs(in: observed.kernel, ownLinks: Set(setups.compactMap(\.link)))
    let choice = ResolverChoice(observed.resolver.facts, file: observed.resolvConf)
    let fit = UnderlayFit(snapshot, isReversePathStrict: observed.isReversePathStrict, others: others, resolver: choice)
    let desired = DesiredState(of: wanted, on: fit)
    plan = Plan(from: observed, to: desired)
    notes = desired.notes + others.collisions + desired.refusals.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
    claims = routeClaims(on: wanted.filter { $0.level == .full }, in: observed.kernel, fit)
    resolver = plan.steps.contains(where: \.isOfResolver) ? choice : nil
  }

  /// Slots are given in the order of the policies, as a starting agent gives them.
  private static func setups(_ policies: PolicySet, engine: EngineChoice) -> [TunnelSetup] {
    var used = Set<UInt32>()
    return policies.tunnels.map { tunnel in
      let slot = TunnelSetup.freeSlot(for: tunnel.precedence, used: used)
      used.insert(slot)
      switch tunnel.provider {
      case .wireGuard(let provider):
        let configuration = provider.configuration
        var runs = WireGuardEngine.kernel
        if case .engine(let chosen) = engine { runs = chosen }
        let device = WireGuardDevice(
          engine: runs, privateKey: configuration.privateKey, publicKey: configuration.publicKey, listenPort: configuration.listenPort,
          peers: configuration.peers)
        return TunnelSetup(
          policy: tunnel, level: .nothing, slot: slot, link: TunnelSetup.linkName(forTunnel: tunnel.name), device: .wireGuard(device))
      case .command(let command):
        return TunnelSetup(policy: tunnel, level: .nothing, slot: slot, link: command.interface, device: .foreign)
      }
    }
  }
}
