package import KernelModel
package import NetworkTypes

/// The other VPNs of this machine, as the kernel shows them. They are reported and avoided, and never changed.
package struct OtherVPNs: Equatable, Sendable {
  package struct VPN: Equatable, Sendable {
    /// The product's name if its marks identify it.
    package var name: String
    /// Its rules, in the order of their priorities.
    package var rules: [RoutingRule] = []
    package var links: [String] = []
    /// The prefixes that it routes, in tables of its own or in the main one.
    package var prefixes: [IPPrefix] = []
    /// The mark of its own packets, which it routes outside of itself.
    package var mark: FirewallMark?

    /// The tables that belong to it alone.
    package var tables: Set<UInt32> { Set(rules.map(\.table).filter { !(253...255).contains($0) && $0 != 0 }) }
  }

  /// All other VPNs, in the kernel's order of their rules; those without a rule last.
  package var all: [VPN] = []
  /// The prefixes that they route in the main table, which comes after our tables.
  package var mainPrefixes: [IPPrefix] = []
  /// Marks of packets that no rule before ours handles.
  package var unservedMarks: [FirewallMark] = []
  /// Slots whose rule or table another program uses.
  package var takenSlots: Set<UInt32> = []
  /// Conflicts that cannot be avoided, for people.
  package var collisions: [String] = []

  package init() {}

  /// Finds the other VPNs. `ownLinks`: links of our tunnels that do not carry our alias.
  package init(in kernel: KernelState, ownLinks: Set<String> = []) {
    let foreign = kernel.rules.filter { $0.routeProtocol != Ownership.routeProtocol || !Ownership.rules.contains($0.priority) }
    collect(foreign)
    collectLinks(kernel, ownLinks)
    addPrefixes(kernel)
    all = all.map { vpn in
      var vpn = vpn
      vpn.rules = vpn.rules.sorted { ($0.priority, $0.family) < ($1.priority, $1.family) }
      return vpn
    }
    all = all.sorted { ($0.rules.first?.priority ?? .max, $0.name) < ($1.rules.first?.priority ?? .max, $1.name) }
    findUnserved(foreign)
    findCollisions(foreign, kernel)
  }

  /// The routing tables of known VPNs, to be read besides the main one.
  package static func tables(of rules: [RoutingRule]) -> Set<UInt32> {
    var found = OtherVPNs()
    found.collect(rules.filter { $0.routeProtocol != Ownership.routeProtocol })
    return Set(found.all.flatMap(\.tables)).subtracting(Ownership.tables)
  }

  private mutating func collect(_ rules: [RoutingRule]) {
    var rest = rules
    for known in KnownVPN.all where rest.contains(where: known.owns) {
      let own = { (rule: RoutingRule) in known.owns(rule) || known.priorities?.contains(rule.priority) ?? false }
      all.append(VPN(name: known.name, rules: rest.filter(own), mark: known.mark))
      rest.removeAll(where: own)
    }
    for rule in rest where rule.isDetour {
      let name = rule.isLikeWgQuick ? "wg-quick" : "another VPN"
      if let i = all.firstIndex(where: { $0.name == name && $0.mark == rule.firewallMark }) {
        all[i].rules.append(rule)
      } else {
        all.append(VPN(name: name, rules: [rule], mark: rule.firewallMark))
      }
    }
  }

  /// Assigns each link: to the VPN whose table leads to it, else to the product with such link names, else to a VPN of its own.
  private mutating func collectLinks(_ kernel: KernelState, _ ownLinks: Set<String>) {
    let links = kernel.links.filter { link in
      Ownership.tunnel(ofAlias: link.alias) == nil && !ownLinks.contains(link.name)
        && !kernel.isTranslator(link) && (link.isTunnel || KnownVPN.all.contains { $0.owns(link: link.name) })
    }
    guard !links.isEmpty else { return }
    var tablesByLink: [String: Set<UInt32>] = [:]
    for route in kernel.routes where route.table != Route.mainTable {
      if let link = route.link { tablesByLink[link, default: []].insert(route.table) }
    }
    for link in links {
      let tables = tablesByLink[link.name] ?? []
      let known = KnownVPN.all.first { $0.owns(link: link.name) }?.name
      if let i = all.firstIndex(where: { !$0.tables.isDisjoint(with: tables) || $0.name == known }) {
        all[i].links.append(link.name)
      } else {
        all.append(VPN(name: known ?? "another VPN", links: [link.name]))
      }
    }
  }

  private mutating func addPrefixes(_ kernel: KernelState) {
    var mains = Set<IPPrefix>()
    for i in all.indices {
      let tables = all[i].tables
      let links = Set(all[i].links)
      var prefixes = Set<IPPrefix>()
      for route in kernel.routes where route.kind == .unicast && route.routeProtocol != Ownership.routeProtocol {
        if tables.contains(route.table) {
          prefixes.insert(route.destination)
        } else if route.table == Route.mainTable, let link = route.link, links.contains(link), !route.destination.address.isLinkLocal {
          prefixes.insert(route.destination)
          if !route.destination.isPieceOfEverything { mains.insert(route.destination) }
        }
      }
      all[i].prefixes = prefixes.filter { !$0.address.isMulticast && !$0.address.isLinkLocal }.sorted()
    }
    mainPrefixes = mains.filter { !$0.address.isMulticast }.sorted()
  }

  /// Finds marks without a rule: a VPN's own packets are served if a rule before ours routes them.
  private mutating func findUnserved(_ rules: [RoutingRule]) {
    let marks = Set(all.filter { $0.rules.contains(where: \.isDetour) }.compactMap(\.mark))
    unservedMarks = marks.filter { mark in
      !rules.contains {
        !$0.isInverted && !$0.isSelective && $0.priority < Ownership.rules.lowerBound && $0.table == Route.mainTable
          && $0.firewallMark == mark
      }
    }.sorted()
  }

  private mutating func findCollisions(_ rules: [RoutingRule], _ kernel: KernelState) {
    let ours = FirewallMark(Ownership.mark, mask: Ownership.markMask)
    for rule in rules {
      for number in [rule.priority, rule.table] where Ownership.tables.contains(number) {
        if let slot = Ownership.slot(of: number) { takenSlots.insert(slot) }
        collisions.append("the rule \"\(rule)\" is not Roamward's, and uses a number from 21000 to 23000; its place is left to it")
      }
      if let mark = rule.firewallMark, mark.mask & ours.mask != 0, mark.value & mask(mark) != 0, mark.overlaps(ours) {
        collisions.append("the rule \"\(rule)\" is not Roamward's, and means packets with Roamward's own mark (\(ours))")
      }
    }
    for route in kernel.routes where Ownership.tables.contains(route.table) && route.routeProtocol != Ownership.routeProtocol {
      if let slot = Ownership.slot(of: route.table) { takenSlots.insert(slot) }
    }
    collisions = collisions.uniqued()

    func mask(_ mark: FirewallMark) -> UInt32 { mark.mask & ours.mask }
  }
}

extension OtherVPNs.VPN: CustomStringConvertible {
  /// The text for people: `Tailscale (tailscale0) routes 100.64.0.0/10 by rule 5270; not touched`.
  package var description: String {
    let whole = IPAddress.Family.allCases.filter(prefixes.coverEverything)
    let rest = prefixes.filter { !whole.contains($0.family) }.map(\.description)
    let what = prefixes.isEmpty ? "" : " routes \(listed(whole.map { "everything (IPv\($0.rawValue))" } + rest))"
    let by = detour.map { " by rule \($0.priority)" } ?? (prefixes.isEmpty ? "" : " in the main table")
    let whose = links.isEmpty ? name : "\(name) (\(links.joined(separator: ", ")))"
    return "\(whose)\(what.isEmpty ? " is here" + (by.isEmpty ? "" : "," + by) : what + by); not touched"
  }

  /// The rule that leads to its table.
  package var detour: RoutingRule? { rules.last { tables.contains($0.table) } }
}

/// The first items of many, and the number of the others.
func listed(_ items: [String], limit: Int = 3) -> String {
  items.count <= limit + 1
    ? items.joined(separator: ", ") : "\(items.prefix(limit).joined(separator: ", ")) and \(items.count - limit) more"
}
