package import NetworkTypes

/// What the firewall has to hold back: the situation that docs/security.md calls guarded (or portal). No value of it: open.
package struct FirewallTable: Hashable, Sendable {
  /// A tunnel whose traffic flows through it, or not at all.
  package struct Guard: Hashable, Sendable {
    package var tunnel: String
    /// What may not flow elsewhere.
    package var prefixes: [IPPrefix]
    /// What may flow elsewhere all the same.
    package var excluded: [IPPrefix]
    /// It brings name servers that answer every name.
    package var hasDNS: Bool

    package init(tunnel: String, prefixes: [IPPrefix], excluded: [IPPrefix] = [], hasDNS: Bool = false) {
      self.tunnel = tunnel
      self.prefixes = prefixes
      self.excluded = excluded
      self.hasDNS = hasDNS
    }
  }

  /// A tunnel's link and its own addresses, for which nothing may come in by another link.
  package struct Inside: Hashable, Sendable {
    package var link: String
    package var addresses: [IPAddress]

    package init(link: String, addresses: [IPAddress]) {
      self.link = link
      self.addresses = addresses
    }
  }

  package var guards: [Guard]
  package var insides: [Inside]
  /// Private prefixes that the machine is attached to, where every guarding tunnel lets its neighbours be reached.
  package var neighbours: [IPPrefix]
  package var allowsLAN: Bool
  /// Every prefix that the machine is attached to: where a DHCP server may be asked.
  package var attached: [IPPrefix] = []
  /// For a captive portal; `nil`: closed.
  package var portal: PortalWindow?
  /// Gateways' addresses that nothing but the tunnels' own packets may go to outside, though routes lead there.
  package var gateways: [IPAddress] = []
  /// The kernel's WireGuard carries a tunnel that has a link. Its packets keep the socket, and so the user, of what is inside them.
  package var hasKernelTunnel = false

  package init(
    guards: [Guard] = [], insides: [Inside] = [], neighbours: [IPPrefix] = [], allowsLAN: Bool = false, portal: PortalWindow? = nil
  ) {
    self.guards = guards
    self.insides = insides
    self.neighbours = neighbours
    self.allowsLAN = allowsLAN
    self.portal = portal
  }

  /// The table's family and name, as nft(8) has them.
  package static let name = "inet roamward"

  /// Where neighbours are looked for, under `lan: allow`: link-local multicast (mDNS), SSDP, and the broadcast that no router passes on. In
  /// IPv4 only where there is a local network.
  package var discovery: [IPPrefix] {
    let hasNeighbours = neighbours.contains { $0.family == .v4 }
    return ((hasNeighbours ? ["224.0.0.0/24", "239.255.255.250/32", "255.255.255.255/32"] : []) + ["ff02::/16"]).compactMap { IPPrefix($0) }
  }

  /// Everything of a family is guarded by somebody.
  package func guardsAll(_ family: IPAddress.Family) -> Bool { guards.contains { $0.prefixes.contains(.everything(family)) } }

  /// Everything there is.
  package var guardsAll: Bool { IPAddress.Family.allCases.allSatisfy(guardsAll) }
}

extension IPPrefix {
  /// Prefixes that no network can claim from somebody else (RFC 1918, 3927, 4193, 4291): what LAN traffic may be.
  package static let privatePrefixes: [IPPrefix] = [
    "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "fc00::/7", "fe80::/10",
  ].compactMap { IPPrefix($0) }

  package var isPrivate: Bool { Self.privatePrefixes.contains { $0.contains(self) } }

  /// A policy that includes everything, or everything but some networks, may list it in pieces this wide. A
  /// narrower prefix is named for itself.
  package var isPieceOfEverything: Bool { length < (family == .v4 ? 8 : 16) }
}

extension FirewallTable: CustomStringConvertible {
  /// For people: `what corp includes flows through it or not at all; open to neighbours in 192.168.7.0/24`.
  package var description: String {
    var parts = guards.map { guarded in
      let what = guarded.prefixes.allSatisfy { $0.length == 0 } ? "everything" : guarded.prefixes.map(\.description).joined(separator: ", ")
      return "\(what) flows through \(guarded.tunnel) or not at all"
    }
    let excluded = guards.flatMap(\.excluded)
    if !excluded.isEmpty { parts.append("but for \(excluded.map(\.description).joined(separator: ", "))") }
    if !guards.isEmpty, allowsLAN, !neighbours.isEmpty {
      parts.append("neighbours in \(neighbours.map(\.description).joined(separator: ", ")) are reached")
    }
    if !gateways.isEmpty {
      parts.append("nothing but the tunnels' own packets goes to \(gateways.map(\.description).joined(separator: ", ")) outside")
    }
    if let portal {
      parts.append("the web and DNS are open for a portal" + (portal.programs.map { ", to programs in \($0.name)" } ?? ""))
    }
    let addresses = insides.flatMap(\.addresses)
    if !addresses.isEmpty { parts.append("\(addresses.map(\.description).joined(separator: ", ")) only from inside the tunnel") }
    return parts.joined(separator: "; ")
  }
}
