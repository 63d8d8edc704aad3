import NetworkTypes

// Links whose packets leave by other links of the machine.
extension Link {
  /// Kinds (`IFLA_INFO_KIND`) whose packets a program carries: the kernel hands them over to the program, or to the program's sockets.
  private static let kindsOfPrograms: Set<String> = ["tun", "ppp", "ovpn", "ovpn-dco"]

  /// Kinds that are tunnels. All others lead to the network itself, or to containers and virtual machines.
  private static let kindsOfTunnels = kindsOfPrograms.union([
    "wireguard", "amneziawg", "xfrm", "vti", "vti6", "gre", "gretap", "ip6gre", "ip6gretap", "ipip", "sit", "ip6tnl", "l2tpeth", "fou",
    "vxlan",
  ])

  /// ARPHRD_PPP of linux/if_arp.h: a link that pppd(8) has made by its older interface has no kind.
  private static let pointToPointProtocol: UInt16 = 512
  /// ARPHRD_NONE: a TUN link, not a TAP link, which is the cable of a virtual machine.
  private static let headerless: UInt16 = 65534

  /// Kinds of which nothing comes out, in the order in which one is made: a dummy link, and a link for traffic control (the "intermediate
  /// functional block"), which drops all that tc(8) has not redirected to it. Small kernels have the second alone.
  package static let kindsToNowhere = ["dummy", "ifb"]

  /// Whether nothing comes out of a link of its kind.
  package var leadsNowhere: Bool { kind.map(Self.kindsToNowhere.contains) ?? false }

  /// Whether a program carries its packets, by its kind.
  package var isOfProgram: Bool { isOf(Self.kindsOfPrograms) }

  /// Whether its kind is that of a tunnel.
  package var isOfTunnelKind: Bool { isOf(Self.kindsOfTunnels) }

  private func isOf(_ kinds: Set<String>) -> Bool { kind.map(kinds.contains) ?? (hardwareType == Self.pointToPointProtocol) }

  /// Whether the link is a tunnel of a VPN, from its kind.
  package var isTunnel: Bool {
    switch kind {
    case "wireguard", "amneziawg", "ovpn", "xfrm", "vti", "vti6", "ppp": true
    case "tun": hardwareType == Self.headerless
    default: false
    }
  }
}

extension KernelState {
  /// Whether the link carries its packets over another link, or nowhere: it is a tunnel, or translates IPv4 (``isTranslator(_:)``). The
  /// underlay lies below.
  package func isOverlay(_ link: Link) -> Bool {
    isTranslator(link) || (link.kind == "tun" ? link.isTunnel : link.isOfTunnelKind || link.leadsNowhere)
  }

  /// Whether the link is the IPv4 side of 464XLAT (RFC 6877), by which a host has IPv4 in a network of IPv6 alone. It is known by an
  /// address in 192.0.0.0/29, which RFC 7335 reserves for this, or by the name that clatd(8) gives it.
  package func isTranslator(_ link: Link) -> Bool {
    link.name.hasPrefix("clat") || addresses.contains { $0.link == link.name && $0.address.address.isOfTranslator }
  }
}

extension IPAddress {
  fileprivate var isOfTranslator: Bool { family == .v4 && low >> 3 == 0xc000_0000 >> 3 }
}
