import ControlProtocol
import KernelModel
import NetworkTypes
import RoamwardCore

/// The knowledge of the agent about answers that passed our name server.
struct NamesInAnswers {
  private(set) var withheld = WithheldTally()
  var routes = RoutesByName()
  /// The last address of each tunnel that was given no route, with the reason.
  private(set) var unrouted: [String: Unrouted] = [:]
  /// Answers that wait until the routes of their addresses are made.
  private var waiting: [(until: Moment, done: (Bool) -> Void)] = []
  /// The time after which the name server has given an answer up.
  private static let patience = Duration.seconds(2)
  /// The policies that `routes` follow.
  private var followed: PolicySet?

  struct Unrouted: Equatable {
    let name: DomainName
    let address: IPAddress
    let reason: String
  }

  var isWaiting: Bool { !waiting.isEmpty }

  mutating func await(at now: Moment, _ done: @escaping (Bool) -> Void) {
    waiting.removeFirst(waiting.prefix { $0.until <= now }.count)
    waiting.append((now + Self.patience, done))
  }

  /// Lets the answers go that wait: all routes are made.
  mutating func release() {
    let released = waiting
    waiting = []
    for answer in released { answer.done(true) }
  }

  /// Returns whether they are the first ones of the tunnel.
  mutating func withhold(_ answers: WithheldAnswers, of tunnel: String, at time: Timestamp) -> Bool {
    withheld.add(answers, of: tunnel, at: time)
  }

  mutating func leaveUnrouted(_ address: IPAddress, of name: DomainName, in tunnel: String, reason: String) {
    unrouted[tunnel] = Unrouted(name: name, address: address, reason: reason)
  }

  /// Follows the policies.
  mutating func follow(_ policies: PolicySet) {
    if followed?.isSameValue(as: policies) == true { return }
    followed = policies
    routes.follow(policies)
    unrouted = unrouted.filter { policies.tunnel(named: $0.key)?.routes?.way(of: $0.value.name) != nil }
  }

  /// The report on the tunnel's routes by name. `time`: a moment by the wall clock.
  func report(of policy: TunnelPolicy, isUp: Bool, at time: (Moment) -> Timestamp) -> NamedRoutesReport? {
    guard let routes = policy.routes, policy.routesByName else { return nil }
    let entries = isUp ? self.routes.entries[policy.name] ?? [:] : [:]
    let first = entries.sorted { ($0.value.other == nil ? 1 : 0, $0.key) < ($1.value.other == nil ? 1 : 0, $1.key) }
    let shown = first.prefix(StatusReport.Tunnel.longestList)
    let refused = unrouted[policy.name].map { "\($0.address) of \($0.name) gets no route, because \($0.reason)" }
    return NamedRoutesReport(
      routes, addresses: shown.map { .init($0.key, $0.value, until: time($0.value.until)) }, count: entries.count,
      evicted: self.routes.evicted[policy.name] ?? 0, refused: refused)
  }

  /// The name server's report on withheld answers of tunnels that are up, unless the policy allows the last name meanwhile.
  func withheldReports(of tunnels: TunnelSet) -> [StatusReport.Withheld] {
    withheld.entries.sorted { $0.key < $1.key }.compactMap { name, entry in
      guard let tunnel = tunnels[name], tunnel.machine.level.hasRoutes else { return nil }
      let isAllowed = DomainName(entry.answers.name).map { last in
        tunnels.ordered.contains { $0.policyInForce.dnsInForce.rebindAllowed.contains(where: last.isWithin) }
      }
      return isAllowed ?? false ? nil : StatusReport.Withheld(entry.answers, of: name, at: entry.at)
    }
  }
}

/// The answers that our name server has withheld, by the tunnel inside which their addresses are.
struct WithheldTally {
  private(set) var entries: [String: (answers: WithheldAnswers, at: Timestamp)] = [:]

  /// Returns whether they are the first ones of the tunnel.
  mutating func add(_ answers: WithheldAnswers, of tunnel: String, at time: Timestamp) -> Bool {
    let before = entries[tunnel]?.answers.count
    var sum = answers
    sum.count &+= before ?? 0
    entries[tunnel] = (sum, time)
    return before == nil
  }
}
