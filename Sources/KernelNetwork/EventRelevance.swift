package import NetworkTypes
import RoamwardCore
package import Wire

/// Whether an event can matter to the agent. Reads headers and at most one attribute, for storms consist of events that do not.
package enum EventRelevance {
  package static func reason(of message: NetlinkMessage, gateways: [IPAddress: MACAddress?]) -> KernelChange.Reasons {
    switch message.type {
    case LinkMessage.new, LinkMessage.delete: LinkMessage.isNoise(message) ? [] : .links
    case AddressMessage.new, AddressMessage.delete: .addresses
    case RouteMessage.new, RouteMessage.delete: matters(route: message) ? .routes : []
    case RuleMessage.new, RuleMessage.delete: .rules
    case NeighbourMessage.new, NeighbourMessage.delete:
      matters(neighbour: message, gateways) ? .neighbours : []
    default: []
    }
  }

  /// A gateway's entry that ages and is confirmed again says nothing new; another hardware address does, and so does its first.
  private static func matters(neighbour message: NetlinkMessage, _ gateways: [IPAddress: MACAddress?]) -> Bool {
    guard let address = NeighbourMessage.address(of: message), let known = gateways[address] else { return false }
    guard message.type == NeighbourMessage.new, let known else { return true }
    return Neighbour(message, linkNames: [:])?.macAddress.map { $0 != known } ?? false
  }

  /// Routes count in the main table and in ours; other programs may keep a whole BGP table elsewhere.
  private static func matters(route message: NetlinkMessage) -> Bool {
    guard !RouteMessage.isCloned(message), let table = RouteMessage.table(of: message) else { return false }
    return table == Route.mainTable || Ownership.tables.contains(table)
  }
}
