internal import Glibc
internal import KernelModel
package import NetworkTypes
import Wire

/// The kernel's treatment of a packet, by its own look-up of rules and routes.
package enum RouteAnswer: Hashable, Sendable {
  /// It is for this machine.
  case local
  /// It leaves by this link, to this router; `nil`: the destination is on the link.
  case leaves(link: String, gateway: IPAddress?)
  /// It is given to this link, which drops it: it has no carrier.
  case withoutCarrier(link: String)
  /// No route, with the kernel's reason.
  case none(String)
  /// There is no such link.
  case unknownLink
}

extension KernelReader {
  /// The route of a packet of this machine; with `from`, of one that has come by this link.
  package func route(to destination: IPAddress, from: (source: IPAddress, link: String)? = nil) throws(NetlinkError) -> RouteAnswer {
    let links = try socket.readLinks()
    let names = links.names
    var coming: (IPAddress, UInt32)?
    if let from {
      guard let link = names.first(where: { $0.value == from.link }) else { return .unknownLink }
      coming = (from.source, link.key)
    }
    var found: RouteLookup?
    do throws(NetlinkError) {
      try socket.dump("look up the route to \(destination)", { $0.lookUpRoute(to: destination, from: coming, sequence: $1) }) {
        found = found ?? RouteLookup($0)
      }
    } catch {
      // The errors of a look-up that routes, rules and the check of the way back (rp_filter) cause.
      guard [ENETUNREACH, EHOSTUNREACH, EACCES, EINVAL, EXDEV].contains(error.code) else { throw error }
      return .none(error.reason)
    }
    guard let found else { return .none("the kernel gives no answer") }
    if found.isLocal { return .local }
    guard found.leaves, let link = links.first(where: { $0.index.value == found.link }) else {
      return .none("a route makes it unreachable")
    }
    // The kernel keeps such a link's routes.
    return link.hasCarrier ? .leaves(link: link.name, gateway: found.gateway) : .withoutCarrier(link: link.name)
  }
}
