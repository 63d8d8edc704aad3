internal import KernelModel
internal import Lives
internal import NetworkTypes
internal import RoamwardCore

/// The life of a WireGuard tunnel's device: its endpoints, and the sessions that its peers need. It has no clock and no sockets: it takes
/// events and returns effects.
///
/// One look-up of the endpoints is under way at a time; answers to an earlier one are dropped. A start ends with one report: `prepared` or
/// `failed`. An effect that reports comes last, but for `changed`: the tunnel's machine may answer with another event at once.
struct WireGuardLife {
  /// In boxes, so that each pass reads a property without a copy of the others.
  indirect enum Phase {
    /// No device is wanted.
    case down
    /// The device is wanted, and waits for the addresses of its endpoints.
    case starting(Start)
    /// The device is wanted as it is here.
    case up(RunningDevice)
  }

  struct Start {
    let portHolder: PortHolder?
    var round: EndpointRound
  }

  enum Event {
    /// Start: resolve the endpoints, then make the device, or make the one again that has unknown endpoints.
    case prepare(EngineChoice, PortHolder?, on: LinkFacts?)
    /// Start without waiting for the endpoints' addresses: until they are known, packets into the tunnel are lost.
    case arm(EngineChoice, PortHolder?, on: LinkFacts?)
    case rearm(on: LinkFacts?)
    /// Begin sessions on a device that has all its endpoints.
    case open(on: LinkFacts?)
    case packetsCame(on: LinkFacts?)
    case learn(LinkFacts?)
    case probePeer(on: LinkFacts?)
    case reassert(on: LinkFacts?)
    case renewSessions(on: LinkFacts?)
    case sessionsBegan
    /// No answer has come: the device is as it is here.
    case askAgain(WireGuardState?)
    case recordAnswer(Bool)
    /// A deadline may have passed.
    case advance
    case tearDown
    case resolved(LifeToken, peer: Int, Resolution)
    case prefixResolved(LifeToken, Resolution)
  }

  enum Effect: Equatable {
    case cancelLookups
    /// Resolve the name of a peer's endpoint; `resolved` follows.
    case resolve(LifeToken, peer: Int, DomainName, on: LinkFacts?)
    /// Resolve the name that shows how this network translates; `prefixResolved` follows.
    case resolvePrefix(LifeToken, DomainName, on: LinkFacts?)
    case report(TunnelMachine.Event)
    /// The device has changed by an answer: a pass is due.
    case changed
  }

  private(set) var phase = Phase.down
  /// The network that the endpoints are for, also after the device: silent addresses are forgotten on another one only.
  private var network: LinkFacts?
  private var choice = EndpointChoice()
  private let configuration: WireGuardQuickConfiguration
  private let isInner: Bool

  /// `isInner`: its own packets go through another tunnel.
  init(_ configuration: WireGuardQuickConfiguration, isInner: Bool) {
    self.configuration = configuration
    self.isInner = isInner
  }

  mutating func handle(_ event: Event, at now: Moment) -> [Effect] {
    switch event {
    case .prepare(let engine, let holder, let underlay): return prepare(by: engine, holder, on: underlay, at: now)
    case .arm(let engine, let holder, let underlay): return arm(by: engine, holder, on: underlay, at: now)
    case .rearm(let underlay): return rearm(on: underlay, at: now)
    case .open(let underlay): return open(on: underlay, at: now)
    case .packetsCame(let underlay): return hasUnknownEndpoint ? lookUpQuietly(on: underlay, at: now) : []
    case .learn(let underlay): return learn(underlay, at: now)
    case .probePeer(let underlay): return probePeer(on: underlay, at: now)
    case .reassert(let underlay):
      return underlay == network ? renewSessions(on: underlay, at: now) : probePeer(on: underlay, at: now)
    case .renewSessions(let underlay): return renewSessions(on: underlay, at: now)
    case .sessionsBegan: if wantsNewSessions { up?.wantsNewSessions = false }
    case .askAgain(let device): if isRepeatDue(at: now), !isAnswered(by: device) { up?.beginSessions(at: now) }
    case .recordAnswer(let isAnswered): recordAnswer(isAnswered)
    case .advance: return advance(at: now)
    case .tearDown:
      phase = .down
      return [.cancelLookups]
    case .resolved(let attempt, let peer, let resolution):
      guard var round, round.attempt == attempt else { return [] }
      return carryOn(round.take(resolution, for: peer, &choice), round, isLater: true, at: now)
    case .prefixResolved(let attempt, let resolution):
      guard let round, round.attempt == attempt else { return [] }
      return carryOn(round.take(prefix: resolution), round, isLater: true, at: now)
    }
    return []
  }

  /// Takes over the device that another agent has left, with its endpoints where the configuration has names: they are resolved again with
  /// the new sessions. Returns false if this life would have made another one.
  mutating func takeOver(_ found: WireGuardState, on underlay: LinkFacts?) -> Bool {
    guard found.publicKey == configuration.publicKey else { return false }
    let peers = configuration.peers.map { peer in
      guard let endpoint = peer.endpoint, endpoint.address == nil else { return peer }
      var peer = peer
      peer.endpoint = found.peers.first { $0.publicKey == peer.publicKey }?.endpoint
      return peer
    }
    guard zip(peers, configuration.peers).allSatisfy({ ($0.endpoint == nil) == ($1.endpoint == nil) }) else { return false }
    let isElsewhere = found.listenPort != configuration.listenPort && configuration.mayListenElsewhere
    network = underlay
    phase = .up(RunningDevice(device(by: found.engine, peers: peers, isElsewhere: isElsewhere)))
    return true
  }

  // MARK: Starts

  private mutating func prepare(
    by engine: EngineChoice, _ holder: PortHolder?, on underlay: LinkFacts?, at now: Moment
  ) -> [Effect] {
    if underlay != network { choice.forgetSilence() }
    let isOpening = up != nil
    up?.awaitEndpoints()
    up?.portHolder = holder
    guard case .engine(let kind) = engine, holder == nil || configuration.mayListenElsewhere else { return refuse(engine, holder) }
    if isOpening { return begin(round(.open(kind), on: underlay), at: now) }
    let round = round(.start(kind), on: underlay)
    phase = .starting(Start(portHolder: holder, round: round))
    return begin(round, at: now)
  }

  private mutating func arm(by engine: EngineChoice, _ holder: PortHolder?, on underlay: LinkFacts?, at now: Moment) -> [Effect] {
    guard case .engine(let kind) = engine, holder == nil || configuration.mayListenElsewhere else { return refuse(engine, holder) }
    if underlay != network { choice.forgetSilence() }
    network = underlay
    let device = device(by: kind, peers: configuration.peers.map(lastKnown), isElsewhere: holder != nil)
    phase = .up(RunningDevice(device, portHolder: holder))
    return [.cancelLookups] + lookUpQuietly(on: underlay, at: now) + [.report(.prepared)]
  }

  /// There is no engine, or another program has the port at which the tunnel has to listen.
  private func refuse(_ engine: EngineChoice, _ holder: PortHolder?) -> [Effect] {
    if case .none(let reason) = engine { return [.cancelLookups, .report(.failed(TunnelFailure(.engineMissing, reason)))] }
    let text = "\(holder?.description ?? ""), and the tunnel has to listen there: a peer without an endpoint begins the sessions"
    return [.cancelLookups, .report(.failed(TunnelFailure(.portTaken, text)))]
  }

  private func device(by engine: WireGuardEngine, peers: [WireGuardPeer], isElsewhere: Bool) -> WireGuardDevice {
    WireGuardDevice(
      engine: engine, privateKey: configuration.privateKey, publicKey: configuration.publicKey,
      listenPort: isElsewhere ? nil : configuration.listenPort, peers: peers)
  }

  /// The peer with the last address that its endpoint's name had; without one, an engine cannot take the endpoint.
  private func lastKnown(_ peer: WireGuardPeer) -> WireGuardPeer {
    guard let endpoint = peer.endpoint, case .name(let name) = endpoint.host else { return peer }
    var peer = peer
    peer.endpoint = choice.last(of: name).map { Endpoint(host: .address($0), port: endpoint.port) }
    return peer
  }

  // MARK: Sessions

  private mutating func rearm(on underlay: LinkFacts?, at now: Moment) -> [Effect] {
    guard up != nil else { return [] }
    up?.endSessions()
    guard underlay != network, underlay != nil else { return [.cancelLookups] }
    choice.forgetSilence()
    network = underlay
    return [.cancelLookups] + lookUpQuietly(on: underlay, at: now)
  }

  private mutating func open(on underlay: LinkFacts?, at now: Moment) -> [Effect] {
    guard up != nil, !awaitsEndpoints else { return [] }
    network = underlay
    up?.beginSessions(at: now)
    // A failed look-up is no failure: the last address is being tried.
    return lookUpQuietly(on: underlay, at: now)
  }

  /// On another network than before: resolves again, and gives every peer a new session there. The kernel's state shows the result.
  private mutating func probePeer(on underlay: LinkFacts?, at now: Moment) -> [Effect] {
    // The machine returned before another network's look-up ended: its answer may never come, and would be of the wrong network.
    guard up != nil, let underlay, underlay != network || awaitsEndpoints else { return [] }
    choice.forgetSilence()
    up?.awaitEndpoints()
    return begin(round(.roam, on: underlay), at: now)
  }

  private mutating func renewSessions(on underlay: LinkFacts?, at now: Moment) -> [Effect] {
    guard up != nil, !awaitsEndpoints else { return probePeer(on: underlay, at: now) }
    up?.renewSessions(at: now)
    // The endpoint's name may have another address by now. A failed look-up is no failure: the last address is being tried.
    let isDue = configuration.needsLookup(on: underlay)
    return (isDue ? begin(round(.refresh, on: underlay), at: now) : [.cancelLookups]) + [.changed]
  }

  private mutating func recordAnswer(_ isAnswered: Bool) {
    guard let up else { return }
    self.up?.endRepeats()
    for peer in up.device.peers { if let address = peer.endpoint?.address { choice.record(address, isAnswered: isAnswered) } }
  }

  // MARK: Look-ups

  /// Resolves the endpoints of an armed tunnel. Its sessions end if an address is another one: an engine keeps the endpoint of a session.
  private mutating func lookUpQuietly(on underlay: LinkFacts?, at now: Moment) -> [Effect] {
    guard up != nil, !awaitsEndpoints, configuration.needsLookup(on: underlay), let underlay else { return [] }
    up?.askedServers = underlay.dnsServers.value
    return begin(round(.quiet, on: underlay), at: now)
  }

  /// The name servers of a network may become known later than its routes, and those of the last network may have answered until then:
  /// the names are resolved again. An address that has answered is kept, if it is among the new ones.
  private mutating func learn(_ underlay: LinkFacts?, at now: Moment) -> [Effect] {
    if round?.purpose.followsNetwork == true {
      round?.learn(underlay)
      return []
    }
    guard let underlay else { return [] }
    let isToAsk = hasUnknownEndpoint && up?.askedServers != underlay.dnsServers.value
    let effects = isToAsk ? lookUpQuietly(on: underlay, at: now) : []
    guard underlay.name == network?.name, underlay.dnsServers != network?.dnsServers else { return effects }
    let isFirst = network?.dnsServers.value == nil && up?.staleNames == nil
    network?.dnsServers = underlay.dnsServers
    guard up != nil, configuration.needsLookup(on: underlay), underlay.dnsServers.value != nil, !isFirst else { return effects }
    up?.staleNames = StaleNames(at: now)
    return effects + advance(at: now)
  }

  /// Resolves names again that did not resolve when the tunnel came to this network: it may have come before the network was ready.
  private mutating func advance(at now: Moment) -> [Effect] {
    guard let due = nextDeadline, due <= now else { return [] }
    up?.staleNames?.due = nil
    guard !awaitsEndpoints, let network else { return [] }
    return begin(round(.refresh, on: network), at: now)
  }

  private func round(_ purpose: EndpointRound.Purpose, on underlay: LinkFacts?) -> EndpointRound {
    EndpointRound(purpose, of: configuration.peers, on: underlay, isInner: isInner)
  }

  private mutating func begin(_ round: EndpointRound, at now: Moment) -> [Effect] {
    let names = round.names.sorted { $0.key < $1.key }
    return [.cancelLookups] + names.map { .resolve(round.attempt, peer: $0.key, $0.value, on: round.underlay) }
      + carryOn(round.step, round, isLater: false, at: now)
  }

  /// `isLater`: an answer has moved it. Without a look-up, a round ends within the pass that began it.
  private mutating func carryOn(_ step: EndpointRound.Step, _ round: EndpointRound, isLater: Bool, at now: Moment) -> [Effect] {
    switch step {
    case .waits:
      self.round = round
      return []
    case .needsPrefix(let name):
      self.round = round
      return [.resolvePrefix(round.attempt, name, on: round.underlay)]
    case .found(let peers): return end(round, with: peers, at: now) + (isLater && round.purpose.followsNetwork ? [.changed] : [])
    case .failed(let failure):
      self.round = nil
      return [.cancelLookups] + (round.purpose.keepsLast ? [] : [.report(.failed(failure)), .changed])
    }
  }

  private mutating func end(_ round: EndpointRound, with peers: [WireGuardPeer], at now: Moment) -> [Effect] {
    if case .start(let engine) = round.purpose {
      guard case .starting(let start) = phase else { return [] }
      network = round.underlay
      var up = RunningDevice(device(by: engine, peers: peers, isElsewhere: start.portHolder != nil), portHolder: start.portHolder)
      _ = up.end(round, with: up.device.peers, at: now)
      phase = .up(up)
      return [.report(.prepared)]
    }
    guard var up else { return [] }
    if !round.purpose.keepsLast { network = round.underlay }
    var peers = peers
    if case .open(let engine) = round.purpose {
      up.device = device(by: engine, peers: peers, isElsewhere: up.portHolder != nil)
      peers = up.device.peers
    }
    let isPassDue = up.end(round, with: peers, at: now)
    phase = .up(up)
    if case .open = round.purpose { return [.report(.prepared)] }
    return isPassDue ? [.changed] : []
  }
}

extension WireGuardLife {
  private var up: RunningDevice? {
    get { if case .up(let up) = phase { up } else { nil } }
    set { if let newValue { phase = .up(newValue) } }
  }

  /// The look-up that is under way. A start without one is over.
  private var round: EndpointRound? {
    get {
      switch phase {
      case .down: nil
      case .starting(let start): start.round
      case .up(let up): up.round
      }
    }
    set {
      switch phase {
      case .down: break
      case .starting(let start): phase = newValue.map { .starting(Start(portHolder: start.portHolder, round: $0)) } ?? .down
      case .up: up?.round = newValue
      }
    }
  }

  var device: WireGuardDevice? { if case .up(let up) = phase { up.device } else { nil } }

  /// The program that has the port of the configuration.
  var portHolder: PortHolder? {
    switch phase {
    case .down: nil
    case .starting(let start): start.portHolder
    case .up(let up): up.portHolder
    }
  }

  var wantsNewSessions: Bool { if case .up(let up) = phase { up.wantsNewSessions } else { false } }

  private var awaitsEndpoints: Bool { if case .up(let up) = phase { up.awaitsEndpoints } else { false } }

  /// Whether an endpoint's name has had no address yet.
  var hasUnknownEndpoint: Bool {
    guard let peers = device?.peers else { return false }
    return zip(peers, configuration.peers).contains { $0.endpoint == nil && $1.endpoint != nil }
  }

  var endpoints: [(address: IPAddress, port: UInt16)] { if case .up(let up) = phase { up.endpoints } else { [] } }

  /// When to send `advance`; `nil`: never.
  var nextDeadline: Moment? { if case .up(let up) = phase { up.staleNames?.due } else { nil } }

  func isRepeatDue(at now: Moment) -> Bool { if case .up(let up) = phase { up.isRepeatDue(at: now) } else { false } }

  func isAnswered(by state: WireGuardState?) -> Bool { if case .up(let up) = phase { up.isAnswered(by: state) } else { false } }
}
