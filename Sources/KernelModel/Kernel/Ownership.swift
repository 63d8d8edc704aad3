/// The marks of our kernel objects. Objects with these marks are kept as wanted or removed; no other object is ever changed.
///
/// The numbers avoid those of known products: Tailscale (rules 5210 to 5270, mark bits 0xff0000, table 52), wg-quick (tables and marks from
/// 51820), NetBird (rules 105 and 110, table 7120), Mullvad (mark 0x6d6f6c65), sing-box (rules 9000 to 9010, table 2022); see `KnownVPN`.
package enum Ownership {
  /// `rtm_protocol` of our routes and `FRA_PROTOCOL` of our rules; 82 is the letter R, unassigned in linux/rtnetlink.h.
  package static let routeProtocol: UInt8 = 82

  /// The routing tables of tunnels: tunnel number n has the table `tables.lowerBound + n`, and a rule of the same priority.
  package static let tables: ClosedRange<UInt32> = 21_000...21_999

  /// The priorities of our rules: those of the tunnels, and before them those for other VPNs' own packets.
  package static let rules: ClosedRange<UInt32> = 20_900...21_999

  /// The firewall mark of the tunnels' own packets, which stay outside every tunnel.
  package static let mark: UInt32 = 0x5200_0000
  package static let markMask: UInt32 = 0xff00_0000

  /// The firewall mark of our name server's questions: they are routed like unmarked packets, and not captured. Under `markMask`.
  package static let nameServerMark: UInt32 = 0x5300_0000

  /// The prefix of a link's alias (`IFLA_IFALIAS`), before the tunnel's name.
  package static let aliasPrefix = "roamward:"

  package static func alias(ofTunnel name: String) -> String { aliasPrefix + name }

  /// The tunnel that a link belongs to, by its alias.
  package static func tunnel(ofAlias alias: String?) -> String? {
    guard let alias, alias.hasPrefix(aliasPrefix) else { return nil }
    return String(alias.dropFirst(aliasPrefix.count))
  }

  /// The link for the names of tunnels that are down, if their policies say `when-down: refuse`; and the text in its alias in place of a
  /// tunnel, which no tunnel can have as a name.
  package static let refusalLink = "roamward-refuse"
  package static let refusalOwner = "(refused names)"

  /// First line of a resolv.conf that we wrote.
  package static let resolvConfMarker = "# Written by roamward; the file that stood here comes back when the tunnel goes down."
}
