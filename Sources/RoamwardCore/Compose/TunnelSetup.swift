import KernelModel
package import NetworkTypes

/// One tunnel on its way to the kernel: its policy, how much of it is wanted, and what the provider has found out.
package struct TunnelSetup: Hashable, Sendable {
  package var policy: TunnelPolicy
  package var level: TunnelMachine.Level
  /// Its place in `Ownership.tables`.
  package var slot: UInt32
  /// The link that carries it; `nil` for a command that names none.
  package var link: String?
  package var device: DesiredLink.Device
  /// What it includes flows through it, or not at all, whatever its level (docs/security.md).
  package var isGuarding: Bool
  /// The machine is on one of the networks that `lan-networks` names. What is not known counts as no.
  package var isOnLANNetwork = false
  /// Its names are not to be asked elsewhere while it is not up.
  package var refusesNames = false
  /// Peers of its WireGuard device are to be given new sessions, so that each has to answer once more.
  package var renewsSessions = false

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

  /// The routing table, and the priority of the rule that leads to it.
  package var table: UInt32 { Ownership.tables.lowerBound + slot }

  /// What becomes of attached prefixes on the network that the machine is on now.
  package var lan: LANPolicy {
    let routes = policy.routes ?? RoutePolicy()
    // Who sends everything through the tunnel wants nothing outside it, unless he says otherwise.
    let said = routes.lan ?? (policy.includesAllNetworks && routes.lanNetworks.isEmpty ? .block : .allow)
    return routes.lanNetworks.isEmpty || isOnLANNetwork ? said : .block
  }

  /// Enterprise tunnels come before personal ones in the order of the rules, and so win where both want a destination.
  package static func slots(for precedence: TunnelClass) -> Range<UInt32> { precedence == .enterprise ? 0..<500 : 500..<1000 }

  /// The lowest slot of its class that nobody has; with 500 running tunnels of a class the last one is shared.
  package static func freeSlot(for precedence: TunnelClass, used: Set<UInt32>) -> UInt32 {
    let all = slots(for: precedence)
    return all.first { !used.contains($0) } ?? all.upperBound - 1
  }

  /// The link's name for a tunnel: its own name where the kernel takes that, else a short form that stays the same.
  package static func linkName(forTunnel name: String) -> String {
    if InterfaceName(name) != nil, name != Ownership.refusalLink { return name }
    let hash = name.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
    return "rw-" + String(hash, radix: 16)
  }
}

/// The underlay as far as tunnels have to fit in.
package struct UnderlayFit: Hashable, Sendable {
  package var mtu: UInt32
  /// What the machine reaches without a gateway, and so without a tunnel.
  package var attachedPrefixes: [IPPrefix]
  /// Those of them that no other network can have given out: of bridges without a hardware port, as containers
  /// and virtual machines have them.
  package var ownPrefixes: Set<IPPrefix>
  package var searchDomains: [DomainName]
  /// The gateway's packets carry no mark when they come in, so a strict check expects them from the tunnel and drops them.
  package var isReversePathStrict: Bool
  /// What other VPNs of this machine route.
  package var others: OtherVPNs
  /// By which way name servers are set here.
  package var resolver: ResolverChoice

  package init(
    _ snapshot: NetworkSnapshot, isReversePathStrict: Bool = false, others: OtherVPNs = OtherVPNs(), resolver: ResolverChoice = .file
  ) {
    self.isReversePathStrict = isReversePathStrict
    self.others = others
    self.resolver = resolver
    mtu = snapshot.primaryLink?.mtu ?? 1500
    let foreign = snapshot.links.filter { !$0.isOfThisMachineAlone }.flatMap(\.attachedPrefixes)
    attachedPrefixes = snapshot.links.flatMap(\.attachedPrefixes).uniqued().sorted()
    ownPrefixes = Set(snapshot.links.filter(\.isOfThisMachineAlone).flatMap(\.attachedPrefixes)).subtracting(foreign)
    searchDomains = snapshot.primaryLink?.searchDomains.value ?? []
  }

  /// What the policy asks for, on this underlay.
  func mtu(_ policy: MTUPolicy) -> UInt32 {
    switch policy {
    case .fixed(let bytes): bytes
    case .overhead(let bytes): mtu(afterOverhead: bytes)
    }
  }

  /// Never below 1280, the least that IPv6 works with.
  func mtu(afterOverhead bytes: UInt32) -> UInt32 { max(mtu, bytes &+ 1280) - bytes }
}

extension LinkFacts {
  /// IPv6 link-local addresses never leave their link; those of IPv4 (RFC 3927) are routed as any others.
  fileprivate var attachedPrefixes: [IPPrefix] {
    addresses.map(\.onLinkPrefix).filter { !($0.family == .v6 && $0.address.isLinkLocal) && !$0.address.isLoopback }
  }

  /// A bridge without a hardware port, by which nothing else is reached. One that leads further is somebody's network.
  fileprivate var isOfThisMachineAlone: Bool { type == .known(.bridge) && gateways.isEmpty }
}
