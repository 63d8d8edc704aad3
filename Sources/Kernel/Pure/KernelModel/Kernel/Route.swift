package import NetworkTypes

/// A route of the kernel (`struct rtmsg`), in the terms of ip-route(8). It refers to a link by name; the applier looks up the index.
package struct Route: Hashable, Sendable {
  /// `RTN_*` of linux/rtnetlink.h: what happens to a packet that takes the route.
  package enum Kind: UInt8, Hashable, Sendable, CustomStringConvertible {
    case unicast = 1, local, broadcast, anycast, multicast, blackhole, unreachable, prohibit, `throw`

    private static let words = ["unicast", "local", "broadcast", "anycast", "multicast", "blackhole", "unreachable", "prohibit", "throw"]

    package var description: String { Self.words[Int(rawValue) - 1] }
  }

  // Small values lie beside one another: there may be 100,000 routes, several times.
  package var destination: IPPrefix
  package var kind: Kind
  /// `rtm_protocol`: the program that made it.
  package var routeProtocol: UInt8
  /// The kernel has marked its next hop dead or its link down.
  package var isDead: Bool
  package var table: UInt32
  /// The metric; the lower one wins. The kernel gives IPv6 routes 1024 by default.
  package var metric: UInt32
  package var link: String?
  package var gateway: IPAddress?
  /// `RTA_PREFSRC`: the source address of packets, if the route names one.
  package var preferredSource: IPAddress?

  package init(
    to destination: IPPrefix, kind: Kind = .unicast, via gateway: IPAddress? = nil, on link: String? = nil, table: UInt32 = Route.mainTable,
    metric: UInt32 = 0, routeProtocol: UInt8 = Ownership.routeProtocol, isDead: Bool = false
  ) {
    self.destination = destination
    self.kind = kind
    self.gateway = gateway
    self.link = link
    self.table = table
    self.metric = metric
    self.routeProtocol = routeProtocol
    self.isDead = isDead
  }

  /// The metric of routes that follow from answers for names. It marks them: no other route to the same address differs by it alone.
  package static let metricByName: UInt32 = 53
  /// `RT_TABLE_MAIN`.
  package static let mainTable: UInt32 = 254
}

extension Route: CustomStringConvertible {
  /// The arguments of `ip route`: `10.0.0.0/8 dev corp table 21000 proto 82`.
  package var description: String {
    var words = kind == .unicast ? [] : ["\(kind)"]
    words.append(destination.length == 0 ? "default" : destination.description)
    if let gateway { words += ["via", gateway.description] }
    if let link { words += ["dev", link] }
    if table != Route.mainTable { words += ["table", String(table)] }
    words += ["proto", String(routeProtocol)]
    if metric != 0 { words += ["metric", String(metric)] }
    return words.joined(separator: " ")
  }
}

/// A rule of the routing policy database (`struct fib_rule_hdr`), with the properties that we set or evaluate.
package struct RoutingRule: Hashable, Sendable {
  package var family: IPAddress.Family
  package var priority: UInt32
  package var table: UInt32
  /// The mark of matching packets, under the mask.
  package var mark: UInt32
  package var mask: UInt32
  /// `FIB_RULE_INVERT`: packets that do *not* match.
  package var isInverted: Bool
  /// `FRA_PROTOCOL`: the program that made it.
  package var routeProtocol: UInt8
  /// `FRA_SUPPRESS_PREFIXLEN`: routes of the table with a prefix no longer than this are ignored.
  package var suppressedLength: UInt8?
  /// Whether it matches more than a mark: addresses, links, users, ports.
  package var isSelective = false

  package init(
    family: IPAddress.Family, priority: UInt32, table: UInt32, mark: UInt32 = 0, mask: UInt32 = 0, isInverted: Bool = false,
    routeProtocol: UInt8 = Ownership.routeProtocol
  ) {
    self.family = family
    self.priority = priority
    self.table = table
    self.mark = mark
    self.mask = mask
    self.isInverted = isInverted
    self.routeProtocol = routeProtocol
  }
}

extension RoutingRule: CustomStringConvertible {
  /// The arguments of `ip rule`: `priority 21000 not fwmark 0x52000000/0xff000000 lookup 21000 protocol 82`.
  package var description: String {
    var words = ["priority", String(priority)]
    if isInverted { words.append("not") }
    if mask != 0 { words += ["fwmark", "0x\(String(mark, radix: 16))/0x\(String(mask, radix: 16))"] }
    words += ["lookup", String(table)]
    if let suppressedLength { words += ["suppress_prefixlength", String(suppressedLength)] }
    words += ["protocol", String(routeProtocol)]
    return words.joined(separator: " ")
  }
}
