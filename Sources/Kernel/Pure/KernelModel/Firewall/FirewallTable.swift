package import NetworkTypes

/// The content of the kill switch's firewall table: the situation that docs/security-kill-switch.md calls guarded (or portal). Without a
/// table the situation is open.
package struct FirewallTable: Hashable, Sendable {
  /// A tunnel whose included addresses may only flow through it.
  package struct Guard: Hashable, Sendable {
    package var tunnel: String
    /// The prefixes that may not flow outside the tunnel.
    package var prefixes: PrefixList
    /// The prefixes that may flow outside the tunnel all the same.
    package var excluded: PrefixList
    /// Whether the tunnel brings name servers that answer every name.
    package var hasDNS: Bool

    package init(tunnel: String, prefixes: PrefixList, excluded: PrefixList = [], hasDNS: Bool = false) {
      self.tunnel = tunnel
      self.prefixes = prefixes
      self.excluded = excluded
      self.hasDNS = hasDNS
    }
  }

  /// A tunnel's link, which is a way for packets that a kill switch blocks elsewhere.
  package struct Inside: Hashable, Sendable {
    package var link: String
    /// Its own addresses; packets to them may not arrive by another link.
    package var addresses: [IPAddress]
    /// The destinations for which it is a way; `nil`: for all.
    package var prefixes: PrefixList?

    package init(link: String, addresses: [IPAddress], prefixes: PrefixList? = nil) {
      self.link = link
      self.addresses = addresses
      self.prefixes = prefixes
    }
  }

  package var guards: [Guard]
  package var insides: [Inside]
  /// Attached private prefixes that every tunnel with a kill switch allows on the LAN.
  package var neighbours: [IPPrefix]
  package var allowsLAN: Bool
  /// All attached prefixes, where a DHCP server may be reached.
  package var attached: [IPPrefix] = []
  /// The window for a captive portal; `nil`: closed.
  package var portal: PortalWindow?
  /// Gateway addresses that outside the tunnel only the tunnels' own packets may reach, though routes lead there.
  package var gateways: [IPAddress] = []
  /// Whether the kernel's WireGuard or IPsec runs a tunnel with a link. Its packets keep the socket, so the user, of the inner ones.
  package var hasKernelTunnel = false
  /// The numbers (`reqid`) of our IPsec policies, whose packets pass the hook `postrouting` once more before they are encrypted.
  package var ipsec: [UInt32] = []
  /// The control groups of providers whose marked packets may pass, whatever user they run as.
  package var providers: [ProviderGroup] = []
  /// The control groups of guards, whose marked packets may pass to their endpoints.
  package var guarded: [GuardedPrograms] = []
  /// The links of networks by which connections arrive that are answered by the same network, past every tunnel and kill switch.
  package var arrivals: [String] = []
  /// The programs whose packets leave by one tunnel each, or not at all.
  package var programs: [ProgramClass] = []
  /// The programs whose questions to resolvers of this machine go to our own name server; `nil`: there are none.
  package var programNames: ProgramNames?
  /// Whether programs run outside of every tunnel, whose packets have a mark of their own.
  package var hasProgramsOutside = false
  /// The redirection of DNS questions to our own name server, which may pass; `nil`: there is none.
  package var capture: NameCapture?

  package init(
    guards: [Guard] = [], insides: [Inside] = [], neighbours: [IPPrefix] = [], allowsLAN: Bool = false, portal: PortalWindow? = nil
  ) {
    self.guards = guards
    self.insides = insides
    self.neighbours = neighbours
    self.allowsLAN = allowsLAN
    self.portal = portal
  }

  /// The table's family and name, as nft(8) writes them.
  package static let name = "inet \(kernelName)"
  /// The name alone, as the kernel knows it.
  package static let kernelName = "roamward"

  /// The addresses of service discovery under `lan: allow`: link-local multicast (mDNS), SSDP, and the broadcast that no router forwards.
  /// In IPv4 only with a local network.
  package var discovery: [IPPrefix] {
    let hasNeighbours = neighbours.contains { $0.family == .v4 }
    return ((hasNeighbours ? ["224.0.0.0/24", "239.255.255.250/32", "255.255.255.255/32"] : []) + ["ff02::/16"]).compactMap { IPPrefix($0) }
  }

  /// Whether the kill switch covers all addresses of a family.
  package func guardsAll(_ family: IPAddress.Family) -> Bool { guards.contains { $0.prefixes.coverEverything(of: family) } }

  /// Whether the kill switch covers all addresses of both families.
  package var guardsAll: Bool { IPAddress.Family.allCases.allSatisfy(guardsAll) }
}

extension IPPrefix {
  /// The prefixes of private networks (RFC 1918, 3927, 4193, 4291), the only ones that LAN traffic may use. No network can claim them from
  /// another.
  package static let privatePrefixes: [IPPrefix] = [
    "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "fc00::/7", "fe80::/10",
  ].compactMap { IPPrefix($0) }

  package var isPrivate: Bool { Self.privatePrefixes.contains { $0.contains(self) } }

  /// Whether the prefix may be a piece of a policy that includes everything, or everything but some networks. A narrower prefix is named
  /// for itself.
  package var isPieceOfEverything: Bool { length < (family == .v4 ? 8 : 16) }
}

extension FirewallTable {
  /// Whether it only protects the addresses of tunnels: it blocks nothing that would flow without it.
  package var isOpen: Bool { guards.isEmpty && gateways.isEmpty && programs.isEmpty && portal == nil }
}

extension FirewallTable: CustomStringConvertible {
  /// The text for people: `10.0.0.0/8 flows through corp or not at all; neighbours in 192.168.7.0/24 are reached`.
  package var description: String {
    var parts = guards.map { guarded in
      let isEverything = IPAddress.Family.allCases.allSatisfy(guarded.prefixes.coverEverything)
      let what = isEverything ? "everything" : guarded.prefixes.map(\.description).joined(separator: ", ")
      return "\(what) flows through \(guarded.tunnel) or not at all"
    }
    let excluded = guards.flatMap(\.excluded.all)
    if !excluded.isEmpty { parts.append("but for \(excluded.map(\.description).joined(separator: ", "))") }
    if !guards.isEmpty, allowsLAN, !neighbours.isEmpty {
      parts.append("neighbours in \(neighbours.map(\.description).joined(separator: ", ")) are reached")
    }
    if !gateways.isEmpty {
      parts.append("nothing but the tunnels' own packets goes to \(gateways.map(\.description).joined(separator: ", ")) outside")
    }
    if let portal {
      let sites = portal.sites.map { "\($0.map(\.description).joined(separator: ", ")) and DNS are open for a sign-in" }
      parts.append((sites ?? "the web and DNS are open for a portal") + (portal.programs.map { ", to programs in \($0.name)" } ?? ""))
    }
    if !arrivals.isEmpty { parts.append("connections that arrive by \(arrivals.joined(separator: ", ")) are answered there") }
    if let text = ProgramClass.text(of: programs) { parts.append(text) }
    let addresses = insides.flatMap(\.addresses)
    if !addresses.isEmpty { parts.append("\(addresses.map(\.description).joined(separator: ", ")) only from inside the tunnel") }
    return parts.joined(separator: "; ")
  }
}
