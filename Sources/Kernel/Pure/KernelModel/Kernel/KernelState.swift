package import NetworkTypes

/// The kernel's network objects as rtnetlink reports them, at one moment, in one network namespace.
package struct KernelState: Equatable, Sendable {
  package var links: [Link]
  package var addresses: [LinkAddress]
  /// Routes of the main table, those that carry our protocol number, and those of other VPNs' own tables.
  package var routes: [Route]
  package var rules: [RoutingRule]
  package var neighbours: [Neighbour]

  package init(
    links: [Link] = [], addresses: [LinkAddress] = [], routes: [Route] = [], rules: [RoutingRule] = [], neighbours: [Neighbour] = []
  ) {
    self.links = links
    self.addresses = addresses
    self.routes = routes
    self.rules = rules
    self.neighbours = neighbours
  }

  package func link(named name: String) -> Link? { links.first { $0.name == name } }
}

/// A network device (`struct ifinfomsg` and its attributes).
package struct Link: Equatable, Sendable {
  package var index: InterfaceIndex
  package var name: String
  /// `IFLA_INFO_KIND`: `veth`, `bridge`, `wireguard`, `tun` …; `nil` for hardware.
  package var kind: String?
  /// `ARPHRD_*` of linux/if_arp.h.
  package var hardwareType: UInt16
  /// `IFF_*` of linux/if.h.
  package var flags: UInt32
  package var mtu: UInt32
  package var address: MACAddress?
  package var master: InterfaceIndex?
  package var alias: String?
  /// `IFLA_LINK`: the link that a VLAN or MACVLAN lies on, in the same namespace.
  package var lower: InterfaceIndex?
  /// The active port of a bond in a mode with one (`IFLA_BOND_ACTIVE_SLAVE`).
  package var activePort: InterfaceIndex?
  /// Whether a bond's port is not used now (`IFLA_BOND_SLAVE_STATE`).
  package var isBackup = false
  /// Distinguishes it from other devices of the same index (`LinkGenerations`); 0 if it was not determined.
  package var generation: UInt32 = 0

  package init(
    index: InterfaceIndex, name: String, kind: String? = nil, hardwareType: UInt16 = 1, flags: UInt32 = 0, mtu: UInt32 = 1500,
    address: MACAddress? = nil, master: InterfaceIndex? = nil, alias: String? = nil
  ) {
    self.index = index
    self.name = name
    self.kind = kind
    self.hardwareType = hardwareType
    self.flags = flags
    self.mtu = mtu
    self.address = address
    self.master = master
    self.alias = alias
  }

  package var device: DeviceIdentity { DeviceIdentity(index: index, generation: generation) }

  /// `IFF_UP`: the administrator has set it up.
  package var isUp: Bool { flags & 0x1 != 0 }
  /// `IFF_LOWER_UP`: it has carrier. (A TUN link's operstate is UNKNOWN when it is fully up, so that is not asked.)
  package var hasCarrier: Bool { flags & 0x10000 != 0 }
  /// Not `IFF_NOARP`: the link resolves hardware addresses of neighbours.
  package var resolvesNeighbours: Bool { flags & 0x80 == 0 }
  package var isLoopback: Bool { flags & 0x8 != 0 }
}

/// An address on a link (`struct ifaddrmsg`).
package struct LinkAddress: Hashable, Sendable {
  package var link: String
  package var address: InterfaceAddress
  /// `IFA_F_*` of linux/if_addr.h: deprecated, tentative …
  package var flags: UInt32

  package init(link: String, address: InterfaceAddress, flags: UInt32 = 0) {
    self.link = link
    self.address = address
    self.flags = flags
  }
}

/// A neighbour entry (`struct ndmsg`).
package struct Neighbour: Equatable, Sendable {
  package var link: String
  package var address: IPAddress
  package var macAddress: MACAddress?

  package init(link: String, address: IPAddress, macAddress: MACAddress?) {
    self.link = link
    self.address = address
    self.macAddress = macAddress
  }
}
