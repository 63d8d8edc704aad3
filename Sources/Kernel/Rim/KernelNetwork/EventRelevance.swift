package import KernelModel
import NetworkTypes
import Synchronization
package import Wire

/// Whether an event can matter to the agent: the second filter, after the kernel's own (`eventFilter`), which it repeats in case that was
/// not available. It reads headers and single attributes first, because event storms consist of irrelevant events.
package struct EventRelevance: Sendable {
  private let interest: EventInterest?
  private let known: KnownObjects?

  /// `known`: the last read state. An event that confirms it is no change: duplicates, renewed leases, and the echo of our own changes.
  /// Without it and without an interest, every possibly relevant event counts.
  package init(interest: EventInterest? = nil, known: KernelState? = nil) {
    self.interest = interest
    self.known = known.map(KnownObjects.init)
  }

  package func reason(of message: NetlinkMessage) -> KernelChange.Reasons {
    guard canMatter(message), !isKnown(message), !isKernelsOwn(message) else { return [] }
    return switch message.type {
    case LinkMessage.new, LinkMessage.delete: .links
    case AddressMessage.new, AddressMessage.delete: .addresses
    case RouteMessage.new, RouteMessage.delete: .routes
    case RuleMessage.new, RuleMessage.delete: .rules
    case NeighbourMessage.new, NeighbourMessage.delete: .neighbours
    case NetconfMessage.new: .settings
    default: []
    }
  }

  /// Whether it concerns an object that carries our marks, or a link of ours that was read last.
  package func isOfOurs(_ message: NetlinkMessage) -> Bool {
    switch message.type {
    case RouteMessage.new, RouteMessage.delete: return RouteMessage.table(of: message).map(Ownership.tables.contains) ?? false
    case RuleMessage.new, RuleMessage.delete:
      return RoutingRule(message).map { $0.routeProtocol == Ownership.routeProtocol && Ownership.rules.contains($0.priority) } ?? false
    case LinkMessage.new, LinkMessage.delete, AddressMessage.new, AddressMessage.delete:
      return message.linkIndex.map { known?.ownLinks.contains($0) ?? false } ?? false
    default: return false
    }
  }

  /// Whether a later read shows what it announces: the state of an object of ours. A removed link may have left its index to another one.
  func isSuperseded(_ message: NetlinkMessage) -> Bool {
    switch message.type {
    case LinkMessage.delete: false
    // A new link announces its settings.
    case NetconfMessage.new:
      NetconfMessage.linkWithReversePathFilter(in: message).flatMap(InterfaceIndex.init).flatMap { known?.ownLinks.contains($0) } ?? false
    default: isOfOurs(message)
    }
  }

  /// Whether it ends the machine's path to all destinations: its default route or carrier is gone, or another default route precedes.
  package func takesWay(_ message: NetlinkMessage) -> Bool {
    guard let known, !known.ways.isEmpty else { return false }
    switch message.type {
    case LinkMessage.delete: return message.linkIndex.map { index in known.wayLinks.contains(index) } ?? false
    case LinkMessage.new:
      guard let link = Link(message), known.wayLinks.contains(link.index) else { return false }
      return !link.isUp || !link.hasCarrier
    case RouteMessage.new, RouteMessage.delete:
      guard let route = Route(message, linkNames: known.names), route.isWay, let best = known.ways[route.destination.family] else {
        return false
      }
      if message.type == RouteMessage.delete { return (route.link, route.gateway) == (best.link, best.gateway) }
      return route.metric <= best.metric && (route.link, route.gateway) != (best.link, best.gateway)
    default: return false
    }
  }

  /// Whether it concerns any object of interest: the criterion of the kernel's filter.
  package func canMatter(_ message: NetlinkMessage) -> Bool {
    switch message.type {
    case LinkMessage.new, LinkMessage.delete: matters(link: message)
    case AddressMessage.new, AddressMessage.delete: matters(address: message)
    case RouteMessage.new, RouteMessage.delete: matters(route: message)
    case NeighbourMessage.new, NeighbourMessage.delete: matters(neighbour: message)
    case RuleMessage.new, RuleMessage.delete: true
    case NetconfMessage.new: matters(setting: message)
    default: false
    }
  }

  private func matters(link message: NetlinkMessage) -> Bool {
    if LinkMessage.isNoise(message) { return false }
    guard let interest, let index = message.linkIndex else { return true }
    if interest.links.contains(index) { return true }
    let attributes = NetlinkAttributes(message.payload, after: LinkMessage.headerSize)
    if let master = attributes.first(LinkMessage.Attribute.master)?.payload.host32().flatMap(InterfaceIndex.init),
      interest.masters.contains(master)
    {
      return true
    }
    return attributes.first(LinkMessage.Attribute.name).map { interest.names.contains($0.payload.text) } ?? false
  }

  /// A link-local address on a link that carries no traffic does not matter.
  private func matters(address message: NetlinkMessage) -> Bool {
    guard let interest, let scope = message.payload.byte(at: 3), scope >= 253 else { return true }
    return message.linkIndex.map(interest.links.contains) ?? true
  }

  /// Routes count in the main table and in ours; other programs may have a whole BGP table elsewhere.
  private func matters(route message: NetlinkMessage) -> Bool {
    guard !RouteMessage.isCloned(message), let table = RouteMessage.table(of: message) else { return false }
    guard table == Route.mainTable else { return Ownership.tables.contains(table) }
    guard let interest, message.payload.byte(at: 0) == IPAddress.Family.v6.addressFamily else { return true }
    let attributes = NetlinkAttributes(message.payload, after: RouteMessage.headerSize)
    guard let destination = attributes.first(RouteMessage.Attribute.destination)?.payload, destination.byte(at: 0) == 0xfe,
      let second = destination.byte(at: 1), second & 0xc0 == 0x80,
      let link = attributes.first(RouteMessage.Attribute.outgoingLink)?.payload.host32().flatMap(InterfaceIndex.init)
    else { return true }
    return interest.links.contains(link)
  }

  /// A gateway's entry that ages and is confirmed again is no change; a first or another hardware address is.
  private func matters(neighbour message: NetlinkMessage) -> Bool {
    guard let interest, let index = message.linkIndex, let gateways = interest.gateways[index] else { return false }
    guard let address = NeighbourMessage.address(of: message), let known = gateways[address] else { return false }
    guard message.type == NeighbourMessage.new, let known else { return true }
    return Neighbour(message, linkNames: [:])?.macAddress.map { $0 != known } ?? false
  }

  /// Reverse path filtering counts on links that matter, and for the value of all links.
  private func matters(setting message: NetlinkMessage) -> Bool {
    guard let link = NetconfMessage.linkWithReversePathFilter(in: message) else { return false }
    guard let interest, link != NetconfMessage.allLinks else { return true }
    return InterfaceIndex(link).map(interest.links.contains) ?? false
  }

  /// Whether the kernel has given a link of ours a link-local address, as it does soon after the link came up: no plan removes one.
  private func isKernelsOwn(_ message: NetlinkMessage) -> Bool {
    guard message.type == AddressMessage.new, let scope = message.payload.byte(at: 3), scope >= 253 else { return false }
    return message.linkIndex.map { known?.ownLinks.contains($0) ?? false } ?? false
  }

  /// Whether the announced state is already known, as far as it was read.
  private func isKnown(_ message: NetlinkMessage) -> Bool { known?.agrees(with: message) ?? false }
}

extension NetlinkMessage {
  /// The link's index of a link, address or neighbour message: all have it at the same offset.
  var linkIndex: InterfaceIndex? { payload.host32(at: 4).flatMap(InterfaceIndex.init) }
}

extension Link {
  /// Whether all relevant properties are equal. Promiscuous mode, queues and the link's own hardware address are irrelevant.
  fileprivate func isUsed(like other: Link) -> Bool {
    name == other.name && isUp == other.isUp && hasCarrier == other.hasCarrier && mtu == other.mtu && master == other.master
      && lower == other.lower && activePort == other.activePort && isBackup == other.isBackup && alias == other.alias && kind == other.kind
      && hardwareType == other.hardwareType
  }
}

extension Route {
  /// A default route of the underlay.
  fileprivate var isWay: Bool {
    destination.length == 0 && kind == .unicast && table == Route.mainTable && routeProtocol != Ownership.routeProtocol
  }
}

/// The last read state, indexed for queries about one object.
private struct KnownObjects: Sendable {
  private let links: [InterfaceIndex: Link]
  let ownLinks: Set<InterfaceIndex>
  let names: [UInt32: String]
  /// The best default route of each family; `wayLinks`: their links.
  let ways: [IPAddress.Family: Route]
  let wayLinks: Set<InterfaceIndex>
  private let addresses: Members<LinkAddress>
  private let routes: Members<Route>
  private let rules: Members<RoutingRule>

  init(_ kernel: KernelState) {
    links = Dictionary(kernel.links.map { ($0.index, $0) }) { first, _ in first }
    ownLinks = Set(kernel.links.lazy.filter { Ownership.tunnel(ofAlias: $0.alias) != nil }.map(\.index))
    names = kernel.links.names
    let ways = Dictionary(grouping: kernel.routes.filter(\.isWay)) { $0.destination.family }.compactMapValues { routes in
      routes.min { $0.metric < $1.metric }
    }
    self.ways = ways
    wayLinks = Set(kernel.links.filter { link in ways.values.contains { $0.link == link.name } }.map(\.index))
    addresses = Members(kernel.addresses)
    routes = Members(kernel.routes)
    rules = Members(kernel.rules)
  }

  /// A removal agrees if there is no such object. The removal of a link never does: another device may have its index by now.
  func agrees(with message: NetlinkMessage) -> Bool {
    switch message.type {
    case LinkMessage.new:
      guard let link = Link(message), let known = links[link.index] else { return false }
      return known.isUsed(like: link)
    case AddressMessage.new: return LinkAddress(message, linkNames: names).map(addresses.contains) ?? false
    case AddressMessage.delete:
      guard let gone = LinkAddress(message, linkNames: names) else { return false }
      return !addresses.all.contains { $0.link == gone.link && $0.address == gone.address }
    case RouteMessage.new: return Route(message, linkNames: names).map(routes.contains) ?? false
    case RuleMessage.new: return RoutingRule(message).map(rules.contains) ?? false
    default: return false
    }
  }
}

/// Objects that are looked up for each event. Mostly there is one event, whatever the number of objects: a set of them is made when more
/// are looked up.
private final class Members<Object: Hashable & Sendable>: Sendable {
  private static var few: Int { 16 }

  let all: [Object]
  private let index: Mutex<(lookups: Int, set: Set<Object>?)> = Mutex((0, nil))

  init(_ all: [Object]) { self.all = all }

  func contains(_ object: Object) -> Bool {
    index.withLock { index in
      if let set = index.set { return set.contains(object) }
      index.lookups += 1
      if index.lookups > Self.few { index.set = Set(all) }
      return index.set?.contains(object) ?? all.contains(object)
    }
  }
}
