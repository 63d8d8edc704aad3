package import KernelModel
package import NetworkTypes

/// Whose changes can matter, given what was seen last. Everything else may come and go (containers' links, their neighbours, other
/// programs' tables) without anybody being woken.
///
/// A link matters once something can go through it: it has an address that is more than link-local, or a route of the main table; or it is
/// ours. Such addresses and routes are heard of on every link, so no link begins to matter unheard.
package struct EventInterest: Hashable, Sendable {
  /// Links whose every change counts.
  package var links: Set<InterfaceIndex>
  /// Links whose ports count too: what they are is judged by what they are made of.
  package var masters: Set<InterfaceIndex>
  /// A link that gets one of these names counts: tunnels want them.
  package var names: Set<String>
  /// Gateways by link, with the hardware address that was seen last.
  package var gateways: [InterfaceIndex: [IPAddress: MACAddress?]]

  package init(
    links: Set<InterfaceIndex> = [], masters: Set<InterfaceIndex> = [], names: Set<String> = [],
    gateways: [InterfaceIndex: [IPAddress: MACAddress?]] = [:]
  ) {
    self.links = links
    self.masters = masters
    self.names = names
    self.gateways = gateways
  }

  /// `names`: of the links that tunnels want. `hearsGateways`: somebody needs the gateways' hardware addresses.
  package init(_ kernel: KernelState, names: Set<String>, hearsGateways: Bool = true) {
    self.init(names: names)
    var inUse = names
    for address in kernel.addresses where !address.address.address.isLinkLocal { inUse.insert(address.link) }
    var gatewaysByName: [String: [IPAddress: MACAddress?]] = [:]
    for route in kernel.routes where route.table == Route.mainTable && !route.destination.address.isLinkLocal {
      guard let link = route.link else { continue }
      inUse.insert(link)
      if route.destination.length == 0 {
        gatewaysByName[link, default: [:]].merge(route.gateway.map { [$0: nil] } ?? [:]) { first, _ in first }
      }
    }
    for neighbour in kernel.neighbours where gatewaysByName[neighbour.link]?[neighbour.address] != nil {
      gatewaysByName[neighbour.link]?[neighbour.address] = .some(neighbour.macAddress)
    }
    for link in kernel.links where !link.isLoopback {
      if inUse.contains(link.name) || Ownership.tunnel(ofAlias: link.alias) != nil { links.insert(link.index) }
      if let gateways = gatewaysByName[link.name] {
        masters.insert(link.index)
        if hearsGateways, !gateways.isEmpty { self.gateways[link.index] = gateways }
      }
    }
    addWhatCarries(kernel.links)
  }

  /// What a bond, a bridge or a VLAN is follows from what is below it, whatever that lies on in its turn.
  private mutating func addWhatCarries(_ all: [Link]) {
    let ports = Dictionary(grouping: all) { $0.master }
    var open = all.filter { masters.contains($0.index) }
    while let link = open.popLast() {
      // The other end of a virtual cable carries nothing.
      let lower = link.kind == "veth" ? nil : link.lower
      let below = (ports[link.index] ?? []) + all.filter { $0.index == lower }
      for link in below where masters.insert(link.index).inserted { open.append(link) }
    }
    links.formUnion(masters)
  }

  /// Whether everything that counts for the other one counts for this one too.
  package func covers(_ other: EventInterest) -> Bool {
    links.isSuperset(of: other.links) && masters.isSuperset(of: other.masters) && names.isSuperset(of: other.names)
      && other.gateways.allSatisfy { link, gateways in
        gateways.allSatisfy { address, hardware in self.gateways[link]?[address].map { $0 == nil || $0 == hardware } ?? false }
      }
  }
}
