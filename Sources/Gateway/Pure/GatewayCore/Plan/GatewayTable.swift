package import NetworkTypes

/// The gateway's table of nftables: access by rules, and masquerade. It needs no other table, and changes none.
///
/// Each source address has a profile: the chain with the rules that concern its user. Devices with the same rules share one. A device that
/// comes, goes or changes its profile is one element of a map, so the table is replaced only when rules change.
package struct GatewayTable: Hashable, Sendable {
  package var link: String
  /// The statements of each profile, by its chain.
  package var profiles: [String: [String]] = [:]
  /// The number of devices of each profile, refused ones among them.
  package private(set) var holders: [String: Int] = [:]
  /// The chain of each source address.
  package var sources: [IPAddress: String] = [:]
  /// The addresses of the devices of each group that a rule names as its destination.
  package var groups: [Int64: Set<IPAddress>] = [:]
  package var translated: [IPPrefix] = []
  /// The pools that other routers know. Connections of their devices outlast this machine's memory of them.
  package var routed: [IPPrefix] = []
  /// The gateway's own ports on this machine: no flow of a device is translated to one of them.
  package var ownPorts: OwnPorts = []

  package init(link: String) { self.link = link }

  package static let name = "inet roamward_gateway"
  /// The UDP port of questions, and the lengths that theirs have (with the header of 8 bytes).
  package static let questions = (port: 20_900, lengths: "71, 83")
  /// The end of each profile.
  private static let otherwise = "drop comment \"no rule matches\""
  package static let removal = "add table \(name)\ndelete table \(name)\n"

  package init(_ directory: Directory, link: String, at now: Timestamp) {
    self.init(directory, of: directory.devices.values, link: link, at: now)
  }

  /// The table as far as it is of these devices.
  package init(_ directory: Directory, of devices: some Sequence<Device>, link: String, at now: Timestamp) {
    self.init(link: link)
    let rules = directory.sortedRules
    for case .devices(let group) in rules.map(\.destination) { groups[group] = [] }
    for device in devices {
      let addresses = directory.addresses(of: device.id)
      let own = rules.filter { $0.concerns(user: device.user, in: directory) }
      let chain = Self.chain(of: own)
      // The profile of a refused device stays: to lock a user takes elements away, and replaces nothing. Packets to such a device find no
      // peer.
      if profiles[chain] == nil { profiles[chain] = own.flatMap(Self.statements) }
      holders[chain, default: 0] += 1
      for group in groups.keys where directory.isMember(device.user, of: group) { groups[group, default: []].formUnion(addresses) }
      guard directory.isActive(device, at: now) else { continue }
      for address in addresses { sources[address] = chain }
    }
    translated = directory.sortedPools.filter(\.isTranslated).map(\.prefix)
    routed = directory.sortedPools.filter { !$0.isTranslated }.map(\.prefix)
  }

  /// The same for the same statements, in every version and on every machine.
  private static func chain(of rules: [AccessRule]) -> String {
    let text = rules.flatMap(statements).joined(separator: "\n")
    return "profile_" + String(FNV1a(text).value, radix: 16)
  }

  /// A rule as statements: one for each family if it names addresses. The comment is the rule's name, which nft(8) shows in its lists and
  /// traces.
  private static func statements(_ rule: AccessRule) -> [String] {
    let verdict = (rule.isAllowing ? "accept" : "drop") + " comment \"\(rule.name)\""
    let ports = rule.ports.isEmpty ? "" : " { \(merged(rule.ports).map(\.description).joined(separator: ", ")) }"
    let transport =
      switch rule.transport {
      case .any: ""
      case .icmp: "meta l4proto { icmp, ipv6-icmp } "
      // nft(8) needs the protocol to know what `proto-dst` is.
      case .tcp, .udp: "meta l4proto \(rule.transport.rawValue) " + (ports.isEmpty ? "" : "ct original proto-dst\(ports) ")
      }
    func match(_ family: IPAddress.Family, _ set: String) -> String {
      "ct original \(family == .v4 ? "ip" : "ip6") daddr \(set) \(transport)\(verdict)"
    }
    switch rule.destination {
    case .everything: return ["\(transport)\(verdict)"]
    case .devices(let group): return IPAddress.Family.allCases.map { match($0, "@\(set(of: group, $0))") }
    case .prefixes(let prefixes):
      return IPAddress.Family.allCases.compactMap { family in
        let own = prefixes.filter { $0.family == family }.sorted()
        // nft(8) refuses overlapping elements.
        let outer = own.indices.filter { i in !own.indices.contains { $0 != i && own[$0].contains(own[i]) && (own[$0] != own[i] || $0 < i) }
        }
        return outer.isEmpty ? nil : match(family, "{ \(outer.map { own[$0].description }.joined(separator: ", ")) }")
      }
    }
  }

  private static func merged(_ ports: [PortRange]) -> [PortRange] {
    ports.sorted().reduce(into: [PortRange]()) { merged, range in
      guard let last = merged.last, range.lower <= last.upper, let wider = PortRange("\(last.lower)-\(max(last.upper, range.upper))") else {
        return merged.append(range)
      }
      merged[merged.count - 1] = wider
    }
  }

  private static func set(of group: Int64, _ family: IPAddress.Family) -> String { "group_\(group)_\(family == .v4 ? "v4" : "v6")" }
  private static func map(_ family: IPAddress.Family) -> String { family == .v4 ? "sources_v4" : "sources_v6" }
  /// The pairs of an address with itself, of every device that may connect.
  private static func ends(_ family: IPAddress.Family) -> String { family == .v4 ? "ends_v4" : "ends_v6" }
  private static func returnMap(_ family: IPAddress.Family) -> String { "returns_\(family == .v4 ? "v4" : "v6")" }
  /// The chain that judges as a profile does, for a connection that was first seen in its middle, by a packet to the device.
  private static func returnChain(_ profile: String) -> String { profile.replacing("profile_", with: "return_") }
}

// As commands of nft(8).
extension GatewayTable {
  /// Replaces the whole table, in one transaction.
  package var transaction: String {
    var lines = ["add table \(Self.name)", "delete table \(Self.name)", "table \(Self.name) {"]
    for family in IPAddress.Family.allCases {
      let type = family == .v4 ? "ipv4_addr" : "ipv6_addr"
      lines += block("map \(Self.map(family))", ["type \(type) : verdict"] + elements(sourceElements(family)))
      lines += block("set \(Self.ends(family))", ["type \(type) . \(type)"] + elements(endElements(family)))
      for share in Share.allCases {
        lines += block("set \(share.set(family))", ["type \(type)", "size 65535", "flags dynamic, timeout", "timeout \(Share.memory)"])
      }
      if !routed.isEmpty {
        lines += block("map \(Self.returnMap(family))", ["type \(type) : verdict"] + elements(returnElements(family)))
      }
      for (group, addresses) in groups.sorted(by: { $0.key < $1.key }) {
        let own = addresses.filter { $0.family == family }.sorted().map(\.description)
        lines += block("set \(Self.set(of: group, family))", ["type \(type)"] + elements(own))
      }
    }
    for (chain, statements) in profiles.sorted(by: { $0.key < $1.key }) {
      lines += block("chain \(chain)", statements + [Self.otherwise])
      if routed.isEmpty { continue }
      lines += block(
        "chain \(Self.returnChain(chain))", statements.map { $0.replacing("ct original", with: "ct reply") } + [Self.otherwise])
    }
    lines += block("chain errors", errors)
    // Every packet of a connection, in both directions, is judged by the connection's first one: so a changed rule holds at once. Neither a
    // source without a profile nor a packet without a connection matches anything.
    lines += block(
      "chain judge",
      ["\(Self.isError) goto errors"]
        + IPAddress.Family.allCases.map { "ct original \($0 == .v4 ? "ip" : "ip6") saddr vmap @\(Self.map($0))" } + returning + ["drop"])
    lines += block(
      "chain forward",
      [
        "type filter hook forward priority filter; policy accept;",
        "iifname \"\(link)\" tcp flags & (syn | rst) == syn tcp option maxseg size set rt mtu",
        "oifname \"\(link)\" tcp flags & (syn | rst) == syn tcp option maxseg size set rt mtu",
      ] + beginnings + ["iifname \"\(link)\" jump judge", "oifname \"\(link)\" jump judge"])
    // The gateway's own connections to devices have replies.
    let toPort = "iifname \"\(link)\" udp dport \(Self.questions.port)"
    // Greetings of devices, which are empty, and questions about their packets: no other lengths, and no flood.
    let shares = Share.allCases.flatMap { share in
      IPAddress.Family.allCases.map { "\(toPort) \(share.match) \(share.limit(of: $0)) \(share.total) accept" }
    }
    lines += block(
      "chain input",
      ["type filter hook input priority filter; policy accept;"] + shares + [
        "\(toPort) drop", "iifname \"\(link)\" \(Self.isError) jump errors", "iifname \"\(link)\" ct direction original jump judge",
        "iifname \"\(link)\" ct state invalid,untracked drop",
      ])
    if !translated.isEmpty {
      lines += block("chain translate", ownPorts.translation)
      lines += block(
        "chain postrouting",
        ["type nat hook postrouting priority srcnat; policy accept;"]
          + translated.map { "\($0.family == .v4 ? "ip" : "ip6") saddr \($0) oifname != \"\(link)\" goto translate" })
    }
    if !ownPorts.ports.isEmpty { lines += block("chain shadows", shadows) }
    return (lines + ["}"]).joined(separator: "\n") + "\n"
  }

  private static let isError = "ct state related meta l4proto { icmp, ipv6-icmp }"

  /// Errors about a connection, of the path's MTU for example. Connection tracking looks at the packet that they quote, and not at their
  /// sender: a device may send them about its own connections alone.
  private var errors: [String] {
    ["iifname != \"\(link)\" accept"]
      + IPAddress.Family.allCases.flatMap { family in
        let (ip, ends) = (family == .v4 ? "ip" : "ip6", Self.ends(family))
        return ["original", "reply"].map { "\(ip) saddr . ct \($0) \(ip) saddr @\(ends) accept" }
      } + ["drop comment \"an error about another's connection\""]
  }

  /// A flow of a device that got one of the gateway's own ports, whoever has translated it, is not kept: connection tracking takes it at
  /// the end of this hook.
  private var shadows: [String] {
    ["type filter hook postrouting priority srcnat + 50; policy accept;"]
      + (translated + routed).flatMap { pool in
        ["tcp", "udp"].map {
          "oifname != \"\(link)\" ct direction original ct status snat meta l4proto \($0) "
            + "ct original \(pool.family == .v4 ? "ip" : "ip6") saddr \(pool) ct reply proto-dst \(ownPorts.set) drop"
        }
      }
  }

  /// A connection through masquerade begins with its first packet. In the middle of one that connection tracking does not know, masquerade
  /// would take the same port as before: a connection that was cut off would go on.
  private var beginnings: [String] {
    translated.map {
      "iifname \"\(link)\" oifname != \"\(link)\" \($0.family == .v4 ? "ip" : "ip6") saddr \($0) tcp flags & syn == 0 ct state new drop"
    }
  }

  /// A connection that another gateway, or this one before a restart of its machine, has judged at its first packet, and that goes on with
  /// a packet to the device: connection tracking then takes its server for the one that began it. It is judged as if the device had, by the
  /// reply's addresses. Nothing begins so: a first packet of TCP has SYN. A packet of the device is then a reply, and no other packet from
  /// the link is judged so: it would be one of a device without a profile, as if the other device had asked for it.
  private var returning: [String] {
    if routed.isEmpty { return [] }
    return ["iifname \"\(link)\" ct direction reply", "iifname != \"\(link)\" tcp flags & syn == 0"].flatMap { condition in
      IPAddress.Family.allCases.map { "\(condition) ct reply \($0 == .v4 ? "ip" : "ip6") saddr vmap @\(Self.returnMap($0))" }
    }
  }

  /// The elements to change if the table is as `old`; `nil`: it has to be replaced. Empty: nothing is to do.
  package func changes(from old: GatewayTable) -> String? {
    guard profiles == old.profiles, ownPorts == old.ownPorts, isShaped(as: old) else { return nil }
    return elementChanges(from: old)
  }

  private func isShaped(as other: GatewayTable) -> Bool {
    link == other.link && translated == other.translated && routed == other.routed && Set(groups.keys) == Set(other.groups.keys)
  }

  /// Makes the parts of some devices the others in this table, which has the first ones, and returns the elements to change; `nil`: it has
  /// to be replaced, and is not changed.
  package mutating func replace(_ old: GatewayTable, with new: GatewayTable) -> String? {
    guard new.isShaped(as: self), old.isShaped(as: self), new.profiles.allSatisfy({ profiles[$0.key] == $0.value }) else { return nil }
    exchange(old, for: new)
    return new.elementChanges(from: old)
  }

  /// The same for a table that is wanted: profiles come with their first device, and go with the last one. Returns false if it has another
  /// shape, and is not changed.
  mutating func follow(_ old: GatewayTable, _ new: GatewayTable) -> Bool {
    guard new.isShaped(as: self), old.isShaped(as: self) else { return false }
    exchange(old, for: new)
    for chain in old.profiles.keys where holders[chain] == nil { profiles[chain] = nil }
    profiles.merge(new.profiles) { _, new in new }
    return true
  }

  private mutating func exchange(_ old: GatewayTable, for new: GatewayTable) {
    for address in old.sources.keys { sources[address] = nil }
    sources.merge(new.sources) { _, new in new }
    for (group, addresses) in old.groups { groups[group]?.subtract(addresses) }
    for (group, addresses) in new.groups { groups[group]?.formUnion(addresses) }
    for (chain, count) in old.holders { holders[chain] = holders[chain].flatMap { $0 > count ? $0 - count : nil } }
    holders.merge(new.holders, uniquingKeysWith: +)
  }

  private func elementChanges(from old: GatewayTable) -> String {
    var commands: [String] = []
    func change(_ object: String, from before: [String], to after: [String]) {
      let (gone, new) = (Set(before).subtracting(after).sorted(), Set(after).subtracting(before).sorted())
      // Of an element that changes, the old one goes first.
      if !gone.isEmpty { commands.append("delete element \(Self.name) \(object) { \(gone.joined(separator: ", ")) }") }
      if !new.isEmpty { commands.append("add element \(Self.name) \(object) { \(new.joined(separator: ", ")) }") }
    }
    for family in IPAddress.Family.allCases {
      change(Self.map(family), from: old.sourceElements(family), to: sourceElements(family))
      change(Self.ends(family), from: old.endElements(family), to: endElements(family))
      if !routed.isEmpty { change(Self.returnMap(family), from: old.returnElements(family), to: returnElements(family)) }
      for (group, addresses) in groups {
        func own(_ addresses: Set<IPAddress>) -> [String] { addresses.filter { $0.family == family }.map(\.description) }
        change(Self.set(of: group, family), from: own(old.groups[group] ?? []), to: own(addresses))
      }
    }
    return commands.isEmpty ? "" : commands.joined(separator: "\n") + "\n"
  }

  private func sourceElements(_ family: IPAddress.Family) -> [String] {
    sources.filter { $0.key.family == family }.sorted { $0.key < $1.key }.map { "\($0.key) : jump \($0.value)" }
  }

  private func endElements(_ family: IPAddress.Family) -> [String] {
    sources.keys.filter { $0.family == family }.sorted().map { "\($0) . \($0)" }
  }

  private func returnElements(_ family: IPAddress.Family) -> [String] {
    sources.filter { source in source.key.family == family && routed.contains { $0.contains(source.key) } }.sorted { $0.key < $1.key }
      .map { "\($0.key) : jump \(Self.returnChain($0.value))" }
  }

  private func elements(_ elements: [String]) -> [String] {
    elements.isEmpty ? [] : ["elements = { \(elements.joined(separator: ", ")) }"]
  }

  private func block(_ head: String, _ body: [String]) -> [String] { ["  \(head) {"] + body.map { "    \($0)" } + ["  }"] }
}
