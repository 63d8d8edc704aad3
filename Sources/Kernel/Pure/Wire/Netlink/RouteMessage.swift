package import KernelModel
package import NetworkTypes

/// `RTM_*ROUTE` with `struct rtmsg`: family, destination length, source length, tos, table, protocol, scope, type (u8 each), flags u32.
package enum RouteMessage {
  package static let new: UInt16 = 24
  package static let delete: UInt16 = 25
  package static let get: UInt16 = 26
  package static let headerSize = 12

  /// `RTA_*` of linux/rtnetlink.h.
  package enum Attribute {
    package static let destination: UInt16 = 1
    static let source: UInt16 = 2
    static let incomingLink: UInt16 = 3
    package static let outgoingLink: UInt16 = 4
    static let gateway: UInt16 = 5
    static let priority: UInt16 = 6
    static let preferredSource: UInt16 = 7
    static let multipath: UInt16 = 9
    package static let table: UInt16 = 15
    static let via: UInt16 = 18
  }

  /// `RTNH_F_DEAD` and `RTNH_F_LINKDOWN`.
  static let deadFlags: UInt32 = 0x11
  /// `RTM_F_CLONED`: an entry of a cache, not of a table.
  static let clonedFlag: UInt32 = 0x200

  /// The table of a route message: the attribute if there is one, because numbers above 255 do not fit the header.
  package static func table(of message: NetlinkMessage) -> UInt32? {
    guard let small = message.payload.byte(at: 4) else { return nil }
    return NetlinkAttributes(message.payload, after: headerSize).first(Attribute.table)?.payload.host32() ?? UInt32(small)
  }

  package static func isCloned(_ message: NetlinkMessage) -> Bool { (message.payload.host32(at: 8) ?? 0) & clonedFlag != 0 }
}

extension Route {
  /// From `RTM_NEWROUTE` or `RTM_DELROUTE`. `nil` for cloned entries and for types that are not `RTN_UNICAST` to `RTN_THROW`.
  ///
  /// Of several next hops the first live one counts. Rejecting and throw routes have no link, though the kernel names `lo` for IPv6.
  package init?(_ message: NetlinkMessage, linkNames: [UInt32: String]) {
    let payload = message.payload
    guard message.type == RouteMessage.new || message.type == RouteMessage.delete,
      let family = payload.byte(at: 0).flatMap({ IPAddress.Family(addressFamily: $0) }), let length = payload.byte(at: 1),
      let table = payload.byte(at: 4), let routeProtocol = payload.byte(at: 5), let kind = payload.byte(at: 7).flatMap(Kind.init),
      let flags = payload.host32(at: 8), flags & RouteMessage.clonedFlag == 0
    else { return nil }
    var destination = IPAddress.unspecified(family)
    var number = UInt32(table)
    var metric: UInt32 = 0
    var source: IPAddress?
    var hop = NextHop(flags: flags)
    var offset = RouteMessage.headerSize
    while let attribute = NetlinkAttributePlace(in: payload, at: offset) {
      offset = attribute.next
      let address = { IPAddress(network: payload, at: attribute.start, count: attribute.count) }
      switch attribute.type {
      case RouteMessage.Attribute.destination:
        guard let address = address(), address.family == family else { return nil }
        destination = address
      case RouteMessage.Attribute.table: number = attribute.host32(in: payload) ?? number
      case RouteMessage.Attribute.priority: metric = attribute.host32(in: payload) ?? 0
      case RouteMessage.Attribute.preferredSource: source = address().flatMap { $0.family == family ? $0 : nil }
      case RouteMessage.Attribute.multipath:
        hop = NextHop(ofSeveral: payload.dropFirst(attribute.start).prefix(attribute.count)) ?? hop
      default: hop.read(attribute, in: payload)
      }
    }
    guard let prefix = IPPrefix(destination, length: Int(length)) else { return nil }
    let leadsNowhere = [.blackhole, .unreachable, .prohibit, .throw].contains(kind)
    self.init(
      to: prefix, kind: kind, via: leadsNowhere ? nil : hop.gateway, on: leadsNowhere ? nil : hop.link.map(linkNames.name), table: number,
      metric: metric, routeProtocol: routeProtocol, isDead: hop.isDead)
    preferredSource = source
  }
}

/// The next hop of a route.
private struct NextHop {
  var gateway: IPAddress?
  var link: UInt32?
  var isDead: Bool

  init(flags: UInt32) { isDead = flags & RouteMessage.deadFlags != 0 }

  /// `struct rtnexthop`, repeated: length u16, flags u8, hops u8, link index i32, then attributes.
  init?(ofSeveral bytes: ArraySlice<UInt8>) {
    var rest = bytes
    var first: NextHop?
    while let length = rest.host16(at: 0), length >= 8, Int(length) <= rest.count, let flags = rest.byte(at: 2),
      let link = rest.host32(at: 4)
    {
      var hop = NextHop(flags: UInt32(flags))
      hop.link = link
      let own = rest.prefix(Int(length))
      var offset = 8
      while let attribute = NetlinkAttributePlace(in: own, at: offset) {
        hop.read(attribute, in: own)
        offset = attribute.next
      }
      if !hop.isDead {
        self = hop
        return
      }
      first = first ?? hop
      rest = rest.dropFirst(netlinkAligned(Int(length)))
    }
    guard let first else { return nil }
    self = first
  }

  mutating func read(_ attribute: NetlinkAttributePlace, in bytes: ArraySlice<UInt8>) {
    switch attribute.type {
    case RouteMessage.Attribute.gateway: gateway = IPAddress(network: bytes, at: attribute.start, count: attribute.count)
    // struct rtvia: an address family u16 and the address, for an IPv4 route over an IPv6 gateway.
    case RouteMessage.Attribute.via: gateway = IPAddress(network: bytes, at: attribute.start + 2, count: attribute.count - 2)
    case RouteMessage.Attribute.outgoingLink: link = attribute.host32(in: bytes)
    default: return
    }
  }
}

extension NetlinkWriter {
  /// Requests one table of one family. Needs `NETLINK_GET_STRICT_CHK`, without which the kernel sends every table; ENOENT: no such table.
  package mutating func dumpRoutes(_ family: IPAddress.Family, table: UInt32, sequence: UInt32) {
    message(RouteMessage.get, flags: NetlinkMessage.Flag.dump, sequence: sequence) { writer in
      writer.raw([family.addressFamily, 0, 0, 0, 0, 0, 0, 0])
      writer.host32(0)
      writer.attribute(RouteMessage.Attribute.table, host32: table)
    }
  }

  /// Requests the routes of every table with this protocol number; the kernel itself filters the others.
  package mutating func dumpRoutes(_ family: IPAddress.Family, madeBy routeProtocol: UInt8, sequence: UInt32) {
    message(RouteMessage.get, flags: NetlinkMessage.Flag.dump, sequence: sequence) { writer in
      writer.raw([family.addressFamily, 0, 0, 0, 0, routeProtocol, 0, 0])
      writer.host32(0)
    }
  }

  /// EEXIST if a route of the same prefix and metric is in the table, whatever its next hop.
  package mutating func addRoute(_ route: Route, linkIndex: UInt32?, sequence: UInt32, flags: UInt16) {
    let flags = flags | NetlinkMessage.Flag.create | NetlinkMessage.Flag.exclusive
    // Scope: RT_SCOPE_LINK without a gateway, else RT_SCOPE_UNIVERSE. A throw route needs the scope of the routes that it exempts.
    // Otherwise it is skipped when the kernel looks up the link of a new route's gateway.
    let isNear = route.kind == .unicast && route.gateway == nil || route.kind == .throw
    let scope: UInt8 = route.destination.family == .v4 && isNear ? 253 : 0
    message(RouteMessage.new, flags: flags, sequence: sequence) { $0.routeBody(route, linkIndex: linkIndex, scope: scope) }
  }

  /// Removes the route that matches all given values, including its origin. ESRCH: there is none.
  package mutating func removeRoute(_ route: Route, linkIndex: UInt32?, sequence: UInt32, flags: UInt16) {
    // RT_SCOPE_NOWHERE: any scope.
    message(RouteMessage.delete, flags: flags, sequence: sequence) { $0.routeBody(route, linkIndex: linkIndex, scope: 255) }
  }

  private mutating func routeBody(_ route: Route, linkIndex: UInt32?, scope: UInt8) {
    let family = route.destination.family
    let table = route.table < 256 ? UInt8(route.table) : 0
    raw([family.addressFamily, UInt8(route.destination.length), 0, 0, table, route.routeProtocol, scope, route.kind.rawValue])
    host32(0)
    if route.destination.length > 0 { attribute(RouteMessage.Attribute.destination, route.destination.address) }
    attribute(RouteMessage.Attribute.table, host32: route.table)
    if let linkIndex { attribute(RouteMessage.Attribute.outgoingLink, host32: linkIndex) }
    if route.metric != 0 { attribute(RouteMessage.Attribute.priority, host32: route.metric) }
    guard let gateway = route.gateway else { return }
    if gateway.family == family {
      attribute(RouteMessage.Attribute.gateway, gateway)
    } else {
      var via = NetlinkWriter()
      via.host16(UInt16(gateway.family.addressFamily))
      via.raw(gateway)
      attribute(RouteMessage.Attribute.via, via.bytes)
    }
  }
}
