package import KernelModel
package import NetworkTypes

/// The objects whose changes can matter, given the last observation. Changes of others (containers' links, their neighbours, other
/// programs' tables) wake no thread.
///
/// A link matters if traffic can pass through it, or if it is ours. Traffic can pass if it has an address that is more than link-local, or
/// a route of the main table. Such addresses and routes are received for every link, so no link begins to matter unnoticed.
package struct EventInterest: Equatable, Sendable {
  /// Links whose every change counts.
  package var links: Set<InterfaceIndex>
  /// Links whose ports count too: their type follows from their ports.
  package var masters: Set<InterfaceIndex>
  /// Names that tunnels need: a link that gets one of them counts.
  package var names: Set<String>
  /// Gateways by link, with their last known hardware address.
  package var gateways: [InterfaceIndex: [IPAddress: MACAddress?]]
  /// The links of `links` that have one of the names.
  private var named: Set<InterfaceIndex> = []

  package init(
    links: Set<InterfaceIndex> = [], masters: Set<InterfaceIndex> = [], names: Set<String> = [],
    gateways: [InterfaceIndex: [IPAddress: MACAddress?]] = [:]
  ) {
    self.links = links
    self.masters = masters
    self.names = names
    self.gateways = gateways
  }

  /// `names`: of the links that tunnels need. `hearsGateways`: the gateways' hardware addresses are needed.
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
    var ways: [Link] = []
    for link in kernel.links where !link.isLoopback {
      if inUse.contains(link.name) || Ownership.tunnel(ofAlias: link.alias) != nil { links.insert(link.index) }
      if names.contains(link.name) { named.insert(link.index) }
      if let gateways = gatewaysByName[link.name] {
        ways.append(link)
        if hearsGateways, !gateways.isEmpty { self.gateways[link.index] = gateways }
      }
    }
    addWhatCarries(ways, kernel.links)
  }

  /// Adds links with a gateway and their lower links: the type of a bond, a bridge or a VLAN follows from the links below it, at any depth.
  private mutating func addWhatCarries(_ ways: [Link], _ all: [Link]) {
    let ports = Dictionary(grouping: all) { $0.master }
    var open = ways
    var carrying = Set(ways.map(\.index))
    while let link = open.popLast() {
      if link.mayHavePorts { masters.insert(link.index) }
      // The other end of a veth carries nothing.
      let lower = link.kind == "veth" ? nil : link.lower
      let below = (ports[link.index] ?? []) + all.filter { $0.index == lower }
      for link in below where carrying.insert(link.index).inserted { open.append(link) }
    }
    links.formUnion(carrying)
  }

  /// Whether this one includes everything that counts for the other one. The events of a link with one of the names are received before its
  /// index is known.
  package func covers(_ other: EventInterest) -> Bool {
    names.isSuperset(of: other.names) && links.union(other.named).isSuperset(of: other.links) && masters.isSuperset(of: other.masters)
      && other.gateways.allSatisfy { link, gateways in
        gateways.allSatisfy { address, hardware in self.gateways[link]?[address].map { $0 == nil || $0 == hardware } ?? false }
      }
  }
}

extension Link {
  /// Whether other links can be its ports. Those of hardware, and the ends of a veth, never have any.
  fileprivate var mayHavePorts: Bool { kind != nil && kind != "veth" }
}
