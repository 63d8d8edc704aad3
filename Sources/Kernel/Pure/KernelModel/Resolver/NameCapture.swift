package import NetworkTypes

/// The redirection of DNS questions to our own name server, whatever server a program asks (`names: capture`): a table of nftables beside
/// that of the kill switch. It concerns port 53 alone, so neither DNS over TLS nor DNS over HTTPS.
package struct NameCapture: Hashable, Sendable {
  /// A bridge of this machine alone, behind which containers and virtual machines are.
  package struct Guest: Hashable, Sendable {
    package var link: String
    /// This machine's own addresses on it, at most one of each family: our name server listens there.
    package var addresses: [IPAddress]
    /// The prefixes behind it. Name servers in them are this machine's own.
    package var prefixes: [IPPrefix]
    /// Sockets that are bound to the link belong to its device, and not to another one of that name.
    package var device: DeviceIdentity?

    package init(link: String, addresses: [IPAddress], prefixes: [IPPrefix], device: DeviceIdentity? = nil) {
      self.link = link
      self.addresses = addresses
      self.prefixes = prefixes
      self.device = device
    }
  }

  package var guests: [Guest]
  /// Links of tunnels and of other VPNs. The name servers with private addresses behind them are asked directly.
  package var tunnelLinks: [String]
  /// Marks of other VPNs' own packets.
  package var marks: [FirewallMark]

  package init(guests: [Guest] = [], tunnelLinks: [String] = [], marks: [FirewallMark] = []) {
    self.guests = guests
    self.tunnelLinks = tunnelLinks
    self.marks = marks
  }

  /// The table's family and name, as nft(8) writes them.
  package static let kernelName = "roamward-names"
  package static let name = "inet \(kernelName)"

  /// The port at which our name server gets captured questions. Port 53 of `::1` and of bridges is often taken.
  package static let port: UInt16 = 20_953

  /// The addresses for programs of this host; no packet to them leaves the machine.
  package static let ownAddresses = [NameServerSettings.address, IPAddress(family: .v6, high: 0, low: 1)]
}

extension NameCapture {
  /// The nft(8) transaction that replaces any existing table of this name.
  package var transaction: String {
    "table \(Self.name)\ndelete table \(Self.name)\n"
      + "table \(Self.name) {\n  comment \"roamward \(digest)\"\n" + chains.map { $0 + "\n" }.joined() + "}\n"
  }

  package static let removal = "table \(name)\ndelete table \(name)\n"

  /// A digest that identifies this content. The table carries it as its comment.
  package var digest: String { String(FNV1a(chains.joined(separator: "\n")).value, radix: 16) }

  private var chains: [String] {
    var chains = [
      Self.chain("output", "type nat hook output priority -100", output),
      Self.chain("postrouting", "type filter hook postrouting priority filter", Self.leaving),
    ]
    if !guests.isEmpty { chains.insert(Self.chain("prerouting", "type nat hook prerouting priority -100", prerouting), at: 1) }
    return chains
  }

  private static func chain(_ name: String, _ hook: String, _ rules: [String]) -> String {
    "  chain \(name) {\n    \(hook); policy accept;\n" + rules.map { "    \($0)\n" }.joined() + "  }"
  }

  private static let questions = "meta l4proto { tcp, udp } th dport 53"

  /// Questions of this host's programs. A packet to one of this host's own addresses leaves by `lo`: local resolvers are asked as they are,
  /// and their own questions are captured.
  private var output: [String] {
    let ours = [Ownership.mark, Ownership.nameServerMark].map { FirewallMark($0, mask: Ownership.markMask) }
    return ["oifname \"lo\" return"] + (ours + marks).map { "\(Self.match($0)) return" } + direct + besideGuests
      + Self.ownAddresses.map { Self.redirection(to: $0) }
  }

  /// Name servers inside tunnels and other VPNs: nothing of such a question is outside, and they know names that others do not.
  private var direct: [String] {
    if tunnelLinks.isEmpty { return [] }
    let links = "oifname { \(tunnelLinks.map { "\"\($0)\"" }.joined(separator: ", ")) }"
    return [
      "\(links) ip daddr { 10.0.0.0/8, 100.64.0.0/10, 172.16.0.0/12, 192.168.0.0/16 } return", "\(links) ip6 daddr fc00::/7 return",
    ]
  }

  /// Name servers in containers.
  private var besideGuests: [String] {
    IPAddress.Family.allCases.compactMap { family in
      let prefixes = guests.flatMap(\.prefixes).filter { $0.family == family }.uniqued().sorted()
      // nft refuses intervals that overlap; a prefix directly follows one that contains it.
      var kept: [IPPrefix] = []
      for prefix in prefixes where kept.last.map({ !$0.contains(prefix) }) ?? true { kept.append(prefix) }
      if kept.isEmpty { return nil }
      return "\(Self.word(family)) daddr { \(kept.map(\.description).joined(separator: ", ")) } return"
    }
  }

  /// Questions that are forwarded.
  private var prerouting: [String] {
    ["fib daddr type local return"] + besideGuests
      + guests.flatMap { guest in guest.addresses.map { "iifname \"\(guest.link)\" \(Self.redirection(to: $0))" } }
  }

  /// A program that has bound its socket to a link cannot reach the loopback addresses. Its questions must not leave with such a
  /// destination either.
  private static let leaving = ownAddresses.map { "oifname != \"lo\" \(word($0.family)) daddr \($0) counter drop" }

  private static func redirection(to address: IPAddress) -> String {
    let target = address.family == .v4 ? "\(address):\(port)" : "[\(address)]:\(port)"
    return "meta nfproto \(address.family == .v4 ? "ipv4" : "ipv6") \(questions) dnat \(word(address.family)) to \(target)"
  }

  private static func match(_ mark: FirewallMark) -> String {
    mark.mask == .max
      ? "meta mark 0x\(String(mark.value, radix: 16))"
      : "meta mark & 0x\(String(mark.mask, radix: 16)) == 0x\(String(mark.value, radix: 16))"
  }

  private static func word(_ family: IPAddress.Family) -> String { family == .v4 ? "ip" : "ip6" }
}

extension NameCapture: CustomStringConvertible {
  /// The text for people: `DNS (port 53) of this host and behind docker0 goes to roamward-names, except servers inside corp`.
  package var description: String {
    let behind = guests.isEmpty ? "" : " and behind \(guests.map(\.link).joined(separator: ", "))"
    let direct = tunnelLinks.isEmpty ? "" : ", except private addresses inside \(tunnelLinks.joined(separator: ", "))"
    return "DNS (port 53) of this host\(behind) goes to roamward-names\(direct)"
  }
}
