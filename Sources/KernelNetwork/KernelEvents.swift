internal import CNetlink
internal import Glibc
package import NetworkTypes
import RoamwardCore
import Synchronization
import Wire

/// That something changed in the kernel, and of what kind: never what it is now, for that is read anew.
package struct KernelChange: Hashable, Sendable {
  package struct Reasons: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let links = Reasons(rawValue: 1)
    package static let addresses = Reasons(rawValue: 2)
    package static let routes = Reasons(rawValue: 4)
    package static let rules = Reasons(rawValue: 8)
    package static let neighbours = Reasons(rawValue: 16)
    package static let wifi = Reasons(rawValue: 32)
  }

  package var reasons: Reasons = []
  /// Events were lost: anything may have changed.
  package var overflowed = false

  package init(reasons: Reasons = [], overflowed: Bool = false) {
    self.reasons = reasons
    self.overflowed = overflowed
  }

  package var isRelevant: Bool { overflowed || !reasons.isEmpty }
}

/// The kernel's announcements of changes to links, addresses, routes, rules, neighbours and Wi-Fi connections, of the namespace in which it
/// was made.
package final class KernelEvents: Sendable {
  private let route: NetlinkSocket
  private let wifi: NetlinkSocket
  private let hasJoinedWiFi = Mutex(false)
  private let hearsNeighbours = Mutex(false)

  /// Datagrams that one `drain` reads at most from each socket, so that a storm cannot hold up the caller; what is left makes the
  /// descriptor readable again.
  private static let drainLimit = 8192

  /// `RTNLGRP_LINK`, `_IPV4_IFADDR`, `_IPV4_ROUTE`, `_IPV4_RULE`, `_IPV6_IFADDR`, `_IPV6_ROUTE`, `_IPV6_RULE`.
  private static let groups: [Int32] = [1, 5, 7, 8, 9, 11, 19]
  /// `RTNLGRP_NEIGH`.
  private static let neighbourGroup: Int32 = 3

  /// `receiveBuffer` in bytes; 8 MiB hold about twenty thousand route events.
  package init(receiveBuffer: Int32 = 8 << 20) throws(NetlinkError) {
    route = try NetlinkSocket(.route, receiveBuffer: receiveBuffer)
    wifi = try NetlinkSocket(.generic, receiveBuffer: 1 << 20)
    route.dropForeignRouteEvents()
    for group in Self.groups { try route.join(group: group) }
    joinWiFi()
  }

  /// Neighbours are heard of only while somebody asks for a gateway's: entries age, and are confirmed again, on a machine that does nothing.
  package func hearNeighbours(_ wanted: Bool) {
    hearsNeighbours.withLock { hears in
      guard hears != wanted else { return }
      do throws(NetlinkError) {
        if wanted { try route.join(group: Self.neighbourGroup) } else { try route.leave(group: Self.neighbourGroup) }
        hears = wanted
      } catch {
        // Asked again with the next look.
      }
    }
  }

  /// To be watched for readability; then call `drain`.
  package var descriptors: [Int32] { [route.descriptor, wifi.descriptor] }

  /// Reads what has been announced, and says whether it can matter. Of neighbours those at the `gateways` count, where they are not known yet
  /// or turn out to have another hardware address.
  package func drain(watching gateways: [IPAddress: MACAddress?] = [:]) -> KernelChange {
    var change = KernelChange()
    drain(route, into: &change) { EventRelevance.reason(of: $0, gateways: gateways) }
    // A radio's driver may be loaded at any time, and nl80211 with it.
    if change.reasons.contains(.links) || change.overflowed { joinWiFi() }
    drain(wifi, into: &change) { NL80211Message.isAboutConnection($0) ? .wifi : [] }
    return change
  }

  private func drain(_ socket: NetlinkSocket, into change: inout KernelChange, _ reason: (NetlinkMessage) -> KernelChange.Reasons) {
    for _ in 0..<Self.drainLimit {
      do throws(NetlinkError) {
        guard let datagram = try socket.receive() else { return }
        // After a loss everything is read anew: the rest need only be taken off the queue.
        if change.overflowed { continue }
        for message in NetlinkMessages(datagram) { change.reasons.formUnion(reason(message)) }
      } catch {
        // ENOBUFS; or a message too long for us, which is as good as lost.
        change.overflowed = true
        if error.code != ENOBUFS, error.code != EMSGSIZE { return }
      }
    }
  }

  /// Without nl80211 there is nothing to join; links tell of its coming.
  private func joinWiFi() {
    hasJoinedWiFi.withLock { hasJoined in
      guard !hasJoined, let group = try? wifi.resolve(group: NL80211Message.connectionGroup, of: NL80211Message.family) else { return }
      hasJoined = (try? wifi.join(group: group)) != nil
    }
  }
}
