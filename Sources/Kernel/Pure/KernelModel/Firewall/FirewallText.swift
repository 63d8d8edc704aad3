package import NetworkTypes
internal import Synchronization

extension FirewallTable {
  /// The nft(8) transaction that replaces any existing table of this name. Numbers in comments are those of docs/security-kill-switch.md.
  package var transaction: String {
    let sets = FirewallSets(of: self)
    return "table \(Self.name)\ndelete table \(Self.name)\n" + text(sets, declaring: sets.named.keys.sorted())
  }

  /// The nft(8) transaction that replaces another table, which the kernel surely has as it was written, and keeps the sets of both. Its
  /// length does not depend on that of the sets. `nil` if none is in both.
  package func transaction(after present: FirewallTable) -> String? {
    let (sets, old) = (FirewallSets(of: self), FirewallSets(of: present))
    let kept = Set(sets.named.keys.filter { old.named[$0] == sets.named[$0] })
    if kept.isEmpty { return nil }
    var commands = ["flush table \(Self.name)"]
    commands += ([Self.commented] + present.chains(old).map(\.name)).map { "delete chain \(Self.name) \($0)" }
    commands += old.named.keys.filter { !kept.contains($0) }.sorted().map { "delete set \(Self.name) \($0)" }
    return commands.map { $0 + "\n" }.joined() + text(sets, declaring: sets.named.keys.filter { !kept.contains($0) }.sorted())
  }

  package static let removal = "table \(name)\ndelete table \(name)\n"

  /// The nft(8) transaction for a second table, in a family that nftables keeps separate. It hides from the local network that a tunnel's
  /// address is on this machine. It is a transaction of its own, so that a kernel without this family still gets the first table. Removes
  /// the table if there is nothing to hide.
  package var neighbourTransaction: String {
    let rules = insideAddresses.compactMap { links, addresses -> String? in
      let own = addresses.filter { $0.family == .v4 }
      return own.isEmpty
        ? nil : "iifname != \(set((["lo"] + links).map { "\"\($0)\"" })) arp daddr ip \(set(own.map(\.description))) counter drop"
    }
    if rules.isEmpty { return Self.neighbourRemoval }
    let hook = chain("input", "type filter hook input priority filter", rules)
    return Self.neighbourRemoval + "table \(Self.neighbourName) {\n\(hook.text)\n}\n"
  }

  package static let neighbourName = "arp roamward"
  package static let neighbourRemoval = "table \(neighbourName)\ndelete table \(neighbourName)\n"

  /// A digest that identifies this content. The table carries it as its comment, or, because a comment stays with what is kept, as that of
  /// a chain if there are sets.
  package var digest: String { KnownDigests.all.of(self) }

  fileprivate var computedDigest: String {
    var table = self
    for i in table.providers.indices { table.providers[i].path = nil }
    for i in table.guarded.indices { table.guarded[i].group.path = nil }
    // The names of sets are digests of what is in them.
    let chains = table.chains(FirewallSets(of: table)).map(\.text)
    return String(FNV1a(chains.joined(separator: "\n")).value, radix: 16)
  }

  private func text(_ sets: FirewallSets, declaring new: [String]) -> String {
    let comment = "comment \"roamward \(digest)\"\n"
    let parts = new.map(sets.declaration) + chains(sets).map(\.text)
    return "table \(Self.name) {\n" + (sets.named.isEmpty ? "  " + comment : "  chain \(Self.commented) {\n    \(comment)  }\n")
      + parts.map { $0 + "\n" }.joined() + "}\n"
  }

  /// A chain for its comment alone.
  private static let commented = "digest"

  private func chains(_ sets: FirewallSets) -> [(name: String, text: String)] {
    var chains: [(name: String, text: String)] = []
    let leaving = postrouting(sets)
    if !leaving.isEmpty { chains.append(chain("marked", nil, marked)) }
    if !guards.isEmpty {
      chains.append(chain("output", "type filter hook output priority filter", output(sets)))
      chains.append(chain("forward", "type filter hook forward priority filter", forward(sets)))
      if guardsAll { chains.append(chain("input", "type filter hook input priority filter", input(sets))) }
    }
    if !arrivals.isEmpty {
      chains.append(chain("arrivals", "type filter hook prerouting priority mangle", arriving))
      chains.append(chain("answers", "type route hook output priority mangle", [answersOutside]))
    }
    if !gateways.isEmpty { chains.append(chain("gateways", "type filter hook output priority filter", gatewayRules(sets))) }
    chains += ProgramClass.chains(of: programs, programNames, ipsec: ipsec, refusal: Self.refusal).map { chain($0.name, $0.hook, $0.rules) }
    if !leaving.isEmpty { chains.append(chain("postrouting", "type filter hook postrouting priority filter", leaving)) }
    let toInside = insideAddresses.flatMap { addressed("iifname", $0.links, "daddr", $0.addresses) }
    if !toInside.isEmpty { chains.append(chain("prerouting", "type filter hook prerouting priority raw", toInside)) }
    return chains
  }

  private func chain(_ name: String, _ hook: String?, _ rules: [String]) -> (name: String, text: String) {
    (name, "  chain \(name) {\n" + (hook.map { "    \($0); policy accept;\n" } ?? "") + rules.map { "    \($0)\n" }.joined() + "  }")
  }

  // MARK: Outgoing packets

  private func output(_ sets: FirewallSets) -> [String] {
    ["oifname \"lo\" accept"] + ofArrivals("ct direction reply") + [ownMark] + captured + answersToGuests + intoTunnels(sets)
      + networkOut(attached: attached)
      + portalRules(of: portal?.programs)
      + between(outgoing: true, sets) + refusals(Self.refusal, sets)
  }

  /// 2: packets with our mark. Those of a tunnel through another one have another mark: they leave by that tunnel's link, or not at all.
  private var ownMark: String { "\(Self.markMatch) jump marked" }

  private static let markMatch =
    "meta mark & 0x\(String(Ownership.wayMask, radix: 16)) == 0x\(String(Ownership.mark, radix: 16))"

  /// 2: packets of sockets that root has opened, those of the kernel's own sockets, which have no user, and those of providers and guards,
  /// by their control group. Guards come first: their programs are root's, and reach their endpoints alone. The kernel still attributes its
  /// WireGuard packets to the sender of the inner packet.
  private var marked: [String] {
    let udp = "\(hasProgramsOutside ? Self.ofTunnels : "")meta l4proto udp accept"
    return guarded.flatMap(\.rules) + (hasKernelTunnel ? [udp] : []) + providers.map { "\($0.match) accept" }
      + ["meta skuid != 0 return", "accept"]
  }

  private static let ofTunnels = "meta mark & 0xffc00000 == 0x52000000 "

  /// 2, at the hook `postrouting`, where the kernel compares no control group: those of providers were checked at the hook `output`.
  private var ownMarkLeaving: String { providers.isEmpty && guarded.isEmpty ? ownMark : "\(Self.markMatch) accept" }

  /// 9: packets to gateways, also without a kill switch.
  private func gatewayRules(_ sets: FirewallSets) -> [String] {
    ["oifname \"lo\" accept", ownMark] + intoTunnels(sets) + toGateways(Self.refusal)
  }

  private func toGateways(_ verdict: String) -> [String] {
    IPAddress.Family.allCases.compactMap { family in
      let own = gateways.filter { $0.family == family }
      return own.isEmpty ? nil : "\(word(family)) daddr \(set(own.map(\.description))) \(verdict)"
    }
  }

  private static let refusal = "counter reject with icmpx admin-prohibited"

  /// The chain at the hook `postrouting`, for all outgoing packets. At the hook `output` a packet still has its first route; another table
  /// may then change its destination, or its mark and so its route. Nothing can be refused here, only dropped. The programs of a portal
  /// window were checked before.
  private func postrouting(_ sets: FirewallSets) -> [String] {
    let fromInside = insideAddresses.flatMap { addressed("oifname", $0.links, "saddr", $0.addresses) }
    if guards.isEmpty, gateways.isEmpty, fromInside.isEmpty { return [] }
    let encrypted = ipsec.map { "ipsec out reqid \($0) accept" }
    let rules =
      ["oifname \"lo\" accept"] + ofArrivals() + [ownMarkLeaving] + encrypted + fromInside + intoTunnels(sets)
      + toGateways("counter drop")
    if guards.isEmpty { return rules }
    return rules + answersToGuests + answersOutOfTunnels + networkOut(attached: attached) + portalRules(of: nil)
      + between(outgoing: true, sets)
      + refusals("counter drop", sets)
  }

  private func forward(_ sets: FirewallSets) -> [String] {
    // Forwarded packets have no program on this host.
    ofArrivals() + intoTunnels(sets) + answersOutOfTunnels + (portal?.programs == nil ? portalRules(of: nil) : [])
      + between(outgoing: true, sets) + refusals(Self.refusal, sets)
  }

  private func input(_ sets: FirewallSets) -> [String] {
    ["iifname \"lo\" accept"] + outOfTunnels + ofArrivals() + ["ct state established,related accept"] + questionsOfGuests
      + networkBack
      + between(outgoing: false, sets) + ["drop"]
  }

  // MARK: Connections from outside

  /// 12: connections that arrive by a network's link have our mark as connections, and packets of their answers as packets: so these leave
  /// past the tunnels. Answers of containers and virtual machines come in by another link.
  private var arriving: [String] {
    ["iifname \(set(arrivals.map { "\"\($0)\"" })) ct direction original ct mark set \(marked("ct"))", answersOutside]
  }

  private var answersOutside: String { "ct direction reply \(Self.arrivalMatch) meta mark set \(marked("meta"))" }

  /// 12: packets of such connections, which may pass.
  private func ofArrivals(_ direction: String? = nil) -> [String] {
    arrivals.isEmpty ? [] : [[direction, Self.arrivalMatch, "accept"].compactMap { $0 }.joined(separator: " ")]
  }

  /// Our mark in the bits of `wayMask`, and the other bits as they are.
  private func marked(_ whose: String) -> String {
    "\(whose) mark & 0x\(String(~Ownership.wayMask, radix: 16)) | 0x\(String(Ownership.mark, radix: 16))"
  }

  private static let arrivalMatch =
    "ct mark & 0x\(String(Ownership.wayMask, radix: 16)) == 0x\(String(Ownership.mark, radix: 16))"

  /// 11: captured questions of this host's programs. At the hook `output` they still have the link of their first route; the last check
  /// sees the right one.
  private var captured: [String] {
    capture == nil
      ? [] : NameCapture.ownAddresses.map { "\(word($0.family)) daddr \($0) meta l4proto { tcp, udp } th dport \(NameCapture.port) accept" }
  }

  /// 11: captured questions of containers and virtual machines, and the answers.
  private var questionsOfGuests: [String] {
    guestLinks.map { "iifname \($0) meta l4proto { tcp, udp } th dport \(NameCapture.port) accept" }
  }

  private var answersToGuests: [String] {
    guestLinks.map { "oifname \($0) meta l4proto { tcp, udp } th sport \(NameCapture.port) accept" }
  }

  private var guestLinks: [String] {
    let links = capture?.guests.map { "\"\($0.link)\"" } ?? []
    return links.isEmpty ? [] : [set(links)]
  }

  /// 3: packets into our tunnels that are up, into each only to the destinations that its own policy may include.
  private func intoTunnels(_ sets: FirewallSets) -> [String] {
    let open = insides.filter { $0.prefixes == nil }.map { "\"\($0.link)\"" }
    let limited = insides.indices.flatMap { i in
      sets.matches(.inside(i), outgoing: true).map { "oifname \"\(insides[i].link)\" \($0) accept" }
    }
    return (open.isEmpty ? [] : ["oifname \(set(open)) accept"]) + limited
  }

  private var outOfTunnels: [String] { insides.isEmpty ? [] : ["iifname \(set(insides.map { "\"\($0.link)\"" })) accept"] }

  /// For forwarded packets. Hosts inside a tunnel cannot open connections to the network that the machine is on.
  private var answersOutOfTunnels: [String] {
    insides.isEmpty ? [] : ["iifname \(set(insides.map { "\"\($0.link)\"" })) ct state established,related accept"]
  }

  /// The situation "portal", for these programs; `nil`: for all.
  private func portalRules(of programs: ControlGroup?) -> [String] {
    guard let portal else { return [] }
    var dns = ["meta l4proto { tcp, udp } th dport 53 accept"]
    var web = ["tcp dport { 80, 443 } accept"]
    if let sites = portal.sites {
      func to(_ address: IPAddress, _ rest: String) -> String { "\(word(address.family)) daddr \(address) \(rest) accept" }
      // They are not known if no source of this host tells them.
      if !portal.nameServers.isEmpty { dns = portal.nameServers.map { to($0, "meta l4proto { tcp, udp } th dport 53") } }
      web = sites.map { to($0.address, "tcp dport \($0.port ?? 443)") }
    }
    guard let programs else { return dns + web }
    // If a resolver of this machine is all that is known, the servers that it asks are not.
    let resolved = portal.nameServers.contains { $0.isLoopback } ? ["meta l4proto { tcp, udp } th dport 53 accept"] : dns
    return (dns + web).map { "\(programs.match) \($0)" }
      + portal.resolvers.flatMap { resolver in resolved.map { "\(resolver.match) \($0)" } }
  }

  /// 5 and 6, with the exceptions of 6.
  private func between(outgoing: Bool, _ sets: FirewallSets) -> [String] {
    var rules = sets.matches(.excluded, outgoing: outgoing).map { "\($0) accept" }
    if outgoing, guards.contains(where: \.hasDNS) { rules.append("meta l4proto { tcp, udp } th dport { 53, 853, 5355 } counter drop") }
    if allowsLAN {
      rules += addresses(neighbours, outgoing: outgoing)
      rules += addresses([IPPrefix("fe80::/10")].compactMap { $0 }, outgoing: outgoing)
      if outgoing { rules += addresses(discovery, outgoing: true) }
    }
    return rules
  }

  /// The blocked addresses, after everything that may flow. A refusal is immediate, so that programs need not wait; but see 7 for DNS.
  private func refusals(_ verdict: String, _ sets: FirewallSets) -> [String] {
    sets.matches(.guarded, outgoing: true).flatMap { condition in
      ["\(condition) meta l4proto { tcp, udp } th dport 53 counter drop", "\(condition) \(verdict)"]
    }
  }

  // MARK: The tunnels' own addresses

  /// The addresses, grouped by the links that have them: two tunnels of one provider may have the same addresses.
  private var insideAddresses: [(links: [String], addresses: [IPAddress])] {
    var links: [IPAddress: [String]] = [:]
    for inside in insides {
      for address in inside.addresses { links[address, default: []].append(inside.link) }
    }
    return Dictionary(grouping: links.keys) { links[$0, default: []].uniqued().sorted() }
      .map { ($0.key, $0.value.sorted()) }.sorted { $0.links.lexicographicallyPrecedes($1.links) }
  }

  /// 8: packets to these addresses have to come from the tunnel, and packets from them have to go into it.
  private func addressed(_ by: String, _ links: [String], _ end: String, _ addresses: [IPAddress]) -> [String] {
    IPAddress.Family.allCases.compactMap { family in
      let own = addresses.filter { $0.family == family }
      if own.isEmpty { return nil }
      return "\(by) != \(set((["lo"] + links).map { "\"\($0)\"" })) \(word(family)) \(end) \(set(own.map(\.description))) counter drop"
    }
  }

  // MARK: Text forms

  /// The excluded prefixes. An address that one tunnel excludes stays blocked if another tunnel's kill switch includes it.
  package var excluded: PrefixList {
    if guards.count == 1 { return guards[0].excluded }
    let all = PrefixList(guards.flatMap(\.excluded.all)).ascending
    return PrefixList(all.filter { one in guards.allSatisfy { $0.excluded.hold(one) || !$0.prefixes.cover.overlaps(one) } })
  }

  private func addresses(_ prefixes: [IPPrefix], outgoing: Bool) -> [String] {
    IPAddress.Family.allCases.compactMap { family in
      let own = prefixes.filter { $0.family == family }.aggregated
      return own.isEmpty ? nil : "\(word(family)) \(outgoing ? "daddr" : "saddr") \(set(own.map(\.description))) accept"
    }
  }

  private func word(_ family: IPAddress.Family) -> String { family == .v4 ? "ip" : "ip6" }

  private func set(_ items: [String]) -> String { "{ \(items.joined(separator: ", ")) }" }
}

/// 4: packets that the network itself needs. Packets to a DHCP server are broadcasts, or unicast on the link when a lease is renewed.
private func networkOut(attached: [IPPrefix]) -> [String] {
  let servers = [IPPrefix("255.255.255.255/32")].compactMap { $0 } + attached.filter { $0.family == .v4 && !$0.isPieceOfEverything }
  return [
    "ip daddr { \(servers.aggregated.map(\.description).joined(separator: ", ")) } udp sport 68 udp dport 67 accept",
    "ip6 saddr fe80::/10 ip6 daddr ff02::1:2 udp sport 546 udp dport 547 accept",
    "icmpv6 type { nd-router-solicit, nd-neighbor-solicit, nd-neighbor-advert } ip6 hoplimit 255 accept",
    "icmpv6 type { mld-listener-report, mld-listener-done, mld2-listener-report } ip6 hoplimit 1 accept",
  ]
}

/// 4: packets from the network that it needs itself.
private let networkBack = [
  "udp sport 67 udp dport 68 accept", "ip6 saddr fe80::/10 udp sport 547 udp dport 546 accept",
  "icmpv6 type { nd-router-advert, nd-neighbor-solicit, nd-neighbor-advert } ip6 hoplimit 255 accept",
  "icmpv6 type mld-listener-query ip6 hoplimit 1 accept",
]

/// The digests of the last tables: a pass asks several times for that of the table that is wanted, and of the one that is there.
private final class KnownDigests: Sendable {
  static let all = KnownDigests()
  private static let limit = 4
  private let known = Mutex<[(table: FirewallTable, digest: String)]>([])

  func of(_ table: FirewallTable) -> String {
    if let found = known.withLock({ $0.first { $0.table == table }?.digest }) { return found }
    let digest = table.computedDigest
    known.withLock {
      if $0.count == Self.limit { $0.removeFirst() }
      $0.append((table, digest))
    }
    return digest
  }
}
