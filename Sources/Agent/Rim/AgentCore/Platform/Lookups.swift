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

/// The name servers that a look-up asks.
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
/// need: it waits until a source has answered, or none can, for `patience` at most. A network's servers may be known later than its
/// routes: a look-up that is under way when they become others is made again, by these.
final class Lookups {
  private static let patience = Timing().decideWithin

  private let resolve: (DomainName, LookupWay, @escaping (Resolution) -> Void) -> Cancellation?
  private let now: () -> Moment
  private var queue: [Entry] = []
  /// Called when the network's name servers are needed and not known: the machine has to be observed.
  var whenNeeded: () -> Void = {}

  /// A look-up, or anything else that needs the network's servers, until it ends.
  private final class Request {
    enum Phase {
      case waiting(until: Moment)
      case underWay(servers: [IPAddress]?)
      case ended
    }

    private(set) var phase: Phase
    private let body: (LinkFacts?) -> Cancellation?
    private var lookup: Cancellation?

    init(until due: Moment, _ body: @escaping (LinkFacts?) -> Cancellation?) {
      phase = .waiting(until: due)
      self.body = body
    }

    var due: Moment? { if case .waiting(let due) = phase { due } else { nil } }

    func proceed(on underlay: LinkFacts?) {
      phase = .underWay(servers: underlay?.dnsServers.value)
      lookup = nil
      lookup = body(underlay)
      if lookup == nil { phase = .ended }
    }

    func end() { phase = .ended }

    /// Whether it has to begin, or to begin again, on this network.
    func isDue(on underlay: LinkFacts?, at now: Moment) -> Bool {
      switch phase {
      case .waiting(let due): underlay.knowsServers || due <= now
      case .underWay(let servers): underlay?.dnsServers.value.map { $0 != servers } ?? false
      case .ended: false
      }
    }
  }

  private struct Entry {
    weak var request: Request?
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
    weak var asked: Request?
    let request = Request(until: now() + Self.patience) { [resolve] link in
      let way = LookupWay(servers: link?.dnsServers.value ?? [], link: isOutside ? link?.name : nil, isOutside: isOutside)
      return resolve(name, way) {
        asked?.end()
        done($0)
      }
    }
    asked = request
    begin(request, on: underlay)
    return Cancellation(request)
  }

  /// Calls `body` once, when the network's name servers are known: at once, if they are. Releasing the result cancels the wait.
  func awaitServers(on underlay: LinkFacts?, then body: @escaping () -> Void) -> Cancellation? {
    let request = Request(until: now() + Self.patience) { _ in
      body()
      return nil
    }
    begin(request, on: underlay)
    return request.due.map { _ in Cancellation(request) }
  }

  private func begin(_ request: Request, on underlay: LinkFacts?) {
    if underlay.knowsServers { request.proceed(on: underlay) }
    if case .ended = request.phase { return }
    queue.append(Entry(request: request))
    if request.due != nil { whenNeeded() }
  }

  private var requests: [Request] { queue.compactMap(\.request) }

  /// Whether the network's name servers are needed for a look-up that waits, or is under way.
  var needsServers: Bool { !requests.isEmpty }

  /// The moment at which the first one waits no longer.
  var nextDeadline: Moment? { requests.compactMap(\.due).min() }

  /// Takes in the network as it is now: look-ups proceed whose servers are known, or are others by now, or whose time is over.
  /// `isLast`: all that wait.
  func learn(_ underlay: LinkFacts?, isLast: Bool) {
    guard !queue.isEmpty else { return }
    for one in requests where one.isDue(on: underlay, at: now()) || isLast && one.due != nil { one.proceed(on: underlay) }
    queue.removeAll { if case .ended? = $0.request?.phase { true } else { $0.request == nil } }
  }
}

extension LinkFacts? {
  /// Whether its name servers are known, or never will be.
  fileprivate var knowsServers: Bool {
    guard let link = self else { return true }
    return link.dnsServers.value != nil || link.unavailable.contains(.dnsServers)
  }
}
