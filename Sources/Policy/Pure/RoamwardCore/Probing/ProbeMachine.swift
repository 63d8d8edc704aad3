package import NetworkTypes

/// Decides which requests to send to the network and when, and which replies to accept. It has no clock, no socket and no randomness.
///
/// An answer belongs to one attachment to one network. On another network, after a time without one, and after sleep it is only remembered.
/// An attacker can imitate a network, so an earlier proof proves nothing now.
package struct ProbeMachine: Hashable, Sendable {
  /// Identifies one transmission of a request. A reply under a token of an earlier attachment, or of a repeated request, is dropped.
  package struct Token: Hashable, Sendable {
    package let attachment: Int
    package let serial: Int
  }

  package enum Effect: Equatable, Sendable {
    case send(Token, Inquiry)
    case abort(Token)
  }

  /// The limit of concurrent requests; the others wait for one of these to end.
  static let mostAtOnce = 8
  /// The time for which an unneeded answer stays valid: an older one is requested again when a decision depends on it.
  static let fresh = Duration.seconds(60)

  struct Record: Hashable, Sendable {
    var result: InquiryResult?
    var reply: ProbeReply?
    var answeredAt: Moment?
    var run: Token?
    /// When the current network was first queried.
    var since: Moment?
    var nextAt: Moment?
    var isWanted = false
    /// Whether something has happened since the answer: it is requested again, and used until then.
    var isStale = false
  }

  let check: ConnectivityCheck?
  private(set) var records: [Inquiry: Record] = [:]
  package private(set) var attachment = 0
  private var serial = 0
  /// All identities of this network since the machine attached to it. A network that does not fit all of them is another one.
  private var identities: [NetworkIdentity] = []
  private var path: ProbePath?
  private var given = Given()
  private var memory = ProbeMemory()
  /// The results of the last visit to this network.
  private var remembered: [Evidence: Bool] = [:]

  /// `check`: the administrator's internet check, if there is one.
  package init(check: ConnectivityCheck? = nil) { self.check = check }

  // MARK: The network

  /// Updates the network as the host's own sources report it; returns the requests that are obsolete.
  package mutating func attach(to network: NetworkSnapshot, at now: Moment) -> [Effect] {
    var effects: [Effect] = []
    let identity = NetworkIdentity(of: network)
    let newPath = ProbePath(of: network)
    if path != nil, newPath == nil || !identities.allSatisfy({ $0.mayBeSame(as: identity) }) { effects += leave(at: now) }
    guard let newPath else { return effects }
    if !identities.contains(identity) {
      identities = identities.suffix(7) + [identity]
      remembered = memory.answers(of: identity, at: now)
    }
    let newGiven = Given(network)
    if path != nil, path != newPath { effects += askAnew() }
    if given.captivePortal.value == true, newGiven.captivePortal.value != true { distrustFailures() }
    if given.internet.value == false, newGiven.internet.value != false { distrustFailures() }
    path = newPath
    given = newGiven
    return effects
  }

  /// Records that the machine has slept, and may have been moved meanwhile.
  package mutating func wake(at now: Moment) -> [Effect] { leave(at: now) }

  /// Invalidates all answers; they are remembered for the next visit.
  private mutating func leave(at now: Moment) -> [Effect] {
    if let identity = identities.last { memory.keep(records, of: identity, at: now) }
    let effects = running.map { Effect.abort($0.token) }
    attachment += 1
    records = [:]
    identities = []
    remembered = [:]
    path = nil
    given = Given()
    return effects
  }

  /// Repeats all requests: the same network has another address or name server. Requests in flight come from an address that may be gone.
  private mutating func askAnew() -> [Effect] {
    let effects = running.map { Effect.abort($0.token) }
    for inquiry in records.keys {
      records[inquiry]?.run = nil
      records[inquiry]?.isStale = true
      records[inquiry]?.since = nil
    }
    return effects
  }

  /// Marks failures as stale: a portal has opened, or the internet has come back, and what failed before may succeed now.
  private mutating func distrustFailures() {
    for (inquiry, record) in records where record.result?.outlook != .settled && record.run == nil {
      records[inquiry]?.isStale = true
      records[inquiry]?.since = nil
    }
  }

  // MARK: Requests

  /// Starts the requests that the decisions now depend on, as far as the host's own sources do not answer them; cancels the others.
  package mutating func want(_ evidence: Set<Evidence>, at now: Moment) -> [Effect] {
    let wanted = path == nil ? [] : inquiries(for: evidence)
    var effects: [Effect] = []
    for inquiry in records.keys.sorted(by: { $0.order < $1.order }) where !wanted.contains(inquiry) {
      if let run = records[inquiry]?.run { effects.append(.abort(run)) }
      records[inquiry]?.run = nil
      records[inquiry]?.isWanted = false
      if records[inquiry]?.result == nil { records[inquiry] = nil }
    }
    for inquiry in wanted.sorted(by: { $0.order < $1.order }) {
      var record = records[inquiry] ?? Record()
      if !record.isWanted, let answeredAt = record.answeredAt, answeredAt + Self.fresh < now {
        record.isStale = true
        record.since = nil
      }
      record.isWanted = true
      let isDue = record.result == nil || record.isStale || record.nextAt.map { $0 <= now } ?? false
      if record.run == nil, isDue, running.count < Self.mostAtOnce {
        serial += 1
        let token = Token(attachment: attachment, serial: serial)
        record.run = token
        record.since = record.since ?? now
        record.isStale = false
        record.nextAt = nil
        effects.append(.send(token, inquiry))
      }
      records[inquiry] = record
    }
    return effects
  }

  /// Takes a reply; `false` if it is not accepted, because it belongs to another network or its request was cancelled.
  package mutating func take(_ reply: ProbeReply, for token: Token, at now: Moment) -> Bool {
    guard token.attachment == attachment, let (inquiry, before) = records.first(where: { $0.value.run == token }) else { return false }
    var record = before
    let result = InquiryResult(of: inquiry, reply)
    record.run = nil
    record.result = result
    record.reply = reply
    record.answeredAt = now
    record.nextAt = InquiryBackoff(result.outlook).next(asking: record.since ?? now, at: now)
    records[inquiry] = record
    let wasShut = before.result?.facts[.captivePortal]?.value == true || before.result?.facts[.internet]?.value == false
    if wasShut, result.outlook == .settled { distrustFailures() }
    return true
  }

  /// When to call `want` again without an event; `nil`: no request is due.
  package var nextDeadline: Moment? {
    records.values.compactMap { $0.isWanted && $0.run == nil ? $0.nextAt : nil }.min()
  }

  private var running: [(token: Token, inquiry: Inquiry)] {
    records.compactMap { inquiry, record in record.run.map { ($0, inquiry) } }.sorted { $0.token.serial < $1.token.serial }
  }

  /// The requests that yield this evidence, the portal's own API before the connectivity check.
  private func inquiries(for evidence: Set<Evidence>) -> Set<Inquiry> {
    var wanted = Set<Inquiry>()
    for piece in evidence {
      switch piece {
      case .probe(let probe): if !given.answers(probe) { wanted.insert(.probe(probe)) }
      case .captivePortal: if given.captivePortal.value == nil { wanted.formUnion(inquiriesForPortal) }
      case .internet: if given.internet.value == nil, let check { wanted.insert(.connectivity(check)) }
      }
    }
    return wanted
  }

  /// The requests for internet evidence. A portal API that reports "closed" is sufficient; "open" does not prove that the internet is
  /// reachable.
  private var inquiriesForInternet: [Inquiry] {
    (check.map { [.connectivity($0)] } ?? []) + (given.portalAPI.map { [.portalAPI($0)] } ?? [])
  }

  private var inquiriesForPortal: [Inquiry] {
    let check = check.map { [Inquiry.connectivity($0)] } ?? []
    guard let api = given.portalAPI else { return check }
    let portal = Inquiry.portalAPI(api)
    let isMute = records[portal]?.result.map { $0.facts[.captivePortal]?.value == nil } ?? false
    return isMute ? [portal] + check : [portal]
  }

  // MARK: Facts

  /// Completes the network with the probe results. The host's own sources take precedence.
  package func complete(_ network: NetworkSnapshot, probes: [Probe]) -> NetworkSnapshot {
    var completed = network
    guard path != nil else { return network }
    for probe in probes where network.answer(to: probe).value == nil {
      let fact = fact(.probe(probe), from: [.probe(probe)])
      completed.probes[probe.name] = fact
      if fact.value == nil, let answer = remembered[.probe(probe)] { completed.rememberedProbes[probe.name] = answer }
    }
    // A connectivity check of the agent's own, or the portal's API, finds facts that the host does not know.
    if check != nil || network.portalAPI != nil { completed.unavailable.subtract([.captivePortal, .internet]) }
    if network.captivePortal.value == nil { completed.captivePortal = fact(.captivePortal, from: inquiriesForPortal) }
    if network.internet.value == nil { completed.internet = fact(.internet, from: inquiriesForInternet) }
    return completed
  }

  private func fact(_ evidence: Evidence, from sources: [Inquiry]) -> Fact<Bool> {
    guard !sources.isEmpty else { return .unknown(reason: noCheck) }
    let asked = sources.compactMap { records[$0] }
    let facts = asked.compactMap { $0.result?.facts[evidence] }
    if let known = facts.first(where: { $0.value != nil }) { return known }
    if asked.contains(where: { $0.run != nil }) { return .unknown(reason: "the probe is under way") }
    return facts.first ?? .unknown(reason: asked.contains(where: \.isWanted) ? "the probe waits for its turn" : "no rule needs it now")
  }
}

private let noCheck = "no connectivity check is configured; cure: roamwardd --connectivity-check URL"

/// The facts from the host's own sources, which need no request.
private struct Given: Hashable, Sendable {
  var captivePortal = Fact<Bool>.unknown(reason: "")
  var internet = Fact<Bool>.unknown(reason: "")
  var portalAPI: String?
  private var probes: [String: Fact<Bool>] = [:]
  private var otherProbes = Fact<Bool>.unknown(reason: "")

  init() {}

  init(_ network: NetworkSnapshot) {
    captivePortal = network.captivePortal
    internet = network.internet
    probes = network.probes
    otherProbes = network.otherProbes
    portalAPI = network.portalAPI
  }

  func answers(_ probe: Probe) -> Bool { (probes[probe.name] ?? probes[probe.url] ?? otherProbes).value != nil }
}

/// The path of a request besides the network's identity: a change of it may change the answer.
private struct ProbePath: Hashable, Sendable {
  let link: String
  let addresses: [InterfaceAddress]
  let gateways: [IPAddress]
  let nameServers: Fact<[IPAddress]>
  let bssid: MACAddress?
  let portalAPI: String?

  /// The path on this network; `nil` without a network.
  init?(of network: NetworkSnapshot) {
    guard let primary = network.primaryLink else { return nil }
    link = primary.name
    addresses = primary.addresses.filter { !$0.address.isLinkLocal }
    gateways = primary.gateways
    nameServers = primary.dnsServers
    bssid = primary.bssid.value ?? nil
    portalAPI = network.portalAPI
  }
}
