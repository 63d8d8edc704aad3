package import KernelModel
package import NetworkTypes

/// The addresses of names that go through a tunnel, or past it, because of its policy's domains. Ascending, each once.
package struct PrefixesByName: Hashable, Sendable {
  package var included: [IPPrefix] = []
  package var excluded: [IPPrefix] = []

  package init(included: [IPPrefix] = [], excluded: [IPPrefix] = []) {
    self.included = included
    self.excluded = excluded
  }

  package var isEmpty: Bool { included.isEmpty && excluded.isEmpty }

  /// Those that the kernel has routes of, by tunnel: an agent before this one, or another process, has made them.
  package static func inKernel(_ kernel: KernelState) -> [String: PrefixesByName] {
    let own = kernel.ownRoutes
    let learned = own.filter { $0.metric == Route.metricByName && $0.destination.length == $0.destination.family.bitWidth }
    if learned.isEmpty { return [:] }
    let links = Dictionary(own.compactMap { route in route.link.map { (route.table, $0) } }) { first, _ in first }
    var found: [String: PrefixesByName] = [:]
    for route in learned {
      guard let link = links[route.table], let tunnel = Ownership.tunnel(ofAlias: kernel.link(named: link)?.alias) else { continue }
      if route.kind == .throw {
        found[tunnel, default: PrefixesByName()].excluded.append(route.destination)
      } else {
        found[tunnel, default: PrefixesByName()].included.append(route.destination)
      }
    }
    return found.mapValues { PrefixesByName(included: $0.included.ascending, excluded: $0.excluded.ascending) }
  }
}

/// The addresses that answers for routed names gave, with the time for which their routes stay. Pure: no clock.
///
/// A route stays as long as programs may keep the answer, at least for `shortest`, and longer while there is a connection to its address.
/// Each tunnel has at most `limit`. Then an excluded one makes room, that whose name was asked for least recently: its packets go inside.
/// An included one stays, because programs may still use it, and the new answer fails.
package struct RoutesByName: Sendable {
  package struct Entry: Hashable, Sendable {
    package var way: NameWay
    /// The name that was asked for last; `nil`: an agent before this one knew it.
    package var name: DomainName?
    package fileprivate(set) var until: Moment
    /// Grows with each answer.
    fileprivate var number: UInt64
    /// A name outside the policy's domains that has the address too.
    package fileprivate(set) var other: String?
  }

  /// Addresses of a tunnel.
  package static let limit = 1024
  /// Seconds for which programs may keep an answer, at most. A new agent keeps the routes of the last one for so long.
  package static let longestTTL: UInt32 = 600
  static let shortest = Duration.seconds(300)
  /// The time after which a route is looked at again that a connection needs, or whose tunnel is down.
  static let again = Duration.seconds(60)
  /// Routes that end so soon after one another end together.
  private static let slack = Duration.seconds(10)

  package private(set) var entries: [String: [IPAddress: Entry]] = [:]
  /// The consequences for the routes of each tunnel.
  package private(set) var prefixes: [String: PrefixesByName] = [:]
  /// The number of addresses of each tunnel that made room for others.
  package private(set) var evicted: [String: Int] = [:]
  private var last: UInt64 = 0

  package init() {}

  /// The next moment at which `expire` may have an effect; `nil`: it has none.
  package private(set) var nextDeadline: Moment?

  package enum Result: Equatable, Sendable {
    /// There is a route already.
    case known
    case new
    /// There is none, and another address of the tunnel has lost its own: the tunnel's first one.
    case newInsteadOfOther
    /// There is no room: the answer fails.
    case full
  }

  /// Takes an address of an answer for a name of the tunnel's policy. An address of several names goes through the tunnel if one of them
  /// does.
  package mutating func take(
    _ address: IPAddress, of name: DomainName, _ way: NameWay, in tunnel: String, for lifetime: Duration, at now: Moment
  ) -> Result {
    last += 1
    let known = entries[tunnel]?[address]
    let until = max(now + min(max(lifetime, Self.shortest), .seconds(Int64(Self.longestTTL))), known?.until ?? now)
    // By the name that decides, a change of the policies is judged.
    let decisive = known?.way == .include && way == .exclude ? known?.name : name
    let way = known?.way == .include ? .include : way
    entries[tunnel, default: [:]][address] = Entry(way: way, name: decisive, until: until, number: last, other: known?.other)
    nextDeadline = min(nextDeadline ?? until, until)
    if known?.way == way { return .known }
    var result = Result.new
    if let all = entries[tunnel], all.count > Self.limit {
      let leaving = all.filter { $0.value.way == .exclude && $0.key != address }
      guard let oldest = leaving.min(by: { $0.value.number < $1.value.number }) else {
        entries[tunnel]?[address] = known
        return .full
      }
      entries[tunnel]?[oldest.key] = nil
      if evicted[tunnel] == nil { result = .newInsteadOfOther }
      evicted[tunnel, default: 0] += 1
    }
    follow(tunnel)
    return result
  }

  /// Notes that another name has an address too. Returns the tunnels whose routes concern it, unless that is known.
  package mutating func share(_ address: IPAddress, with other: String) -> [String] {
    let concerned = entries.filter { $0.value[address].map { $0.other == nil } ?? false }.keys.sorted()
    for tunnel in concerned { entries[tunnel]?[address]?.other = other }
    return concerned
  }

  /// Takes over the routes of an agent before this one.
  package mutating func adopt(_ found: [String: PrefixesByName], at now: Moment) {
    let until = now + .seconds(Int64(Self.longestTTL))
    for (tunnel, prefixes) in found {
      for (way, prefixes) in [(NameWay.include, prefixes.included), (.exclude, prefixes.excluded)] {
        for prefix in prefixes.prefix(Self.limit) where entries[tunnel]?[prefix.address] == nil {
          last += 1
          entries[tunnel, default: [:]][prefix.address] = Entry(way: way, until: until, number: last)
        }
      }
      nextDeadline = min(nextDeadline ?? until, until)
      follow(tunnel)
    }
  }

  /// Ends the routes whose time has come. `keeps`: whether a tunnel's included ones stay, because its kill switch blocks their addresses.
  /// `connected`: the addresses to which there are connections, asked only if a route would end; `nil`: not known, and all stay.
  package mutating func expire(at now: Moment, keeps: (String) -> Bool, connected: () -> Set<IPAddress>?) {
    guard let next = nextDeadline, next <= now else { return }
    var (inUse, isAsked): (Set<IPAddress>?, Bool) = (nil, false)
    for (tunnel, all) in entries {
      let due = all.filter { $0.value.until <= now + Self.slack }.keys
      if due.isEmpty { continue }
      let blocks = keeps(tunnel)
      for address in due {
        let stays = blocks && all[address]?.way == .include
        if !stays, !isAsked { (inUse, isAsked) = (connected(), true) }
        if stays || inUse?.contains(address) ?? true {
          entries[tunnel]?[address]?.until = now + Self.again
        } else {
          entries[tunnel]?[address] = nil
        }
      }
      follow(tunnel)
    }
    nextDeadline = entries.values.lazy.flatMap(\.values).map(\.until).min()
  }

  /// Keeps only the routes that the present policies ask for.
  package mutating func follow(_ policies: PolicySet) {
    for (tunnel, all) in entries {
      let routes = policies.tunnel(named: tunnel).flatMap { $0.isEnabled ? $0.routes : nil } ?? RoutePolicy()
      let kept = all.filter { _, entry in
        if let name = entry.name { return routes.way(of: name) == entry.way }
        return entry.way == .include ? !routes.includeDomains.isEmpty : !routes.excludeDomains.isEmpty
      }
      if kept.count == all.count { continue }
      entries[tunnel] = kept
      follow(tunnel)
    }
  }

  private mutating func follow(_ tunnel: String) {
    guard let all = entries[tunnel], !all.isEmpty else {
      (entries[tunnel], prefixes[tunnel]) = (nil, nil)
      return
    }
    func ascending(_ way: NameWay) -> [IPPrefix] { all.filter { $0.value.way == way }.map { .host($0.key) }.ascending }
    prefixes[tunnel] = PrefixesByName(included: ascending(.include), excluded: ascending(.exclude))
  }
}
