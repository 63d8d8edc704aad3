package import KernelModel
package import NetworkTypes

/// The input for one tunnel's desired state: its policy, its level, and the result of its provider.
package struct TunnelSetup: Hashable, Sendable {
  package var policy: TunnelPolicy
  package var level: TunnelMachine.Level
  /// The tunnel's index in `Ownership.tables`.
  package var slot: UInt32
  /// The tunnel's link; `nil` for a command that names none.
  package var link: String?
  package var device: DesiredLink.Device
  /// Whether the kill switch blocks the included addresses outside the tunnel, at every level (docs/security-kill-switch.md).
  package var isGuarding: Bool
  /// Whether an earlier agent's kill switch was active: what its provider had brought is not known.
  package var followsGuards = false
  /// Whether the machine is on one of the networks in `lan-networks`. An unknown fact counts as no.
  package var isOnLANNetwork = false
  /// Whether the tunnel's names must not be resolved elsewhere while it is down.
  package var refusesNames = false
  /// Whether peers of the WireGuard device get new sessions, so that each has to complete a handshake again.
  package var renewsSessions = false
  /// Whether the WireGuard device sends nothing by itself: the tunnel is armed.
  package var isSilent = false
  /// Whether it is in any state but down: its programs may run, and its slot is its own.
  package var isRunning = false
  /// The state of the tunnel for look-ups of its names.
  package var progress = NameWatch.Progress.down
  /// The program that has the tunnel's UDP port, so that it listens at another one, as a sentence; `nil`: none.
  package var portHolder: String?
  /// The names whose look-ups start it, under the present decision.
  package var watch: NameWatch?
  /// The addresses of names that go through it, or past it.
  package var byName = PrefixesByName()

  package init(
    policy: TunnelPolicy, level: TunnelMachine.Level, slot: UInt32, link: String?, device: DesiredLink.Device, isGuarding: Bool = false
  ) {
    self.policy = policy
    self.level = level
    self.slot = slot
    self.link = link
    self.device = device
    self.isGuarding = isGuarding
  }

  /// The number of the routing table, and the priority of the rule that selects it.
  package var table: UInt32 { Ownership.tables.lowerBound + slot }

  /// The LAN policy on the current network.
  package var lan: LANPolicy {
    let routes = policy.routes ?? RoutePolicy()
    // A tunnel that includes all networks allows nothing outside it, unless the policy says otherwise.
    let said = routes.lan ?? (policy.includesAllNetworks && routes.lanNetworks.isEmpty ? .block : .allow)
    return routes.lanNetworks.isEmpty || isOnLANNetwork ? said : .block
  }

  /// The lowest free slot of a tunnel; with as many running tunnels as it may have slots, the last one is shared. One that starts again
  /// keeps its slot.
  package static func freeSlot(for policy: TunnelPolicy, used: Set<UInt32>, keeping kept: UInt32? = nil) -> UInt32 {
    let all = policy.slots
    if let kept, all.contains(kept), !used.contains(kept) { return kept }
    return all.first { !used.contains($0) } ?? all.upperBound - 1
  }

  /// The link name for a tunnel: the tunnel's name if the kernel accepts it, else a short form that stays the same.
  package static func linkName(forTunnel name: String) -> String {
    if InterfaceName(name) != nil, name != Ownership.refusalLink { return name }
    let hash = name.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
    return "rw-" + String(hash, radix: 16)
  }
}

extension TunnelPolicy {
  /// The slots that the tunnel may get when it starts. Their order is that of the rules, so the first of several tunnels that include a
  /// destination wins: enterprise tunnels before personal ones, and of these such that take a part of the addresses before such that take
  /// everything.
  package var slots: Range<UInt32> {
    let all = slotsOfClass
    let middle = (all.lowerBound + all.upperBound) / 2
    return precedence == .enterprise ? all : takesPart ? all.lowerBound..<middle : middle..<all.upperBound
  }

  /// The slots of all tunnels of its class: a running tunnel keeps its slot among them.
  package var slotsOfClass: Range<UInt32> { precedence == .enterprise ? 0..<500 : 500..<1000 }

  /// Whether it is known before the tunnel starts that it includes less than all addresses of each family.
  package var takesPart: Bool {
    guard let known = knownIncludes, !known.isEmpty || routes?.includeDomains.isEmpty == false else { return false }
    return !known.coverEverything
  }
}

extension [TunnelSetup] {
  /// The order in which tunnels win names that several claim: that of their slots, but of personal ones such that take everything, names
  /// too, come first.
  var inOrderOfNames: [TunnelSetup] {
    let ranked = map { tunnel in
      (tunnel.policy.precedence == .enterprise ? 0 : !tunnel.dns.isSplit && !tunnel.policy.takesPart ? 1 : 2, tunnel)
    }
    return ranked.sorted { ($0.0, $0.1.slot) < ($1.0, $1.1.slot) }.map(\.1)
  }
}

/// The properties of the underlay that tunnels depend on.
package struct UnderlayFit: Equatable, Sendable {
  package var mtu: UInt32
  /// The MTUs of links that may be an outer tunnel's (``KernelState/outerMTUs(for:)``).
  package var outerMTUs: [String: UInt32] = [:]
  /// The prefixes that the machine reaches without a gateway, and so without a tunnel.
  package var attachedPrefixes: [IPPrefix]
  /// The attached prefixes that no other network can have assigned: those of bridges without a hardware port, as container and virtual
  /// machine managers create them.
  package var ownPrefixes: Set<IPPrefix>
  /// The bridges of this machine alone, with containers and virtual machines behind them.
  package var guests: [NameCapture.Guest]
  /// The links of networks with a gateway, by which strangers reach this machine.
  package var arrivalLinks: [String]
  package var searchDomains: [DomainName]
  /// The network's own name servers, or a resolver on this machine that asks them.
  package var nameServers: [IPAddress]
  /// A text that differs between networks, as far as that is known without asking the network.
  package var place: String
  /// Whether reverse path filtering is strict. Packets from the gateway carry no mark when they arrive, so a strict check expects them from
  /// the tunnel and drops them.
  package var isReversePathStrict: Bool
  /// Families that this machine has switched off.
  package var familiesOff: Set<IPAddress.Family> = []
  /// The routes and rules of other VPNs on this machine.
  package var others: OtherVPNs
  /// The DNS backend of this host.
  package var resolver: ResolverChoice
  /// Whether sockets of the tunnels' programs are marked.
  package var providers: ProviderGroupState

  package init(
    _ snapshot: NetworkSnapshot, isReversePathStrict: Bool = false, others: OtherVPNs = OtherVPNs(), resolver: ResolverChoice = .file,
    providers: ProviderGroupState = .unexamined, outerMTUs: [String: UInt32] = [:], familiesOff: Set<IPAddress.Family> = []
  ) {
    self.familiesOff = familiesOff
    self.providers = providers
    self.outerMTUs = outerMTUs
    self.isReversePathStrict = isReversePathStrict
    self.others = others
    self.resolver = resolver
    mtu = snapshot.primaryLink?.mtu ?? 1500
    let foreign = snapshot.links.filter { !$0.isOfThisMachineAlone }.flatMap(\.attachedPrefixes)
    attachedPrefixes = snapshot.links.flatMap(\.attachedPrefixes).uniqued().sorted()
    ownPrefixes = Set(snapshot.links.filter(\.isOfThisMachineAlone).flatMap(\.attachedPrefixes)).subtracting(foreign)
    guests = snapshot.links.filter(\.isOfThisMachineAlone).compactMap(NameCapture.Guest.init)
    arrivalLinks = snapshot.links.filter { !$0.gateways.isEmpty }.map { "\($0.name)" }.sorted()
    searchDomains = snapshot.primaryLink?.searchDomains.value ?? []
    nameServers = resolver.localServers.isEmpty ? snapshot.primaryLink?.dnsServers.value ?? [] : resolver.localServers
    let ssid = snapshot.primaryLink?.ssid.value.flatMap { $0 }.map { "\($0)" }
    let words = [snapshot.primaryLink?.name, ssid].compactMap { $0 } + (snapshot.primaryLink?.gateways ?? []).map(\.description)
    place = words.joined(separator: " ")
  }

  /// The MTU of the policy, on this underlay.
  func mtu(_ policy: MTUPolicy) -> UInt32 {
    switch policy {
    case .fixed(let bytes): bytes
    case .overhead(let bytes): mtu(afterOverhead: bytes)
    }
  }

  /// The MTU minus the overhead, but at least 1280, the minimum of IPv6.
  func mtu(afterOverhead bytes: UInt32) -> UInt32 { max(mtu, bytes &+ 1280) - bytes }
}

extension NameCapture.Guest {
  /// `nil`: the link has no address that guests could ask.
  fileprivate init?(_ link: LinkFacts) {
    let usable = link.addresses.map(\.address).filter { !$0.isLinkLocal && !$0.isLoopback }
    let addresses = IPAddress.Family.allCases.compactMap { family in usable.first { $0.family == family } }
    if addresses.isEmpty { return nil }
    self.init(link: "\(link.name)", addresses: addresses, prefixes: link.attachedPrefixes.uniqued().sorted(), device: link.device)
  }
}

extension LinkFacts {
  /// The attached prefixes of the link. IPv6 link-local addresses never leave their link; those of IPv4 (RFC 3927) are routed like any
  /// others.
  fileprivate var attachedPrefixes: [IPPrefix] {
    addresses.map(\.onLinkPrefix).filter { !($0.family == .v6 && $0.address.isLinkLocal) && !$0.address.isLoopback }
  }

  /// Whether the link is a bridge without a hardware port and without a gateway. A bridge with a gateway belongs to a real network.
  fileprivate var isOfThisMachineAlone: Bool { type == .known(.bridge) && gateways.isEmpty }
}
