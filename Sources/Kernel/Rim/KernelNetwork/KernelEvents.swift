internal import CNetlink
internal import Glibc
package import KernelModel
package import NetworkTypes
import Synchronization
import Wire

/// The kinds of objects that changed in the kernel, never their present state: that is read again.
package struct KernelChange: Equatable, Sendable {
  package struct Reasons: OptionSet, Equatable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let links = Reasons(rawValue: 1)
    package static let addresses = Reasons(rawValue: 2)
    package static let routes = Reasons(rawValue: 4)
    package static let rules = Reasons(rawValue: 8)
    package static let neighbours = Reasons(rawValue: 16)
    package static let wifi = Reasons(rawValue: 32)
    /// Reverse path filtering (`rp_filter`).
    package static let settings = Reasons(rawValue: 64)
  }

  package var reasons: Reasons = []
  /// Events were lost: anything may have changed.
  package var overflowed = false
  /// Whether an event concerns an object with our marks.
  package var isOfOurs = false
  /// Whether the machine's default route or its carrier is gone, or another default route takes its place.
  package var takesWay = false
  /// Removed devices; another one may have the index by now.
  package var goneLinks: Set<InterfaceIndex> = []
  /// The number of events read, including irrelevant ones.
  package var events = 0

  package init(reasons: Reasons = [], overflowed: Bool = false) {
    self.reasons = reasons
    self.overflowed = overflowed
  }

  package var isRelevant: Bool { overflowed || !reasons.isEmpty }
}

/// The kernel's announcements of changes to links, addresses, routes, rules, neighbours, reverse path filtering and Wi-Fi connections, in
/// the namespace in which this was created.
package final class KernelEvents: Sendable {
  private let route: NetlinkSocket
  private let wifi: NetlinkSocket
  private let hasJoinedWiFi = Mutex(false)
  private let interest = Mutex(Interest())
  /// Announcements that came before the last read of the kernel's state, for the next `drain`.
  private let held = Mutex<Held>(Held())

  private struct Interest {
    /// The objects whose events count.
    var present: EventInterest?
    /// Those whose events the kernel sends, which include them; `nil`: all.
    var sent: EventInterest?
  }

  private struct Held {
    var datagrams: [[UInt8]] = []
    /// The number of those that came before the last read.
    var read = 0
    var wereLost = false

    var isEmpty: Bool { !wereLost && datagrams.isEmpty }
  }

  /// The maximum number of datagrams that one `drain` reads from each socket, so that a storm cannot block the caller. The rest makes the
  /// descriptor readable again.
  private static let drainLimit = 8192
  /// The same of one `hold`; the rest counts as coming after the read.
  private static let holdLimit = 256

  /// `RTNLGRP_LINK`, `_NEIGH`, `_IPV4_IFADDR`, `_IPV4_ROUTE`, `_IPV4_RULE`, `_IPV6_IFADDR`, `_IPV6_ROUTE`, `_IPV6_RULE`, `_IPV4_NETCONF`.
  private static let groups: [Int32] = [1, 3, 5, 7, 8, 9, 11, 19, 24]

  /// `receiveBuffer` in bytes; 8 MiB hold about twenty thousand route events.
  package init(receiveBuffer: Int32 = 8 << 20) throws(NetlinkError) {
    route = try NetlinkSocket(.route, receiveBuffer: receiveBuffer)
    wifi = try NetlinkSocket(.generic, receiveBuffer: 1 << 20)
    _ = route.limit(only: nil)
    for group in Self.groups { try route.join(group: group) }
    joinWiFi()
  }

  /// The descriptors to watch for readability; then call `drain`.
  package var descriptors: [Int32] { [route.descriptor, wifi.descriptor] }

  /// The result of ``subscribe(to:)``.
  package enum Subscription: Sendable {
    case unchanged
    /// Some objects are newly included: the last read may have missed a change of them, and has to be repeated.
    case wider
    /// The kernel sends the events of other objects than count, until ``narrow()``: all that can matter, except that a link with a name
    /// that tunnels need gets another name.
    case inexact
  }

  /// Limits the kernel's announcements to these objects, at once where more of them count than before. It takes a tenth of a millisecond,
  /// and a tunnel may be waiting.
  package func subscribe(to new: EventInterest) -> Subscription {
    interest.withLock { interest in
      let isFirst = interest.present == nil
      if interest.present == new { return .unchanged }
      interest.present = new
      if let sent = interest.sent, sent.covers(new) { return sent == new ? .unchanged : .inexact }
      limit(&interest)
      return isFirst ? .unchanged : .wider
    }
  }

  /// Limits the announcements to those that count. Returns true if the last read may have missed a change, and has to be repeated.
  package func narrow() -> Bool {
    interest.withLock { interest in
      guard let present = interest.present, interest.sent != present else { return false }
      let isNew = interest.sent.map { !$0.links.isSuperset(of: present.links) } ?? false
      limit(&interest)
      return isNew
    }
  }

  private func limit(_ interest: inout Interest) {
    interest.sent = interest.present
    // Refused, for example because it is too long: then all events are received, and filtered here.
    if !route.limit(only: interest.present) { _ = route.limit(only: nil) }
  }

  /// Sets aside what has been announced until now. A read follows that shows the state of our own objects, so their announcements do not
  /// matter any more: they are our own changes, half made. The next `drain` handles all others. Returns whether there are any.
  package func hold() -> Bool {
    held.withLock { held in
      _ = receive(into: &held)
      held.read = held.datagrams.count
      return !held.isEmpty
    }
  }

  /// Whether announcements are set aside for the next `drain`.
  package var holds: Bool { held.withLock { !$0.isEmpty } }

  /// Whether nothing that can matter was announced since the last read, which showed `known`, apart from changes that were requested at
  /// this port. The announcements are set aside. A change without a request, for example the loss of a carrier, has another port.
  package func confirm(_ known: KernelState, changedBy port: UInt32) -> Bool {
    held.withLock { held in
      guard receive(into: &held), !held.wereLost, !wifi.isReadable else { return false }
      var relevance: EventRelevance?
      return held.datagrams[held.read...].allSatisfy { datagram in
        NetlinkMessages(datagram).allSatisfy { message in
          if message.port == port { return true }
          let relevanceNow = relevance ?? EventRelevance(interest: interest.withLock { $0.present }, known: known)
          relevance = relevanceNow
          return relevanceNow.reason(of: message).isEmpty
        }
      }
    }
  }

  /// Returns false if there may be more.
  private func receive(into held: inout Held) -> Bool {
    for _ in 0..<Self.holdLimit {
      do throws(NetlinkError) {
        guard let datagram = try route.receive() else { return true }
        held.datagrams.append(datagram)
      } catch {
        held.wereLost = true
        return false
      }
    }
    return false
  }

  /// Reads the announcements, and returns whether they can matter. `known` is the last read state: events that confirm it do not count.
  package func drain(known: KernelState? = nil) -> KernelChange {
    var change = KernelChange()
    var relevance: EventRelevance?
    var (isOfOurs, takesWay) = (false, false)
    let earlier = held.withLock { held in
      defer { held = Held() }
      return held
    }
    change.overflowed = earlier.wereLost
    var isEarlier = true
    func reason(_ message: NetlinkMessage) -> KernelChange.Reasons {
      // Created on demand: there may be ten thousand links.
      let relevanceNow = relevance ?? EventRelevance(interest: interest.withLock { $0.present }, known: known)
      relevance = relevanceNow
      if isEarlier, relevanceNow.isSuperseded(message) { return [] }
      let reasons = relevanceNow.reason(of: message)
      if !reasons.isEmpty, !isOfOurs { isOfOurs = relevanceNow.isOfOurs(message) }
      if !reasons.isEmpty, !takesWay { takesWay = relevanceNow.takesWay(message) }
      return reasons
    }
    for datagram in earlier.datagrams { take(datagram, into: &change, reason) }
    isEarlier = false
    drain(route, into: &change, reason)
    change.isOfOurs = isOfOurs
    change.takesWay = takesWay
    // A radio's driver may be loaded at any time, and nl80211 with it.
    if !change.reasons.isDisjoint(with: [.links, .addresses]) || change.overflowed { joinWiFi() }
    drain(wifi, into: &change) { NL80211Message.isAboutConnection($0) ? .wifi : [] }
    return change
  }

  private func drain(_ socket: NetlinkSocket, into change: inout KernelChange, _ reason: (NetlinkMessage) -> KernelChange.Reasons) {
    for _ in 0..<Self.drainLimit {
      do throws(NetlinkError) {
        guard let datagram = try socket.receive() else { return }
        // After a loss everything is read again: the rest only has to be removed from the queue.
        if change.overflowed { continue }
        take(datagram, into: &change, reason)
      } catch {
        // ENOBUFS, or a message that is too long, which is handled as lost.
        change.overflowed = true
        if error.code != ENOBUFS, error.code != EMSGSIZE { return }
      }
    }
  }

  private func take(_ datagram: [UInt8], into change: inout KernelChange, _ reason: (NetlinkMessage) -> KernelChange.Reasons) {
    for message in NetlinkMessages(datagram) {
      change.events += 1
      if message.type == LinkMessage.delete, message.payload.byte(at: 0) == 0, let gone = message.linkIndex {
        change.goneLinks.insert(gone)
      }
      change.reasons.formUnion(reason(message))
    }
  }

  /// Joins the groups of nl80211 if it exists; link events announce its arrival.
  private func joinWiFi() {
    hasJoinedWiFi.withLock { hasJoined in
      guard !hasJoined, let group = try? wifi.resolve(group: NL80211Message.connectionGroup, of: NL80211Message.family) else { return }
      hasJoined = (try? wifi.join(group: group)) != nil
    }
  }
}
