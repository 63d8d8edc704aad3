package import KernelModel

/// A VPN product, identified by its kernel objects: the numbers that it is known to use.
struct KnownVPN {
  let name: String
  /// The mark of its own packets.
  var mark: FirewallMark?
  var table: UInt32?
  /// The priorities of its rules, including those that name neither its mark nor its table.
  var priorities: ClosedRange<UInt32>?
  /// The prefixes of its link names.
  var links: [String] = []
  /// Its nftables table.
  var firewallTable: String?

  /// Known products, from their sources and manuals. The numbers of wg-quick count up from the first free one, so its rules are identified
  /// by their form (`isLikeWgQuick`).
  static let all = [
    KnownVPN(name: "Tailscale", mark: FirewallMark(0x80000, mask: 0xff0000), table: 52, priorities: 5200...5299, links: ["tailscale"]),
    KnownVPN(name: "NetBird", mark: FirewallMark(0x1bd00), table: 7120, links: ["wt0"]),
    KnownVPN(name: "Mullvad", mark: FirewallMark(0x6d6f_6c65), table: 0x6d6f_6c65, links: ["wg0-mullvad"], firewallTable: "inet mullvad"),
    KnownVPN(name: "NordVPN", mark: FirewallMark(0xe1f1), table: 205, links: ["nordlynx"]),
    KnownVPN(name: "Cloudflare WARP", mark: FirewallMark(0x100cf), table: 65743, links: ["CloudflareWARP"]),
    KnownVPN(name: "sing-box", table: 2022, priorities: 9000...9010),
    KnownVPN(name: "Nebula", links: ["nebula"]),
    KnownVPN(name: "ZeroTier", links: ["zt"]),
  ]

  func owns(_ rule: RoutingRule) -> Bool {
    if let table, rule.table == table { return true }
    return mark.map { $0 == rule.firewallMark } ?? false
  }

  func owns(link name: String) -> Bool { links.contains { name.hasPrefix($0) } }
}

extension RoutingRule {
  package var firewallMark: FirewallMark? { mask == 0 ? nil : FirewallMark(mark, mask: mask) }

  /// Whether the rule is `not fwmark N lookup N`: the default route of wg-quick, and of NetworkManager for its WireGuard links.
  var isLikeWgQuick: Bool { isInverted && mask == .max && mark == table && mark != 0 }

  /// Whether the rule leads all packets except its owner's to a table of its own.
  var isDetour: Bool { isInverted && mask != 0 && table > 0 && !(253...255).contains(table) }
}

extension ClosedTable {
  /// The product that owns the table, if its name tells.
  package var product: String? { KnownVPN.all.first { $0.firewallTable == name }?.name }
}
