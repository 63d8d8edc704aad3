package import KernelModel
package import KeyMemory
package import NetworkTypes

/// The marks of the gateway's objects in the kernel. They differ from the agent's (`Ownership`): both may run on a machine, and each leaves
/// the other's objects alone.
package enum GatewayOwnership {
  /// The alias of the link.
  package static let alias = "roamward-gateway"
  /// `rtm_protocol` of the gateway's routes; 83 is unassigned in linux/rtnetlink.h.
  package static let routeProtocol: UInt8 = 83
  /// The metric of the route of a pool into the link. Not 0, which the kernel reads back as another number for IPv6.
  package static let firstMetric: UInt32 = 1
  /// The metric of the route that makes a pool unreachable without its link: the link's own route always wins.
  package static let lastMetric: UInt32 = 4_278_198_272
}

/// The desired state of the kernel: link, peers, addresses, routes and firewall table.
package struct GatewayState: Hashable, Sendable {
  package var link: String
  package var device: WireGuardDevice
  package var mtu: UInt32
  package var addresses: [InterfaceAddress]
  package var routes: [Route]
  package var table: GatewayTable

  /// The desired state at a time; `nil`: the gateway has not been initialised.
  package init?(_ directory: Directory, privateKey: SecretKey, engine: WireGuardEngine, at now: Timestamp) {
    guard let site = directory.site else { return nil }
    link = site.link.description
    let peers = directory.peers(of: directory.devices.values, at: now)
    device = WireGuardDevice(
      engine: engine, privateKey: privateKey, publicKey: site.publicKey, listenPort: site.endpoint.port,
      peers: peers.sorted { $0.publicKey.bytes.lexicographicallyPrecedes($1.publicKey.bytes) })
    let pools = directory.sortedPools
    let everybody = directory.settings(for: .everybody)?.pushed
    mtu = everybody?.mtu ?? 1420
    addresses = pools.compactMap(\.gateway)
    // Addresses make no route of their own. Without the link a pool is unreachable.
    let own = pools.filter { $0.gateway != nil }.map { [link] in
      Route(to: $0.prefix, on: link, metric: GatewayOwnership.firstMetric, routeProtocol: GatewayOwnership.routeProtocol)
    }
    let unreachable = pools.map {
      Route(to: $0.prefix, kind: .unreachable, metric: GatewayOwnership.lastMetric, routeProtocol: GatewayOwnership.routeProtocol)
    }
    routes = own + unreachable
    table = GatewayTable(directory, link: link, at: now)
  }

  /// Whether an address is one of the pools', and of no device that may connect.
  package func isRefused(_ address: IPAddress) -> Bool {
    (table.translated + table.routed).contains { $0.contains(address) } && table.sources[address] == nil
      && !addresses.contains { $0.address == address }
  }
}

/// The steps from the observed state to the desired one, in a safe order: the firewall first (it is no step of the kernel's, see
/// `GatewayTable`), then the link. Empty: no drift.
package struct GatewayPlan: Hashable, Sendable {
  package var steps: [Step] = []
  /// The reason why the link cannot be made; there are no steps then. `nil`: it can.
  package var conflict: String?

  /// `unfinished`: the name of the link that a gateway was making when it died, according to its note. A link of that name without an alias
  /// is the gateway's.
  package init(from kernel: KernelState, _ device: WireGuardState?, to desired: GatewayState, unfinished: String? = nil) {
    let name = desired.link
    let present = kernel.link(named: name)
    let isUnfinished = unfinished == name && present?.alias == nil
    if let present, present.alias != GatewayOwnership.alias, !isUnfinished {
      conflict = "a link named \(name) exists already and is not the gateway's; remove it, or choose another name"
      return
    }
    if present == nil { steps.append(.addWireGuardLink(name, desired.device.engine)) }
    if present?.alias != GatewayOwnership.alias { steps.append(.setAlias(link: name, alias: GatewayOwnership.alias)) }
    if present == nil || !(device.map(desired.device.isSatisfied) ?? false) {
      steps.append(.configureWireGuard(link: name, desired.device))
    }
    if present?.mtu != desired.mtu { steps.append(.setMTU(link: name, mtu: desired.mtu, was: present?.mtu ?? desired.mtu)) }
    let addresses = Set(kernel.addresses.lazy.filter { $0.link == name }.map(\.address))
    for address in addresses.subtracting(desired.addresses).sorted() where !address.address.isLinkLocal {
      steps.append(.removeAddress(address, link: name))
    }
    for address in desired.addresses where !addresses.contains(address) { steps.append(.addAddress(address, link: name)) }
    if present?.isUp != true { steps.append(.setUp(link: name)) }
    let routes = RouteDifference(from: Self.ownRoutes(kernel), to: desired.routes)
    steps += routes.stale.map { .removeRoute($0) } + routes.missing.map { .addRoute($0) }
    for link in kernel.links where link.alias == GatewayOwnership.alias && link.name != name {
      steps.append(.deleteLink(link.name, link.kind == "wireguard" ? .kernel : .userspace))
    }
  }

  /// The steps that remove everything of the gateway's from the kernel.
  package init(cleaning kernel: KernelState) {
    let links = kernel.links.filter { $0.alias == GatewayOwnership.alias }
    steps = links.map { .deleteLink($0.name, $0.kind == "wireguard" ? .kernel : .userspace) }
    // A link takes its routes with it.
    steps += Self.ownRoutes(kernel).filter { route in !links.contains { $0.name == route.link } }.map { .removeRoute($0) }
  }

  private static func ownRoutes(_ kernel: KernelState) -> [Route] {
    kernel.routes.filter { $0.routeProtocol == GatewayOwnership.routeProtocol }
  }
}
