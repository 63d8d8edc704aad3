package import KernelModel
import NetworkTypes

extension FirewallTable {
  /// The addresses that the tunnels' kill switches and guards block on this underlay; `nil`: none.
  package init?(
    of tunnels: [TunnelSetup], on underlay: UnderlayFit, portal: PortalWindow? = nil, guards active: [GuardSetup] = [],
    programs: [ProgramGroup] = []
  ) {
    // The order of slots depends on that of starts; the same kill switches have to make the same table.
    let tunnels = tunnels.sorted { $0.policy.name < $1.policy.name }
    let guarding = tunnels.filter(\.isGuarding)
    self.init(
      guards: guarding.compactMap(Guard.init), insides: tunnels.filter { $0.level.hasRoutes }.compactMap(Inside.init),
      neighbours: underlay.attachedPrefixes.filter { prefix in
        prefix.isPrivate && guarding.allSatisfy { $0.letsThrough(prefix, on: underlay) }
      },
      allowsLAN: guarding.allSatisfy { $0.lan != .block }, portal: portal)
    self.portal?.nameServers = portal?.sites == nil ? [] : underlay.nameServers
    attached = underlay.attachedPrefixes
    // Those of an inner tunnel are reached through the outer one, which is no way outside.
    gateways = tunnels.filter { $0.level.hasRoutes && $0.policy.routes?.isEnforced ?? false && $0.policy.through == nil }
      .flatMap { $0.endpointsPastTheTunnel(on: underlay) }.uniqued().sorted()
    // A kill switch whose policy does not say so blocks these connections too, and so does a guard.
    let answering = tunnels.filter { ($0.level.hasRoutes || $0.isGuarding) && $0.answersByArrival }
    if !answering.isEmpty, active.isEmpty, guarding.allSatisfy(\.answersByArrival) { arrivals = underlay.arrivalLinks }
    if tunnels.contains(where: \.isOfPrograms) { providers = underlay.providers.all }
    // A guard blocks all but its own program.
    if active.isEmpty { providers += programs.outside }
    hasProgramsOutside = !programs.outside.isEmpty
    self.programs = programs.classes.map { tunnel, number in
      let up = tunnels.first { $0.policy.name == tunnel && $0.level.hasRoutes }
      return ProgramClass(mark: Ownership.programMark(number), link: up?.link, servers: up?.policy.ownDNS.servers ?? [])
    }
    .sorted { $0.mark < $1.mark }
    hasKernelTunnel = tunnels.contains { $0.level > .device && $0.isOfKernel }
    ipsec = tunnels.compactMap { if $0.level > .nothing, case .xfrm(let identifier) = $0.device { identifier } else { nil } }.sorted()
    add(active.sorted { $0.guarded.process < $1.guarded.process })
    if guards.isEmpty {
      insides = tunnels.filter {
        $0.takesEverything && ($0.level.hasRoutes || isOpen && $0.isAloneWithItsAddresses(among: tunnels, on: underlay))
      }
      .compactMap(Inside.init)
    }
    for i in insides.indices { insides[i].prefixes = way(into: insides[i].link, among: tunnels) }
    let isUnguarded = guards.isEmpty && gateways.isEmpty && self.programs.isEmpty
    if isUnguarded, arrivals.isEmpty, insides.allSatisfy(\.addresses.isEmpty) { return nil }
  }

  /// The destinations for which a tunnel is a way past the kill switches of others: those that its own policy may include, whatever its
  /// provider does. `nil`: it is one for all.
  private func way(into link: String, among tunnels: [TunnelSetup]) -> PrefixList? {
    guard let tunnel = tunnels.first(where: { $0.link == link }), guards.contains(where: { $0.tunnel != tunnel.policy.name }),
      let prefixes = tunnel.policy.possibleIncludes, !IPAddress.Family.allCases.allSatisfy(prefixes.coverEverything)
    else { return nil }
    let inner = tunnels.filter { $0.policy.through?.name == tunnel.policy.name && $0.isRunning }
    // Packets of a tunnel through this one go to its endpoints, which only programs may know.
    if inner.contains(where: \.endpoints.isEmpty) { return nil }
    return PrefixList((prefixes + inner.flatMap(\.endpoints).map { .host($0) }).ascending)
  }

  /// Adds guards: each blocks everything, the local network too, except through its link or one of our tunnels.
  private mutating func add(_ active: [GuardSetup]) {
    if active.isEmpty { return }
    guards += active.map { Guard(tunnel: "\($0.guarded)", prefixes: [.everything(.v4), .everything(.v6)]) }
    for link in active.flatMap(\.links) where !insides.contains(where: { $0.link == link }) {
      insides.append(Inside(link: link, addresses: []))
    }
    // A program that has ended has nothing to send.
    let running = active.map(\.guarded).filter { $0.heldSince == nil }
    guarded = running.map { GuardedPrograms(group: $0.group, endpoints: $0.endpoints) }
    neighbours = []
    allowsLAN = false
  }
}

extension FirewallTable.Guard {
  fileprivate init?(_ tunnel: TunnelSetup) {
    let prefixes = tunnel.guardedPrefixes
    if prefixes.isEmpty { return nil }
    let dns = tunnel.dns
    self.init(
      tunnel: tunnel.policy.name, prefixes: prefixes, excluded: tunnel.policy.routes?.exclude ?? [],
      hasDNS: !dns.servers.isEmpty && !dns.isSplit)
  }
}

extension FirewallTable.Inside {
  /// Without addresses, only the provider's programs know them.
  fileprivate init?(_ tunnel: TunnelSetup) {
    guard let link = tunnel.link else { return nil }
    self.init(link: link, addresses: tunnel.policy.provider.ownAddresses?.map(\.address) ?? [])
  }
}

extension TunnelSetup {
  /// The included prefixes; without routes, those that the provider reported last. If only an earlier agent knew those: every prefix that
  /// the provider may include.
  fileprivate var guardedPrefixes: PrefixList {
    guard case .installed(var provider) = policy.provider, !level.hasRoutes, provider.settings.included.isEmpty else {
      return includedPrefixes
    }
    var last = self
    provider.settings.included = provider.settings.lastIncluded ?? (followsGuards ? provider.allowance.routes : [])
    last.policy.provider = .installed(provider)
    return last.includedPrefixes
  }

  fileprivate var isOfKernel: Bool {
    switch device {
    case .wireGuard(let device): device.engine == .kernel
    // ESP in UDP.
    case .xfrm: true
    default: false
    }
  }

  fileprivate var isOfPrograms: Bool { policy.isEnabled && policy.provider.opensOwnSockets }

  fileprivate var answersByArrival: Bool { policy.routes?.answersByArrival ?? false }

  fileprivate var takesEverything: Bool { includedPrefixes.coverEverything }

  /// Whether its addresses exist, and nothing else on this machine has them or reaches them: they can be protected before its peer answers,
  /// which it may never do.
  fileprivate func isAloneWithItsAddresses(among tunnels: [TunnelSetup], on underlay: UnderlayFit) -> Bool {
    guard level >= .link else { return false }
    let own = policy.provider.ownAddresses?.map(\.address) ?? []
    let others = tunnels.filter { $0.policy.name != policy.name }.flatMap { $0.policy.provider.ownAddresses?.map(\.address) ?? [] }
    return !own.contains { address in others.contains(address) || underlay.attachedPrefixes.contains { $0.contains(address) } }
  }
}
