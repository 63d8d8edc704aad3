internal import KernelModel
internal import NetworkTypes
internal import RoamwardCore

/// Drives a WireGuard tunnel: resolves the peers' endpoints on the underlay, and begins new sessions on another one.
final class WireGuardDriver: RoamingDriver, ArmingDriver, SessionDriver, EndpointDriver, PolledDriver, TimedDriver {
  private let configuration: WireGuardQuickConfiguration
  private let link: String
  private let platform: Platform
  private let report: (TunnelMachine.Event) -> Void
  private let changed: () -> Void
  private let outerWay: () -> OuterWay?
  /// The device, with its endpoints resolved.
  private var device: WireGuardDevice?
  private var preparedOn: LinkFacts?
  private var lookups: [Cancellation] = []
  private var choice = EndpointChoice()
  /// The life, and the network as it is known now, of a start whose names are being resolved.
  private var start: (life: Int, underlay: LinkFacts?)?
  /// The name servers that the last look-up of an armed tunnel asked.
  private var askedServers: [IPAddress]?
  /// Present while an endpoint has its last address because its name did not resolve on this network.
  private var staleNames: StaleNames?
  /// Present while the peers of a connected tunnel are being verified.
  private var renewals: SessionRenewals?
  /// Whether peers are getting new sessions: until then a handshake is one of the last network.
  private var isRenewing = false
  private(set) var wantsNewSessions = false
  private(set) var portHolder: PortHolder?
  /// The count of this tunnel's lives: answers for an older one are discarded.
  private var life = 0

  init(
    _ configuration: WireGuardQuickConfiguration, link: String, platform: Platform, outlets: DriverOutlets
  ) {
    self.configuration = configuration
    self.link = link
    self.platform = platform
    report = outlets.report
    changed = outlets.changed
    outerWay = outlets.outerWay
  }

  var engineName: String { device?.engine.rawValue ?? "wireguard" }

  let isReleased = true

  /// Starts without waiting for the endpoints' addresses: until they are known, packets into the tunnel are lost.
  func arm(on underlay: LinkFacts?) {
    life += 1
    lookups = []
    switch platform.machine.wireGuardEngine() {
    case .none(let reason): report(.failed(TunnelFailure(.engineMissing, reason)))
    case .engine(let engine):
      if let failure = lookForPort() { return report(.failed(failure)) }
      if underlay != preparedOn { choice.forgetSilence() }
      preparedOn = underlay
      device = device(by: engine, peers: configuration.peers.map(lastKnown))
      report(.prepared)
      lookUpQuietly(on: underlay)
    }
  }

  func rearm(on underlay: LinkFacts?) {
    life += 1
    lookups = []
    renewals = nil
    isRenewing = false
    wantsNewSessions = device != nil
    guard underlay != preparedOn, underlay != nil else { return }
    choice.forgetSilence()
    preparedOn = underlay
    lookUpQuietly(on: underlay)
  }

  func open(on underlay: LinkFacts?) {
    // Without an address it begins as any start does: the look-up comes first, and its failure is one of the start.
    if device == nil || hasUnknownEndpoint {
      isRenewing = true
      return prepare(on: underlay)
    }
    preparedOn = underlay
    beginSessions()
    // A failed look-up is no failure: the last address is being tried.
    lookUpQuietly(on: underlay)
  }

  func packetsCame(on underlay: LinkFacts?) {
    if hasUnknownEndpoint { lookUpQuietly(on: underlay) }
  }

  /// Resolves the endpoints of an armed tunnel. Its sessions end if an address is another one: an engine keeps the endpoint of a session.
  private func lookUpQuietly(on underlay: LinkFacts?) {
    guard needsLookup(on: underlay), underlay != nil else { return }
    life += 1
    lookups = []
    askedServers = underlay?.dnsServers.value
    resolveEndpoints(on: underlay, keepingLast: true) { [weak self] peers in
      guard let self, let before = device?.peers, before != peers else { return }
      device?.peers = peers
      wantsNewSessions = true
      changed()
    }
  }

  /// Whether an endpoint's name has had no address yet.
  private var hasUnknownEndpoint: Bool {
    guard let peers = device?.peers else { return false }
    return zip(peers, configuration.peers).contains { $0.endpoint == nil && $1.endpoint != nil }
  }

  /// The peer with the last address that its endpoint's name had; without one, an engine cannot take the endpoint.
  private func lastKnown(_ peer: WireGuardPeer) -> WireGuardPeer {
    guard let endpoint = peer.endpoint, case .name(let name) = endpoint.host else { return peer }
    var peer = peer
    peer.endpoint = choice.last(of: name).map { Endpoint(host: .address($0), port: endpoint.port) }
    return peer
  }

  /// `port`: the one of the device that is taken over.
  private func device(by engine: WireGuardEngine, peers: [WireGuardPeer], port: UInt16? = nil) -> WireGuardDevice {
    let isElsewhere = portHolder != nil || port != nil && port != configuration.listenPort && configuration.mayListenElsewhere
    return WireGuardDevice(
      engine: engine, privateKey: configuration.privateKey, publicKey: configuration.publicKey,
      listenPort: isElsewhere ? nil : configuration.listenPort, peers: peers)
  }

  /// Looks whether another program has the port at which the tunnel is to listen. Returns why it cannot start then, if no other port does.
  private func lookForPort() -> TunnelFailure? {
    portHolder = configuration.listenPort.flatMap { platform.machine.portHolder($0, link) }
    guard let portHolder, !configuration.mayListenElsewhere else { return nil }
    return TunnelFailure(
      .portTaken, "\(portHolder), and the tunnel has to listen there: a peer without an endpoint begins the sessions")
  }

  /// The kernel's device, or the engine's process, needs no agent.
  func handOver() -> DriverHandOver? { DriverHandOver() }

  /// The endpoints are those of the device, where the configuration has names: they are resolved again with the new sessions.
  func takeOver(_ left: LeftTunnel, on underlay: LinkFacts?) -> Bool {
    guard left.isFitting, let found = left.device, case .engine(found.engine) = platform.machine.wireGuardEngine(),
      found.publicKey == configuration.publicKey
    else { return false }
    let peers = configuration.peers.map { peer in
      guard let endpoint = peer.endpoint, endpoint.address == nil else { return peer }
      var peer = peer
      peer.endpoint = found.peers.first { $0.publicKey == peer.publicKey }?.endpoint
      return peer
    }
    guard zip(peers, configuration.peers).allSatisfy({ ($0.endpoint == nil) == ($1.endpoint == nil) }) else { return false }
    life += 1
    preparedOn = underlay
    device = device(by: found.engine, peers: peers, port: found.listenPort)
    return true
  }

  /// Until a peer has answered, keepalives are set, so that it begins a handshake.
  func device(whileAwaiting: Bool) -> DesiredLink.Device? {
    guard var device else { return nil }
    if whileAwaiting {
      for i in device.peers.indices where device.peers[i].persistentKeepalive == 0 { device.peers[i].persistentKeepalive = 5 }
    }
    return .wireGuard(device)
  }

  func prepare(on underlay: LinkFacts?) {
    life += 1
    lookups = []
    staleNames = nil
    if underlay != preparedOn { choice.forgetSilence() }
    switch platform.machine.wireGuardEngine() {
    case .none(let reason): report(.failed(TunnelFailure(.engineMissing, reason)))
    case .engine(let engine):
      if let failure = lookForPort() { return report(.failed(failure)) }
      start = (life, underlay)
      // Without a look-up, it is prepared within the pass that asked for it.
      var isLookingUp = false
      resolveEndpoints(on: underlay) { [weak self] peers in
        guard let self else { return }
        preparedOn = start?.underlay ?? underlay
        start = nil
        device = device(by: engine, peers: peers)
        if isRenewing {
          isRenewing = false
          beginSessions()
        }
        report(.prepared)
        if isLookingUp { changed() }
      }
      isLookingUp = true
    }
  }

  func learn(_ underlay: LinkFacts?) {
    if start?.life == life {
      start?.underlay = underlay
      return
    }
    if hasUnknownEndpoint, let underlay, underlay.dnsServers.value != askedServers { lookUpQuietly(on: underlay) }
    learnServers(of: underlay)
  }

  /// The name servers of a network may become known later than its routes, and those of the last network may have answered until then:
  /// the names are resolved again. An address that has answered is kept, if it is among the new ones.
  private func learnServers(of underlay: LinkFacts?) {
    guard let underlay, underlay.name == preparedOn?.name, underlay.dnsServers != preparedOn?.dnsServers else { return }
    let isFirst = preparedOn?.dnsServers.value == nil && staleNames == nil
    preparedOn?.dnsServers = underlay.dnsServers
    guard needsLookup(on: underlay), underlay.dnsServers.value != nil, !isFirst else { return }
    staleNames = StaleNames(at: platform.clock.now())
    advance()
  }

  /// On another network than before: resolves again, and gives every peer a new session there. The kernel's state shows the result.
  func probePeer(on underlay: LinkFacts?) {
    // The machine returned before another network's look-up ended: its answer may never come, and would be of the wrong network.
    guard let underlay, underlay != preparedOn || isRenewing else { return }
    life += 1
    lookups = []
    (renewals, staleNames) = (nil, nil)
    choice.forgetSilence()
    isRenewing = true
    resolveEndpoints(on: underlay) { [weak self] peers in
      guard let self, device != nil else { return }
      device?.peers = peers
      preparedOn = underlay
      isRenewing = false
      beginSessions()
      changed()
    }
  }

  func reassert(on underlay: LinkFacts?) {
    if underlay == preparedOn && !isRenewing { renewSessions(on: underlay) } else { probePeer(on: underlay) }
  }

  func renewSessions(on underlay: LinkFacts?) {
    guard device != nil, !isRenewing else { return probePeer(on: underlay) }
    life += 1
    lookups = []
    renewals = nil
    beginSessions()
    // The endpoint's name may have another address by now. A failed look-up is no failure: the last address is being tried.
    if needsLookup(on: underlay) {
      resolveEndpoints(on: underlay, keepingLast: true) { [weak self] peers in
        guard let self, let before = device?.peers, before != peers else { return }
        device?.peers = peers
        beginSessions()
        changed()
      }
    }
    changed()
  }

  /// The next plan removes the device's sessions, so every later handshake is an answer.
  private func beginSessions() {
    renewals = (renewals ?? SessionRenewals()).next(at: platform.clock.now())
    wantsNewSessions = device != nil
  }

  func sessionsBegan() { wantsNewSessions = false }

  /// Endpoints of another network are resolved again first.
  var endpoints: [(address: IPAddress, port: UInt16)] {
    isRenewing
      ? [] : device?.peers.compactMap { peer in peer.endpoint.flatMap { end in end.address.map { ($0, end.port) } } } ?? []
  }

  func readDevice() -> WireGuardState? { device == nil ? nil : platform.machine.readDevice(link) }

  var nextDeadline: Moment? { staleNames?.due }

  /// Resolves names again that did not resolve when the tunnel came to this network: it may have come before the network was ready.
  func advance() {
    guard let due = staleNames?.due, due <= platform.clock.now() else { return }
    staleNames?.due = nil
    guard device != nil, !isRenewing, let preparedOn else { return }
    lookups = []
    resolveEndpoints(on: preparedOn, keepingLast: true) { [weak self] peers in
      guard let self, let before = device?.peers, before != peers else { return }
      device?.peers = peers
      beginSessions()
      changed()
    }
  }

  /// Repeats a lost handshake sooner than WireGuard does: on a network that loses packets, a verdict needs several of them.
  func askAgain() {
    guard let due = renewals?.due, due <= platform.clock.now(), !isRenewing else { return }
    // A session that has just been answered is not discarded.
    if isAnswered(by: platform.machine.readDevice(link)) { return }
    beginSessions()
  }

  func noteAnswer(_ isAnswered: Bool) {
    renewals = nil
    for peer in device?.peers ?? [] { if let address = peer.endpoint?.address { choice.note(address, isAnswered: isAnswered) } }
  }

  func isAnswered(by state: WireGuardState?) -> Bool { !isRenewing && !wantsNewSessions && state?.lastHandshake != nil }

  func release() {
    life += 1
    lookups = []
    renewals = nil
    isRenewing = false
    wantsNewSessions = false
    (start, staleNames, portHolder) = (nil, nil, nil)
    device = nil
  }

  /// Resolves all names first. A name that does not resolve keeps its last address; without one it fails the attempt with its reason.
  private func resolveEndpoints(on underlay: LinkFacts?, keepingLast: Bool = false, then done: @escaping ([WireGuardPeer]) -> Void) {
    let asked = life
    var peers = configuration.peers
    var open = peers.count { $0.endpoint?.address == nil && $0.endpoint != nil }
    var areStale = false
    let done: ([WireGuardPeer]) -> Void = { [weak self] in self?.translate($0, on: underlay, then: done) }
    guard open > 0 else { return done(peers) }
    for i in peers.indices {
      guard let endpoint = peers[i].endpoint, case .name(let name) = endpoint.host else { continue }
      let lookup = platform.lookups.resolve(name, by: outerWay().lookup(of: name), on: underlay) { [weak self] resolution in
        guard let self, life == asked else { return }
        if !resolution.isFound { areStale = true }
        switch address(in: resolution, of: name, on: underlay) {
        case .found(let address):
          peers[i].endpoint = Endpoint(host: .address(address), port: endpoint.port)
          open -= 1
          guard open == 0 else { return }
          staleNames = areStale ? (staleNames ?? StaleNames()).next(at: platform.clock.now()) : nil
          done(peers)
          // Its timer is set by the next pass.
          if staleNames != nil { changed() }
        case .missing where keepingLast: life += 1
        case .missing(let code, let reason):
          life += 1
          report(.failed(TunnelFailure(code, "the endpoint \(name) cannot be resolved: \(reason)")))
          changed()
        }
      }
      if let lookup { lookups.append(lookup) }
    }
  }

  /// Whether names have to be resolved on this network, or IPv4 addresses to be translated.
  private func needsLookup(on underlay: LinkFacts?) -> Bool {
    configuration.needsLookup || underlay?.hasIPv6Alone == true && configuration.peers.contains(where: \.isToTranslate)
  }

  /// On a network of IPv6 alone, IPv4 endpoints get the addresses by which the network reaches them, if its name servers show how.
  private func translate(_ peers: [WireGuardPeer], on underlay: LinkFacts?, then done: @escaping ([WireGuardPeer]) -> Void) {
    guard let name = TranslationPrefix.wellKnownName, underlay?.hasIPv6Alone == true, outerWay() == nil,
      peers.contains(where: \.isToTranslate)
    else { return done(peers) }
    let asked = life
    let lookup = platform.lookups.resolve(name, by: .outside, on: underlay) { [weak self] resolution in
      guard let self, life == asked else { return }
      guard case .addresses(let found) = resolution, let prefix = TranslationPrefix(in: found) else { return done(peers) }
      done(
        peers.map { peer in
          guard peer.isToTranslate, let endpoint = peer.endpoint, let address = endpoint.address else { return peer }
          var peer = peer
          peer.endpoint = Endpoint(host: .address(prefix.address(of: address)), port: endpoint.port)
          return peer
        })
    }
    if let lookup { lookups.append(lookup) }
  }

  private enum Answer {
    case found(IPAddress)
    case missing(ReasonCode, reason: String)
  }

  /// The address to use, of those that the name has; else its last one.
  private func address(in resolution: Resolution, of name: DomainName, on underlay: LinkFacts?) -> Answer {
    switch resolution {
    case .addresses(let addresses):
      if let address = choice.choose(among: addresses, of: name, families: Set(underlay?.gateways.map(\.family) ?? [])) {
        return .found(address)
      }
      return choice.last(of: name).map { .found($0) } ?? .missing(.nameUnknown, reason: "it has no address")
    case .missing(let reason): return choice.last(of: name).map { .found($0) } ?? .missing(.nameUnknown, reason: reason)
    case .failed(let reason): return choice.last(of: name).map { .found($0) } ?? .missing(.endpointUnresolved, reason: reason)
    }
  }
}

extension WireGuardPeer {
  /// Whether its endpoint is an IPv4 address elsewhere.
  fileprivate var isToTranslate: Bool { endpoint?.address.map { $0.family == .v4 && !$0.isLoopback } ?? false }
}

/// The times at which to resolve names again: after one second, two, four … a minute, eight times in all.
private struct StaleNames {
  /// `nil`: a look-up is under way, or there is none to come.
  var due: Moment?
  private var count = 0

  init() {}

  /// The first time is now.
  init(at now: Moment) { due = now }

  func next(at now: Moment) -> StaleNames {
    var next = self
    next.due = count < 8 ? now + min(.seconds(1 << count), .seconds(60)) : nil
    next.count += 1
    return next
  }
}

/// The times at which to repeat unanswered new sessions: after one second, two, four, and so on. A lossy network gets many attempts, and
/// one with a long delay gets time for each.
private struct SessionRenewals {
  private static let pauses: [Duration] = [.seconds(1), .seconds(2), .seconds(4)]
  private(set) var due: Moment?
  private var count = 0

  func next(at now: Moment) -> SessionRenewals {
    var next = self
    next.due = now + Self.pauses[count % Self.pauses.count]
    next.count += 1
    return next
  }
}
