/// The marks of our kernel objects. Objects with these marks are kept as wanted or removed; no other object is ever changed.
///
/// The numbers avoid those of known products: Tailscale (rules 5210 to 5270, mark bits 0xff0000, table 52), wg-quick (tables and marks from
/// 51820), NetBird (rules 105 and 110, table 7120), Mullvad (mark 0x6d6f6c65), sing-box (rules 9000 to 9010, table 2022); see `KnownVPN`.
package enum Ownership {
  /// `rtm_protocol` of our routes and `FRA_PROTOCOL` of our rules; 82 is the letter R, unassigned in linux/rtnetlink.h.
  package static let routeProtocol: UInt8 = 82

  /// The number of tunnels that can run at a time.
  package static let slots: UInt32 = 1000

  /// Our routing tables. Tunnel number n has the table `tables.lowerBound + n`, and a rule of the same priority; `innerTable(n)` leads the
  /// packets of tunnels inside it into it.
  package static let tables: ClosedRange<UInt32> = 21_000...23_000

  /// The priorities of our rules: those of the tunnels, and before them those for other VPNs' own packets.
  package static let rules: ClosedRange<UInt32> = 20_900...23_000

  /// The firewall mark of the tunnels' own packets, which no tunnel's rule takes. Under `markMask`.
  package static let mark: UInt32 = 0x5200_0000
  package static let markMask: UInt32 = 0xff00_0000

  /// Under this mask, `mark` means the packets that leave outside of every tunnel, and `innerMark(of: nil)` those that go through another
  /// tunnel.
  package static let wayMask: UInt32 = 0xff80_0000

  /// The firewall mark of programs that leave outside of every tunnel. Under `markMask` and `wayMask` it is `mark`.
  package static let outsideMark: UInt32 = mark | 0x0040_0000

  /// The firewall mark of the own packets of tunnels that go through tunnel number n; `nil`: that tunnel is down, and they go nowhere.
  package static func innerMark(of slot: UInt32?) -> UInt32 { mark | 0x0080_0000 | (slot.map { $0 + 1 } ?? 0) }

  /// The firewall mark of programs whose packets go through one tunnel or nowhere. `number`: 1 to 65,535, the same for as long as such a
  /// program runs. Under `wayMask` it is a mark of packets that go through another tunnel, so without a rule of its own they go nowhere.
  package static func programMark(_ number: UInt32) -> UInt32 { mark | 0x00c0_0000 | number & 0xffff }

  /// Whether this is the mark of a program with a route of its own, through a tunnel or outside.
  package static func isProgram(mark: UInt32) -> Bool { mark & programMask == programMark(0) || mark == outsideMark }

  /// Under this mask, all marks of such programs are `programMark(0)`, and `mark` those of tunnels' own packets alone.
  package static let programMask: UInt32 = 0xffc0_0000

  /// The table with the way of such packets into tunnel number n, and the priority of its rule.
  package static func innerTable(of slot: UInt32) -> UInt32 { tables.lowerBound + slots + slot }

  /// The table for such packets that have no other way: they are unreachable.
  package static let lostTable = tables.upperBound

  /// The number of the tunnel that one of our tables, or the priority of a rule, belongs to; `nil`: to none.
  package static func slot(of number: UInt32) -> UInt32? {
    tables.contains(number) && number != lostTable ? (number - tables.lowerBound) % slots : nil
  }

  /// The firewall mark of our name server's questions: they are routed like unmarked packets, and not captured. Under `markMask`.
  package static let nameServerMark: UInt32 = 0x5300_0000

  /// The users whom programs of many share: in their place each tunnel of a provider has one of `providerUsers`, with the user's groups.
  package static let sharedUsers: Set<String> = ["roamward-provider", "nobody"]

  /// User IDs that no account has: systemd's documentation of UID ranges has no use for 0x70000000 to 0x7ffdffff.
  package static let providerUsers: ClosedRange<UInt32> = 0x7100_0000...0x71ff_ffff

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
