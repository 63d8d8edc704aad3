package import NetworkTypes

/// Decides which questions are put to the network and when, and which answers are believed. Has no clock, no socket and no chance in it.
///
/// An answer belongs to one attachment to one network. On another network, after a time without one, and after sleep it is only remembered:
/// anybody may imitate a network, so what was proven before proves nothing now.
package struct ProbeMachine: Hashable, Sendable {
  /// Names one sending of a request. What comes back under a token of an earlier attachment, or of a question
  /// that was put again, is dropped.
  package struct Token: Hashable, Sendable {
    package let attachment: Int
    package let serial: Int
  }

  package enum Effect: Hashable, Sendable {
    case send(Token, Inquiry)
    case abort(Token)
  }

  /// Requests on their way at once; the others wait for one of these to end.
  static let mostAtOnce = 8
  /// An answer that nothing hung on for longer than this is asked for anew when something does again.
  static let fresh = Duration.seconds(60)

  struct Record: Hashable, Sendable {
    var result: InquiryResult?
    var reply: ProbeReply?
    var answeredAt: Moment?
    var run: Token?
    /// When the network, as it is now, was first asked.
    var since: Moment?
    var nextAt: Moment?
    var isWanted = false
    /// Something has happened since: it is asked anew, and believed until then.
    var isStale = false
  }

  let check: ConnectivityCheck?
  private(set) var records: [Inquiry: Record] = [:]
  private var attachment = 0
  private var serial = 0
  /// Every way in which this network has shown itself since the machine attached to it. What does not fit all of them is another one.
  private var identities: [NetworkIdentity] = []
  private var path: ProbePath?
  private var given = Given()
  private var memory = ProbeMemory()
  /// What was found on this network the last time.
  private var remembered: [Evidence: Bool] = [:]

  /// `check`: how the administrator lets this machine find out about the internet, if at all.
  package init(check: ConnectivityCheck? = nil) { self.check = check }

  // MARK: The network

  /// Takes note of the network as the host's own sources see it; gives the requests that have lost their sense.
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

  /// The machine has slept, and may have been carried anywhere meanwhile.
  package mutating func wake(at now: Moment) -> [Effect] { leave(at: now) }

  /// From here on nothing that was answered holds; it is remembered for when the machine comes back.
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

  /// The same network in another shape: another address, another name server. What is on its way comes from an address that may be gone.
  private mutating func askAnew() -> [Effect] {
    let effects = running.map { Effect.abort($0.token) }
    for inquiry in records.keys {
      records[inquiry]?.run = nil
      records[inquiry]?.isStale = true
      records[inquiry]?.since = nil
    }
    return effects
  }

  /// A portal has opened, or the internet has come back: what failed before it did may be otherwise now.
  private mutating func distrustFailures() {
    for (inquiry, record) in records where record.result?.outlook != .settled && record.run == nil {
      records[inquiry]?.isStale = true
      records[inquiry]?.since = nil
    }
  }

  // MARK: Asking

  /// Puts the questions that the decisions hang on now, as far as the host's own sources do not answer them, and drops the others.
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

  /// Takes an answer; `false` where it is not believed, because it belongs to another network or the question was dropped.
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

  /// When to call `want` again though nothing has happened; `nil`: nothing is due.
  package var nextDeadline: Moment? {
    records.values.compactMap { $0.isWanted && $0.run == nil ? $0.nextAt : nil }.min()
  }

  private var running: [(token: Token, inquiry: Inquiry)] {
    records.compactMap { inquiry, record in record.run.map { ($0, inquiry) } }.sorted { $0.token.serial < $1.token.serial }
  }

  /// The requests that answer this, the portal's own API before the check from afar.
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

  /// A portal that says it is closed says enough; that it is open is no proof of an internet behind it.
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

  /// The network with what was found out about it. What the host's own sources know stands above it.
  package func complete(_ network: NetworkSnapshot, probes: [Probe]) -> NetworkSnapshot {
    var completed = network
    guard path != nil else { return network }
    for probe in probes where network.answer(to: probe).value == nil {
      let fact = fact(.probe(probe), from: [.probe(probe)])
      completed.probes[probe.name] = fact
      if fact.value == nil, let answer = remembered[.probe(probe)] { completed.rememberedProbes[probe.name] = answer }
    }
    // What the host does not know is found out by a check of the agent's own, or by the portal's API.
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

/// What the host's own sources say, which is not asked of the network.
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

/// By what a request travels, beside the network's identity: when it changes, the answer may.
private struct ProbePath: Hashable, Sendable {
  let link: String
  let addresses: [InterfaceAddress]
  let gateways: [IPAddress]
  let nameServers: Fact<[IPAddress]>
  let bssid: MACAddress?
  let portalAPI: String?

  /// `nil` without a network.
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
