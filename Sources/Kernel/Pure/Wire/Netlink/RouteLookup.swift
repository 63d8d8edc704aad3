package import NetworkTypes

/// The kernel's answer to the question for a packet's route (`RTM_GETROUTE`, as `ip route get`).
package struct RouteLookup: Hashable, Sendable {
  /// Whether the destination is an address of this machine (`RTN_LOCAL`).
  package let isLocal: Bool
  /// Whether packets leave; not if a route makes the destination unreachable.
  package let leaves: Bool
  package let link: UInt32?
  /// `nil`: the destination is on the link.
  package let gateway: IPAddress?

  /// `RTN_UNICAST` and `RTN_LOCAL` of linux/rtnetlink.h.
  private static let (unicast, local): (UInt8, UInt8) = (1, 2)

  package init?(_ message: NetlinkMessage) {
    guard message.type == RouteMessage.new, let kind = message.payload.byte(at: 7) else { return nil }
    let attributes = NetlinkAttributes(message.payload, after: RouteMessage.headerSize)
    (isLocal, leaves) = (kind == Self.local, kind == Self.unicast)
    link = attributes.first(RouteMessage.Attribute.outgoingLink)?.payload.host32()
    if let gateway = attributes.first(RouteMessage.Attribute.gateway)?.payload {
      self.gateway = IPAddress(bytes: gateway)
    } else {
      // struct rtvia: an address family u16 and the address.
      gateway = attributes.first(RouteMessage.Attribute.via).flatMap { IPAddress(bytes: $0.payload.dropFirst(2)) }
    }
  }
}

extension NetlinkWriter {
  /// Requests the route of a packet; `from`: of one with this source that has come by the link with this index. An acknowledgement follows,
  /// with the error if there is no route.
  package mutating func lookUpRoute(to destination: IPAddress, from: (source: IPAddress, link: UInt32)? = nil, sequence: UInt32) {
    message(RouteMessage.get, flags: NetlinkMessage.Flag.acknowledge, sequence: sequence) { writer in
      let length = UInt8(destination.family.bitWidth)
      writer.raw([destination.family.addressFamily, length, from == nil ? 0 : length, 0, 0, 0, 0, 0])
      writer.host32(0)
      writer.attribute(RouteMessage.Attribute.destination, destination)
      if let from {
        writer.attribute(RouteMessage.Attribute.source, from.source)
        writer.attribute(RouteMessage.Attribute.incomingLink, host32: from.link)
      }
    }
  }
}
