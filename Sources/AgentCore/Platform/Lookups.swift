package import NetworkTypes
internal import RoamwardCore

/// The way of a look-up, for the platform. `Lookups` alone makes one: what asks the network's name servers has requested them too.
package struct LookupWay: Equatable, Sendable {
  package let servers: [IPAddress]
  /// The link that queries leave by; `nil`: the one of their route.
  package let link: String?
  /// Whether queries pass every tunnel by.
  package let isOutside: Bool

  fileprivate init(servers: [IPAddress], link: String?, isOutside: Bool) {
    self.servers = servers
    self.link = link
    self.isOutside = isOutside
  }
}

/// Whose name servers a look-up asks.
enum LookupScope {
  /// The network's, past every tunnel.
  case outside
  /// The network's, by the routes of all other programs.
  case routed
  /// These, by this link.
  case servers([IPAddress], link: String?)
}

/// All look-ups of the agent.
///
/// Name servers are a fact on demand: no source is asked for them before somebody needs them. A look-up by the network's servers is that
/// need: it waits until a source has answered, or none can, for `patience` at most.
final class Lookups {
  private static let patience = Timing().decideWithin

  private let resolve: (DomainName, LookupWay, @escaping (Resolution) -> Void) -> Cancellation?
  private let now: () -> Moment
  private var queue: [Entry] = []
  /// Called when the network's name servers are needed and not known: the machine has to be observed.
  var whenNeeded: () -> Void = {}

  /// A look-up, or anything else that waits for the servers.
  private final class Waiting {
    let due: Moment
    private var body: ((LinkFacts?) -> Cancellation?)?
    private var lookup: Cancellation?

    init(until due: Moment, _ body: @escaping (LinkFacts?) -> Cancellation?) {
      self.due = due
      self.body = body
    }

    func proceed(on underlay: LinkFacts?) {
      guard let body else { return }
      self.body = nil
      lookup = body(underlay)
    }
  }

  private struct Entry {
    weak var waiting: Waiting?
  }

  init(_ network: NetworkPlatform, _ clock: ClockPlatform) {
    (resolve, now) = (network.resolve, clock.now)
  }

  /// Resolves a name; `then` is called later, unless the result was released before.
  func resolve(
    _ name: DomainName, by scope: LookupScope, on underlay: LinkFacts?, then done: @escaping (Resolution) -> Void
  ) -> Cancellation? {
    if case .servers(let servers, let link) = scope {
      return resolve(name, LookupWay(servers: servers, link: link, isOutside: false), done)
    }
    let isOutside = if case .outside = scope { true } else { false }
    return awaitServers(on: underlay) { [resolve] link in
      resolve(
        name, LookupWay(servers: link?.dnsServers.value ?? [], link: isOutside ? link?.name : nil, isOutside: isOutside), done)
    }
  }

  /// Calls `body` when the network's name servers are known: at once, if they are. Releasing the result cancels the wait and the look-up.
  func awaitServers(on underlay: LinkFacts?, then body: @escaping (LinkFacts?) -> Cancellation?) -> Cancellation? {
    if underlay.knowsServers { return body(underlay) }
    let waiting = Waiting(until: now() + Self.patience, body)
    queue.append(Entry(waiting: waiting))
    whenNeeded()
    return Cancellation(waiting)
  }

  /// Whether the network's name servers are needed for a look-up that waits.
  var needsServers: Bool { queue.contains { $0.waiting != nil } }

  /// The moment at which the first one waits no longer.
  var nextDeadline: Moment? { queue.compactMap(\.waiting?.due).min() }

  /// Takes in the network as it is now: look-ups proceed whose servers are known, or whose time is over. `isLast`: all of them.
  func learn(_ underlay: LinkFacts?, isLast: Bool) {
    guard !queue.isEmpty else { return }
    let waiting = queue.compactMap(\.waiting)
    let ready = waiting.filter { isLast || underlay.knowsServers || $0.due <= now() }
    queue = waiting.filter { one in !ready.contains { $0 === one } }.map { Entry(waiting: $0) }
    for one in ready { one.proceed(on: underlay) }
  }
}

extension LinkFacts? {
  /// Whether its name servers are known, or never will be.
  fileprivate var knowsServers: Bool {
    guard let link = self else { return true }
    return link.dnsServers.value != nil || link.unavailable.contains(.dnsServers)
  }
}
